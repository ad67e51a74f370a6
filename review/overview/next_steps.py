"""The recommended next steps, from the status: each with the command to run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from itertools import islice

from review.overview.documents import PartitionStatusJson, StatusJson, StepJson
from review.settings.config import RULES_PARTITION
from review.vocabulary import JobStatus

MOST = 15
_TAKE = "next_review_job {} --model {} --runner RUNNER"
_ALL = "--all-gates --skip-rules"
_NAMED_GATES = 6
_LOOK = "warn_selector --needs-a-look --limit 5"
_SWEEP = "review_sweep --all-gates --runner rules --model rules -q"


def next_steps(
    status: StatusJson,
    *,
    stale_rules: int,
    model_pairs: int,
    trivial: Mapping[str, int],
    model: str | None,
) -> list[StepJson]:
    """List at most `MOST` steps, in the order in which they are best taken.

    :param stale_rules: pairs that rules can judge and have not judged.
    :param model_pairs: pairs that only models can judge, fresh or not.
    :param trivial: by partition, pairs whose note changed in nothing that the gate watches.
    :param model: the only partition that is looked at; None looks at all.
    """
    judged = judged_by_models(status)
    is_new = not judged and model is None and status.gates and status.notes
    given_up, jobs = len(status.abandoned_jobs), status.jobs
    steps = [
        ("jobs that were given up", given_up, "recover_review_jobs"),
        ("running jobs", jobs[JobStatus.RUNNING] - given_up, "ingest_bundle_output --ready"),
        ("queued jobs", jobs[JobStatus.QUEUED], "next_review_job --runner RUNNER"),
        *(
            (f"probably renamed: {item.old_path}", 1, item.command.partition(" ")[2])
            for item in status.renames[:3]
        ),
        ("pairs that rules judge for free", 0 if model else stale_rules, _SWEEP),
        *(step for item in judged for step in _stale(item, model_pairs, trivial)),
        (
            "pairs that no model has reviewed",
            model_pairs * bool(is_new),
            _TAKE.format(_ALL, "MODEL"),
        ),
        ("reviews with open findings", sum(status.queue.values()), "warn_selector --limit 5"),
        ("reviews that a person must read", status.needs_a_look, _LOOK),
        ("reviewed files that are gone", len(status.orphans), "review_status --summary"),
        ("problems with files", len(status.problems), "review_doctor"),
    ]
    return [
        StepJson(what=what, count=count, command=f"commonplace {command}")
        for what, count, command in steps
        if count > 0
    ][:MOST]


def judged_by_models(status: StatusJson) -> list[PartitionStatusJson]:
    """Return the partitions of models that steps speak of."""
    judged = (item for item in status.partitions if item.model_partition != RULES_PARTITION)
    return list(islice(judged, 3))


def step_lines(status: StatusJson) -> Iterator[str]:
    """One line a step; first why there can be none, where notes or gates are missing."""
    steps = status.next_steps
    if not (status.notes and status.gates):
        yield from status.notices
    yield from (f"{step.what}, {step.count}: {step.command}" for step in steps)
    if status.notes and status.gates and not steps:
        yield "nothing to do: every pair is fresh, the queue is empty, no job is open"


def _stale(
    partition: PartitionStatusJson, model_pairs: int, trivial: Mapping[str, int]
) -> Iterator[tuple[str, int, str]]:
    """Yield the steps for what is stale; each count is that of its command's scope."""
    model = shlex.quote(partition.model_partition)
    acks = f"ack_trivial_changes --model {model} --all-gates"
    yield (
        f"changed for {model}, in nothing that the gates watch",
        trivial.get(partition.model_partition, 0),
        acks,
    )
    gates = [gate.gate_id for gate in partition.gates if gate.fresh < gate.applicable]
    stale, names = partition.applicable - partition.fresh, " ".join(gates)
    if len(gates) > _NAMED_GATES:
        stale, names = model_pairs - partition.fresh, _ALL
    yield f"stale for {model}", stale, _TAKE.format(names, model)
