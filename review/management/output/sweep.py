"""Prints what a sweep did, for people: numbers, and a table of what failed for which reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta

from review.errors import ExitCode
from review.management.output.problems import problem_lines
from review.management.output.selection import left_out_lines
from review.sweeps.documents import FailureGroupJson, PlanJson, SweepJson
from review.sweeps.limits import StopReason
from review.sweeps.progress import GIVEN_UP, SENT

_WIDEST_REASON = 100


def sweep_lines(answer: SweepJson) -> Iterator[str]:
    """The summary; of `--fix` the diffs."""
    if not answer.counts:
        yield from _fix_lines(answer)
        return
    yield f"{answer.model_partition} before: {_counts(answer.counts)}"
    yield from left_out_lines(answer.left_out)
    for job in answer.salvaged:
        kept = f"reviews kept: {job.pairs_kept}"
        yield f"job {job.review_job_id} of a parent that is gone: {job.status}, {kept}"
    if answer.plan is not None:
        yield from _plan_lines(answer.plan)
    else:
        yield f"jobs: {_counts(answer.jobs, zeros=False) or 'none'}"
        if answer.jobs.get(SENT):
            yield "their results: commonplace review_batches --collect"
        yield f"pairs: {_counts(answer.pairs, zeros=False) or 'none'}"
        yield f"cost: {_cost(answer)}; time: {timedelta(seconds=round(answer.seconds))}"
    if answer.skipped:
        yield f"left out: {_counts(answer.skipped)}"
    if given_up := answer.skipped.get(GIVEN_UP):
        yield (
            f"{given_up} pairs are still stale: they were tried too often on the same texts;"
            " a higher --max-attempts tries them again"
        )
    yield from problem_lines(answer.problems)
    if answer.failures:
        yield ""
        yield from _failure_lines(answer.failures)
    yield from _stopped_lines(answer)


def sweep_exit_code(answer: SweepJson) -> ExitCode:
    """130 when it was interrupted, 1 when a job failed or work was left undone, else 0."""
    if answer.stopped == StopReason.INTERRUPTED:
        return ExitCode.INTERRUPTED
    undone = answer.stopped == StopReason.JOBS_NOT_MADE or GIVEN_UP in answer.skipped
    if undone or answer.jobs["failed"]:
        return ExitCode.FAILED
    return ExitCode.CONFLICT if answer.jobs["refused"] else ExitCode.DONE


def _stopped_lines(answer: SweepJson) -> Iterator[str]:
    if answer.stopped is not None:
        yield f"stopped: {answer.stopped}: {answer.stopped_because}"
    if answer.resets_at is not None:
        yield f"come back after {answer.resets_at[:16].replace('T', ' ')} UTC, or wait with --wait-for-reset"


def _fix_lines(answer: SweepJson) -> Iterator[str]:
    for note in answer.fixes:
        yield f"{note.note_path}: {note.outcome}" + (f": {note.reason}" if note.reason else "")
        yield from note.diff.splitlines()
    if answer.fix_record is not None:
        yield f"recorded in {answer.fix_record}"
    if not answer.fixes:
        yield "no note has an open finding"
    elif any(note.outcome == "changed" for note in answer.fixes):
        yield "nothing was applied; --apply writes the notes"
    yield from _stopped_lines(answer)
    yield f"cost: {_cost(answer)}; findings stay open until a new review says otherwise"


def _plan_lines(plan: PlanJson) -> Iterator[str]:
    yield f"would run: {plan.new_jobs} new jobs with {plan.new_pairs} pairs"
    if plan.queued_jobs:
        yield f"and {plan.queued_jobs} queued jobs with {plan.queued_pairs} pairs"
    yield f"prompts: about {plan.estimated_prompt_tokens} tokens"
    if plan.estimated_cost_usd is None:
        yield "cost: unknown; no job of this runner and partition has told what it cost"
    elif plan.estimated_from_jobs:
        past = f"by {plan.estimated_from_jobs} past jobs"
        yield f"cost: about ${plan.estimated_cost_usd:.2f}, {past}"
    else:
        yield "cost: none"
    for estimate in plan.estimates:
        usd = (estimate.cost_usd, estimate.cached_cost_usd, estimate.batch_cost_usd)
        shown = ["unknown" if cost is None else f"${cost:.2f}" for cost in usd]
        of = f"{estimate.runner}{' (output assumed)' * estimate.output_is_assumed}"
        yield f"at the prices of {of}: {shown[0]}, cached {shown[1]}, batch {shown[2]}"


def _failure_lines(failures: list[FailureGroupJson]) -> Iterator[str]:
    width = max(len(group.failure_code) for group in failures)
    yield f"{'failed for'.ljust(width)}  jobs  pairs missing  why (first job)"
    for group in failures:
        reason = group.reason.replace("\n", " ")
        if len(reason) > _WIDEST_REASON:
            reason = f"{reason[: _WIDEST_REASON - 1]}…"
        job = f" (job {group.review_job_ids[0]})" if group.review_job_ids else ""
        yield (
            f"{group.failure_code.ljust(width)}  {group.jobs:4d}  {group.pairs_missing:13d}"
            f"  {reason}{job}"
        )
    yield ""


def _cost(answer: SweepJson) -> str:
    cost = answer.cost
    if cost.usd is None:
        return "unknown" if cost.jobs_without_cost else "none"
    unknown = f", and {cost.jobs_without_cost} jobs that did not say" * bool(cost.jobs_without_cost)
    return f"${cost.usd:.2f}{unknown}"


def _counts(counts: Mapping[str, int], *, zeros: bool = True) -> str:
    return ", ".join(f"{word} {number}" for word, number in counts.items() if number or zeros)
