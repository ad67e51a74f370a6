"""Where the whole review stands: coverage by partition and gate, the queue, jobs, orphans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.db.models import Count

from review.contracts.status import GateStatusJson, OrphanJson, PartitionStatusJson
from review.corpus import Corpus
from review.corpus.gates import Gate
from review.corpus.notes import NoteFacts
from review.domain.problems import Problem
from review.models import CurrentAcceptance, KbPath, ModelPartition, ReviewJob
from review.queries.freshness import Scope, in_flight, partition_staleness
from review.vocabulary import ACCEPTING_DECISIONS, JobStatus, Staleness


@dataclass
class _GateCount:
    reasons: Counter[str] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Coverage:
    """Partitions by name; `uncovered` pairs are fresh in none of them."""

    notes: tuple[NoteFacts, ...]
    gates: tuple[Gate, ...]
    partitions: tuple[PartitionStatusJson, ...]
    uncovered: int
    problems: tuple[Problem, ...]


def read_coverage(corpus: Corpus, *, model_partition: str | None = None) -> Coverage:
    """Coverage of all notes and gates, by every partition that has accepted something.

    :param model_partition: look at this one only; it may have nothing yet.
    """
    listed, catalog = corpus.notes(), corpus.gates
    scope = Scope(notes=listed.notes, gates=catalog.gates)
    names = [model_partition] if model_partition else _partition_names()
    pairs = {(note.path, gate.path) for note in scope.notes for gate in scope.gates_of(note)}
    partitions = []
    stale_everywhere = pairs
    for name in names:
        status, stale = _partition(scope, name)
        partitions.append(status)
        stale_everywhere = stale_everywhere & stale
    return Coverage(
        notes=tuple(scope.notes),
        gates=tuple(scope.gates),
        partitions=tuple(partitions),
        uncovered=len(stale_everywhere),
        problems=(*listed.problems, *catalog.problems),
    )


def count_jobs() -> dict[str, int]:
    """Jobs by status; a status without jobs counts 0."""
    rows = ReviewJob.objects.values_list("status").annotate(Count("pk")).order_by()
    return {status.value: 0 for status in JobStatus} | dict(rows)


def find_orphans(notes: Iterable[NoteFacts], gates: Iterable[Gate]) -> list[OrphanJson]:
    """Paths with current acceptances that no note or gate has now, sorted."""
    orphans = []
    for kind, column, known in (
        ("note", "note_id", {note.path for note in notes}),
        ("gate", "gate_id", {gate.path for gate in gates}),
    ):
        rows = CurrentAcceptance.objects.values_list(column).annotate(Count("pk")).order_by()
        counts = dict(rows)
        names = dict(KbPath.objects.values_list("pk", "path"))
        orphans += [
            OrphanJson(path=names[key], kind=kind, acceptances=count)
            for key, count in counts.items()
            if names[key] not in known
        ]
    return sorted(orphans, key=lambda orphan: (orphan.path, orphan.kind))


def _partition_names() -> list[str]:
    return [
        name
        for key, name in ModelPartition.objects.order_by("name").values_list("pk", "name")
        if CurrentAcceptance.objects.filter(model_partition_id=key).exists()
    ]


def _partition(scope: Scope, name: str) -> tuple[PartitionStatusJson, set[tuple[str, str]]]:
    counts = {gate.path: _GateCount() for gate in scope.gates}
    stale: set[tuple[str, str]] = set()
    for item in partition_staleness(scope, model_partition=name):
        for gate in item.fresh:
            counts[gate.path].reasons["fresh"] += 1
        for found in item.stale:
            counts[found.gate.path].reasons[found.reasons[0].value] += 1
            stale.add((item.note.path, found.gate.path))
    _count_decisions(scope, name, counts)
    gates = [_gate_status(gate, counts[gate.path]) for gate in scope.gates]
    status = PartitionStatusJson(
        model_partition=name,
        applicable=sum(gate.applicable for gate in gates),
        fresh=sum(gate.fresh for gate in gates),
        in_flight=len(in_flight(name)),
        gates=gates,
    )
    return status, stale


def _count_decisions(scope: Scope, name: str, counts: Mapping[str, _GateCount]) -> None:
    paths = {scope.path_ids[path]: path for path in counts if path in scope.path_ids}
    rows = (
        CurrentAcceptance.objects.of_partition(name)
        .values_list("gate_id", "decision")
        .annotate(Count("pk"))
        .order_by()
    )
    for gate_id, decision, number in rows:
        if gate_id in paths:
            counts[paths[gate_id]].decisions[decision] += number


def _gate_status(gate: Gate, count: _GateCount) -> GateStatusJson:
    return GateStatusJson(
        gate_id=gate.gate_id,
        applicable=count.reasons.total(),
        fresh=count.reasons["fresh"],
        missing_review=count.reasons[Staleness.MISSING_REVIEW.value],
        gate_changed=count.reasons[Staleness.GATE_CHANGED.value],
        note_changed=count.reasons[Staleness.NOTE_CHANGED.value],
        decisions={word.value: count.decisions[word.value] for word in ACCEPTING_DECISIONS},
    )
