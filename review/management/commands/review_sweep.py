"""Select what is stale, make jobs of it, and have a runner review them, several at once: a parent
like any agent. Ctrl-C ends it in order: what is complete is kept. Jobs of a sweep that was killed
are closed first, with what their runs had left.

    commonplace review_sweep --all-gates --runner rules
    commonplace review_sweep prose --runner claude-code --model claude-opus-4-6 --dry-run
    commonplace review_sweep --all-gates --runner codex --model gpt-5.1-codex@high --max-cost-usd 5 --wait-for-reset --json
    commonplace review_sweep --fix --note kb/notes/a.md --runner claude-code --apply
"""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from review.jobs.costs import PricedEstimateJson
from review.management import kit
from review.management.kit.output import counted, problem_lines
from review.management.kit.sweeping import LIMITS, run_fixes, run_sweep, runner_arguments
from review.runners.registry import find_runner
from review.selection.select import left_out_lines
from review.sweeps.limits import StopReason
from review.sweeps.progress import GIVEN_UP, SENT, FailureGroupJson, PlanJson, SweepJson
from review.vocabulary import RULES_PARTITION, Grouping


class Command(kit.ReviewCommand):
    exit_codes = {
        kit.ExitCode.FAILED: "a job failed, pairs were left out as tried too often, or no more jobs could be made",
        kit.ExitCode.CONFLICT: "the runner's model is of another partition, or the store refused an output",
        kit.ExitCode.INPUT_REJECTED: "unknown gate, note or runner, or the runner is not installed",
        kit.ExitCode.INTERRUPTED: "interrupted; running jobs were failed with what they had",
    }
    arguments: ClassVar[kit.Arguments] = {
        **kit.SCOPE,
        **runner_arguments(model_required=False),
        "selection, as in review_target_selector": kit.SELECTION,
        "--grouping": kit.Option(
            "a job for each note and lens, or for each gate",
            Grouping.values,
            default=Grouping.NOTE.value,
        ),
        "--batch-size N": "notes in a gate's job (default 8)",
        **LIMITS,
        "mending instead of reviewing": {
            "--fix": "have the runner edit a copy of each note with open findings, and show the"
            " diff",
            "--apply": "with --fix: put what changed into the notes",
        },
    }

    def run(self, options: kit.Options) -> None:
        if not options["fix"] and find_runner(options["runner"], config=self.config).in_process:
            options["model"] = options["model"] or RULES_PARTITION
        _check(options)
        answer = (run_fixes if options["fix"] else run_sweep)(self, options)
        answer.schema = self.schema
        self.show(
            answer,
            sweep_lines(answer),
            warnings=problem_lines(answer.problems),
            notices=(rename.line for rename in answer.renames),
            code=sweep_exit_code(answer),
        )


def _check(options: kit.Options) -> None:
    by_note = options["grouping"] == Grouping.NOTE
    kit.refuse({"--batch-size goes with --grouping gate": by_note and options["batch_size"]})
    kit.require_option(options, "fix", "apply")
    kit.refuse({"--fix edits notes; a batch cannot": options["batch"] and options["fix"]})
    kit.refuse(
        {"a sweep reviews for one model partition": not (options["model"] or options["fix"])},
        hint="add --model and the name of the model",
    )


_WIDEST_REASON = 100


def sweep_lines(answer: SweepJson) -> kit.Lines:
    """The summary; of `--fix` the diffs."""
    if not answer.counts:
        return _fix_lines(answer)
    given_up = answer.skipped.get(GIVEN_UP)
    return kit.told(
        f"{answer.model_partition} before: {counted(answer.counts)}",
        left_out_lines(answer.left_out),
        (
            f"job {job.review_job_id} of a parent that is gone: {job.status},"
            f" reviews kept: {job.pairs_kept}"
            for job in answer.salvaged
        ),
        _plan_lines(answer.plan) if answer.plan else _work_lines(answer),
        f"left out: {counted(answer.skipped)}" if answer.skipped else None,
        f"{given_up} pairs are still stale: they were tried too often on the same texts;"
        " a higher --max-attempts tries them again"
        if given_up
        else None,
        ("", *_failure_lines(answer.failures), "") if answer.failures else None,
        _stopped_lines(answer),
    )


def _work_lines(answer: SweepJson) -> kit.Lines:
    return kit.told(
        f"jobs: {counted(answer.jobs, zeros=False) or 'none'}",
        "their results: commonplace review_batches --collect" if answer.jobs.get(SENT) else None,
        f"pairs: {counted(answer.pairs, zeros=False) or 'none'}",
        f"cost: {_cost(answer)}; time: {timedelta(seconds=round(answer.seconds))}",
    )


def sweep_exit_code(answer: SweepJson) -> kit.ExitCode:
    """130 when it was interrupted, 1 when a job failed or work was left undone, else 0."""
    if answer.stopped == StopReason.INTERRUPTED:
        return kit.ExitCode.INTERRUPTED
    undone = answer.stopped == StopReason.JOBS_NOT_MADE or GIVEN_UP in answer.skipped
    if undone or answer.jobs["failed"]:
        return kit.ExitCode.FAILED
    return kit.ExitCode.CONFLICT if answer.jobs["refused"] else kit.ExitCode.DONE


def _stopped_lines(answer: SweepJson) -> kit.Lines:
    resets = answer.resets_at and f"{answer.resets_at[:16].replace('T', ' ')} UTC"
    return kit.told(
        f"stopped: {answer.stopped}: {answer.stopped_because}" if answer.stopped else None,
        f"come back after {resets}, or wait with --wait-for-reset" if resets else None,
    )


def _fix_lines(answer: SweepJson) -> kit.Lines:
    for note in answer.fixes:
        yield f"{note.note_path}: {note.outcome}" + (f": {note.reason}" if note.reason else "")
        yield from note.diff.splitlines()
    changed = any(note.outcome == "changed" for note in answer.fixes)
    yield from kit.told(
        f"recorded in {answer.fix_record}" if answer.fix_record else None,
        None if answer.fixes else "no note has an open finding",
        "nothing was applied; --apply writes the notes" if changed else None,
        _stopped_lines(answer),
        f"cost: {_cost(answer)}; findings stay open until a new review says otherwise",
    )


def _plan_lines(plan: PlanJson) -> kit.Lines:
    cost = "unknown; no job of this runner and partition has told what it cost"
    if plan.estimated_cost_usd is not None:
        past, usd = plan.estimated_from_jobs, plan.estimated_cost_usd
        cost = f"about ${usd:.2f}, by {past} past jobs" if past else "none"
    queued = f"and {plan.queued_jobs} queued jobs with {plan.queued_pairs} pairs"
    return kit.told(
        f"would run: {plan.new_jobs} new jobs with {plan.new_pairs} pairs",
        queued if plan.queued_jobs else None,
        f"prompts: about {plan.estimated_prompt_tokens} tokens",
        f"cost: {cost}",
        map(_estimate_line, plan.estimates),
    )


def _estimate_line(estimate: PricedEstimateJson) -> str:
    usd = (estimate.cost_usd, estimate.cached_cost_usd, estimate.batch_cost_usd)
    shown = ["unknown" if cost is None else f"${cost:.2f}" for cost in usd]
    of = f"{estimate.runner}{' (output assumed)' * estimate.output_is_assumed}"
    return f"at the prices of {of}: {shown[0]}, cached {shown[1]}, batch {shown[2]}"


def _failure_lines(failures: list[FailureGroupJson]) -> kit.Lines:
    width = max(len(group.failure_code) for group in failures)
    yield f"{'failed for':<{width}}  jobs  pairs missing  why (first job)"
    for group in failures:
        reason = group.reason.replace("\n", " ")
        if len(reason) > _WIDEST_REASON:
            reason = f"{reason[: _WIDEST_REASON - 1]}…"
        job = f" (job {group.review_job_ids[0]})" if group.review_job_ids else ""
        numbers = f"{group.jobs:4d}  {group.pairs_missing:13d}"
        yield f"{group.failure_code:<{width}}  {numbers}  {reason}{job}"


def _cost(answer: SweepJson) -> str:
    cost, is_free = answer.cost, answer.model_partition == RULES_PARTITION
    if cost.usd is None:
        return "unknown" if cost.jobs_without_cost and not is_free else "none"
    unknown = f", and {cost.jobs_without_cost} jobs that did not say" * bool(cost.jobs_without_cost)
    return f"${cost.usd:.2f}{unknown}"
