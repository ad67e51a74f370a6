"""Where the whole review stands: coverage by partition and gate, the queue, jobs, orphans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from django.db.models import Count

from review.contracts.status import GateStatusJson, OrphanJson, PartitionStatusJson
from review.corpus import Corpus, UnreadableFile
from review.corpus.gates import Gate
from review.corpus.notes import NoteFacts
from review.domain.problems import Problem
from review.models import CurrentAcceptance, KbPath, ModelPartition, ReviewJob, batched
from review.models.acceptances import CurrentAcceptanceQuerySet
from review.queries.freshness import NoteStaleness, Scope, in_flight, partition_staleness
from review.vocabulary import ACCEPTING_DECISIONS, JobStatus, ProblemCode, Staleness


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
    counts = {name: {gate.path: _GateCount() for gate in scope.gates} for name in names}
    # Note by note in all partitions at once: no set of pairs grows with the base.
    readers = [partition_staleness(scope, model_partition=name) for name in names]
    uncovered = 0
    for note, *items in zip(scope.notes, *readers, strict=True):
        left = {gate.path for gate in scope.gates_of(note)}
        for name, item in zip(names, items, strict=True):
            left &= _count(item, counts[name])
        uncovered += len(left)
    for name in names:
        _count_decisions(scope, name, counts[name])
    return Coverage(
        notes=tuple(scope.notes),
        gates=tuple(scope.gates),
        partitions=tuple(_partition(scope, name, counts[name]) for name in names),
        uncovered=uncovered,
        problems=(*listed.problems, *catalog.problems),
    )


def count_jobs() -> dict[str, int]:
    """Jobs by status; a status without jobs counts 0."""
    rows = ReviewJob.objects.values_list("status").annotate(Count("pk")).order_by()
    return {status.value: 0 for status in JobStatus} | dict(rows)


def find_orphans(corpus: Corpus, coverage: Coverage) -> list[OrphanJson]:
    """Paths with current acceptances under which there is no file any more, sorted.

    A file that was left out for a problem, or that lies outside the note roots, is still there.
    """
    known = {note.path for note in coverage.notes} | {gate.path for gate in coverage.gates}
    known |= {problem.path for problem in coverage.problems}
    orphans = []
    for kind, column in (("note", "note_id"), ("gate", "gate_id")):
        for path, count in _accepted_paths(column):
            if path not in known and (kind == "gate" or not _is_there(corpus, path)):
                orphans.append(OrphanJson(path=path, kind=kind, acceptances=count))
    return sorted(orphans, key=lambda orphan: (orphan.path, orphan.kind))


def _accepted_paths(column: str) -> Iterator[tuple[str, int]]:
    """Paths that are the note (or gate) of current acceptances, with how many."""
    rows = CurrentAcceptance.objects.values_list(column).annotate(Count("pk")).order_by()
    for chunk in batched(rows.iterator(chunk_size=500), 500):
        names = dict(
            KbPath.objects.filter(pk__in=[key for key, _count in chunk]).values_list("pk", "path")
        )
        yield from ((names[key], count) for key, count in chunk)


def _is_there(corpus: Corpus, path: str) -> bool:
    try:
        corpus.read_note(path)
    except UnreadableFile as refused:
        return refused.problem.code is not ProblemCode.VANISHED
    return True


def _partition_names() -> list[str]:
    return [
        name
        for key, name in ModelPartition.objects.order_by("name").values_list("pk", "name")
        if CurrentAcceptance.objects.filter(model_partition_id=key).exists()
    ]


def _count(item: NoteStaleness, counts: Mapping[str, _GateCount]) -> set[str]:
    """Count the note's pairs in one partition; answers the gates that are stale there."""
    for gate in item.fresh:
        counts[gate.path].reasons["fresh"] += 1
    for found in item.stale:
        counts[found.gate.path].reasons[found.reasons[0].value] += 1
    return {found.gate.path for found in item.stale}


def _partition(scope: Scope, name: str, counts: Mapping[str, _GateCount]) -> PartitionStatusJson:
    gates = [_gate_status(gate, counts[gate.path]) for gate in scope.gates]
    return PartitionStatusJson(
        model_partition=name,
        applicable=sum(gate.applicable for gate in gates),
        fresh=sum(gate.fresh for gate in gates),
        in_flight=len(in_flight(name)),
        gates=gates,
    )


def _count_decisions(scope: Scope, name: str, counts: Mapping[str, _GateCount]) -> None:
    paths = {scope.path_ids[path]: path for path in counts if path in scope.path_ids}
    accepted = CurrentAcceptance.objects.of_partition(name)
    for gate_id, decision, number in _decisions(accepted):
        if gate_id in paths:
            counts[paths[gate_id]].decisions[decision] += number
    # Those of notes that are gone are no decisions about this base; there are few.
    known = {scope.path_ids[note.path] for note in scope.notes if note.path in scope.path_ids}
    gone = set(accepted.values_list("note_id", flat=True).distinct()) - known
    for chunk in batched(sorted(gone), 500):
        for gate_id, decision, number in _decisions(accepted.filter(note_id__in=chunk)):
            if gate_id in paths:
                counts[paths[gate_id]].decisions[decision] -= number


def _decisions(accepted: CurrentAcceptanceQuerySet) -> Iterator[tuple[int, str, int]]:
    rows = accepted.values_list("gate_id", "decision").annotate(Count("pk")).order_by()
    yield from rows


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
