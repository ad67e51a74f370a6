"""The next steps of whoever drives the reviews, from the status: each with the command to type."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice

from review.overview.documents import PartitionStatusJson, StatusJson, StepJson
from review.settings.config import RULES_PARTITION
from review.vocabulary import JobStatus

MOST = 15
_RENAMES = 3
_PARTITIONS = 5
_TAKE = "commonplace next_review_job {scope}--model {model} --runner RUNNER"
_SCOPE = "--all-gates --skip-rules "


def next_steps(status: StatusJson, *, stale_rules: int, model: str | None) -> list[StepJson]:
    """List at most `MOST` steps, in the order in which they are best taken.

    :param stale_rules: pairs that rules can judge and have not judged.
    :param model: the only partition that is looked at; None looks at all.
    """
    steps = (
        *_jobs(status),
        *(
            StepJson(what=f"{item.old_path} was probably renamed", command=item.command)
            for item in islice(status.renames, _RENAMES)
        ),
        *_rules(stale_rules, model),
        *_stale(status, model),
        *_findings(status),
        *_files(status),
    )
    return list(steps[:MOST])


def step_lines(steps: list[StepJson]) -> Iterator[str]:
    """One line a step."""
    yield from (f"{step.what}: {step.command}" for step in steps)
    if not steps:
        yield "nothing to do: every pair is fresh, the queue is empty, no job is open"


def _jobs(status: StatusJson) -> Iterator[StepJson]:
    if status.abandoned_jobs:
        what = f"jobs that were given up: {len(status.abandoned_jobs)}"
        yield StepJson(what=what, command="commonplace recover_review_jobs")
    running = status.jobs.get(JobStatus.RUNNING, 0) - len(status.abandoned_jobs)
    if running > 0:
        command = "commonplace ingest_bundle_output --ready"
        yield StepJson(what=f"running jobs, whose outputs may be there: {running}", command=command)
    if queued := status.jobs.get(JobStatus.QUEUED, 0):
        command = "commonplace next_review_job --runner RUNNER"
        yield StepJson(what=f"queued jobs: {queued}", command=command)


def _rules(stale: int, model: str | None) -> Iterator[StepJson]:
    if stale and model in (None, RULES_PARTITION):
        command = "commonplace review_sweep --all-gates --runner rules --model rules -q"
        yield StepJson(what=f"pairs that rules judge for free: {stale}", command=command)


def _stale(status: StatusJson, model: str | None) -> Iterator[StepJson]:
    judged = [item for item in status.partitions if item.model_partition != RULES_PARTITION]
    for item in islice((item for item in judged if item.fresh < item.applicable), _PARTITIONS):
        name = shlex.quote(item.model_partition)
        if _trivial_may_be(item):
            command = f"commonplace ack_trivial_changes --model {name} --all-gates"
            yield StepJson(
                what=f"changed notes, where some gates do not care ({item.model_partition})",
                command=command,
            )
        yield StepJson(
            what=f"stale pairs of {item.model_partition}: {item.applicable - item.fresh}",
            command=_TAKE.format(scope=_SCOPE, model=name),
        )
    if not judged and model is None and status.gates and status.notes:
        command = _TAKE.format(scope=_SCOPE, model="MODEL")
        yield StepJson(what="no model has reviewed anything yet", command=command)


def _trivial_may_be(partition: PartitionStatusJson) -> bool:
    return any(gate.note_changed for gate in partition.gates)


def _findings(status: StatusJson) -> Iterator[StepJson]:
    if sum(status.queue.values()):
        counts = ", ".join(f"{number} {word}" for word, number in status.queue.items() if number)
        command = "commonplace warn_selector --limit 5"
        yield StepJson(what=f"reviews with open findings: {counts}", command=command)
    if status.needs_a_look:
        command = "commonplace warn_selector --needs-a-look --limit 5"
        yield StepJson(
            what=f"reviews that a person must read: {status.needs_a_look}", command=command
        )


def _files(status: StatusJson) -> Iterator[StepJson]:
    if gone := len(status.orphans):
        command = "commonplace review_status --summary"
        yield StepJson(what=f"reviewed notes and gates that are gone: {gone}", command=command)
    if broken := len({problem.path for problem in status.problems}):
        command = "commonplace review_doctor"
        yield StepJson(what=f"files with problems: {broken}", command=command)
