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
from review.models import (
    CurrentAcceptance,
    FileSnapshot,
    KbPath,
    ModelPartition,
    ReviewJob,
    ReviewPair,
    batched,
)
from review.queries.freshness import (
    Accepted,
    NoteStaleness,
    Scope,
    parse_keys,
    partition_staleness,
    read_accepted,
)
from review.queries.orphans import is_there, live_acceptances
from review.vocabulary import (
    ACCEPTING_DECISIONS,
    Decision,
    JobStatus,
    Staleness,
)


@dataclass
class _GateCount:
    reasons: Counter[str] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Coverage:
    """Partitions by name; `uncovered` pairs are fresh in none of them.

    :param strangers: paths with current acceptances, in any partition, that are no note or gate of
        the base; by kind.
    """

    notes: tuple[NoteFacts, ...]
    gates: tuple[Gate, ...]
    partitions: tuple[PartitionStatusJson, ...]
    uncovered: int
    strangers: Mapping[str, Mapping[str, int]]
    problems: tuple[Problem, ...]


def read_coverage(corpus: Corpus, *, model_partition: str | None = None) -> Coverage:
    """Coverage of all notes and gates, by every partition that has accepted something.

    What was accepted is read once a partition, grouped by note; all counts come from that.

    :param model_partition: look at this one only; it may have nothing yet.
    """
    listed, catalog = corpus.notes(), corpus.gates
    scope = Scope(notes=listed.notes, gates=catalog.gates)
    rows = CurrentAcceptance.objects.all()
    accepted = {name: read_accepted(rows, name) for name in _partition_names()}
    names = [model_partition] if model_partition else list(accepted)
    counts = {name: {gate.path: _GateCount() for gate in scope.gates} for name in names}
    uncovered = _count_staleness(scope, accepted, counts)
    queued = _queued()
    for name in names:
        _count_decisions(scope, accepted.get(name, {}), queued.get(name, ()), counts[name])
    return Coverage(
        notes=tuple(scope.notes),
        gates=tuple(scope.gates),
        partitions=tuple(_partition(scope, name, counts[name]) for name in names),
        uncovered=uncovered,
        strangers=_strangers(scope, accepted.values()),
        problems=(*listed.problems, *catalog.problems),
    )


def count_jobs() -> dict[str, int]:
    """Jobs by status; a status without jobs counts 0."""
    rows = ReviewJob.objects.values_list("status").annotate(Count("pk")).order_by()
    return {status.value: 0 for status in JobStatus} | dict(rows)


def find_orphans(corpus: Corpus, coverage: Coverage) -> list[OrphanJson]:
    """Paths with current acceptances under which there is no file any more, sorted.

    Acceptances that were carried over to another path, or retired, do not count. A file that was left out for a problem, or that lies outside the note roots, is still there.
    """
    known = {problem.path for problem in coverage.problems}
    orphans = []
    for kind, paths in coverage.strangers.items():
        gone = [
            path
            for path in paths
            if path not in known and (kind == "gate" or not is_there(corpus, path))
        ]
        live = live_acceptances(kind, KbPath.objects.ids(gone))
        orphans += [
            OrphanJson(path=path, kind=kind, acceptances=count) for path, count in live.items()
        ]
    return sorted(orphans, key=lambda orphan: (orphan.path, orphan.kind))


def _strangers(scope: Scope, accepted: Iterable[Accepted]) -> dict[str, dict[str, int]]:
    notes = {scope.path_ids.get(note.path) for note in scope.notes}
    gate_keys: Counter[int] = Counter()
    gone: Counter[int] = Counter()
    for rows in accepted:
        strings = _strings(rows.values())
        for joined, number in strings.items():
            gate_keys.update(dict.fromkeys(parse_keys(joined), number))
        for note_id in rows.keys() - notes:
            gone[note_id] += sum(len(parse_keys(joined)) for _snapshot, joined in rows[note_id])
    unknown = gate_keys.keys() - scope.gate_texts.keys()
    gates: Counter[str] = Counter()
    for chunk in batched(sorted(unknown), 500):
        owners = FileSnapshot.objects.filter(pk__in=chunk).values_list("pk", "path__path")
        for key, path in owners:
            gates[path] += gate_keys[key]
    return {"note": _named(gone), "gate": dict(gates)}


def _named(counts: Mapping[int, int]) -> dict[str, int]:
    """The same, by path."""
    found: dict[str, int] = {}
    for chunk in batched(sorted(counts), 500):
        paths = KbPath.objects.filter(pk__in=chunk).values_list("pk", "path")
        found.update((path, counts[key]) for key, path in paths)
    return found


def _strings(rows: Iterable[Iterable[tuple[int, str]]]) -> Counter[str]:
    """How often each joined string of keys stands."""
    return Counter(joined for row in rows for _snapshot, joined in row)


def _partition_names() -> list[str]:
    return [
        name
        for key, name in ModelPartition.objects.order_by("name").values_list("pk", "name")
        if CurrentAcceptance.objects.filter(model_partition_id=key).exists()
    ]


def _count_staleness(
    scope: Scope, accepted: Mapping[str, Accepted], counts: Mapping[str, Mapping[str, _GateCount]]
) -> int:
    """Count each partition's pairs; answers how many pairs are fresh in none of them."""
    # Note by note in all partitions at once: no set of pairs grows with the base.
    readers = [
        partition_staleness(scope, model_partition=name, accepted=accepted.get(name, {}))
        for name in counts
    ]
    # Notes that are fresh all over, or untouched, share one tuple: they are counted, not walked.
    shared: list[Counter[int]] = [Counter() for _name in counts]
    kept: dict[int, NoteStaleness] = {}
    uncovered = 0
    for note, *items in zip(scope.notes, *readers, strict=True):
        left: set[str] | None = None
        for item, whole, gates in zip(items, shared, counts.values(), strict=True):
            if item.untouched:
                key = id(item.stale)
            elif not item.stale:
                key, left = id(item.fresh), set()
            else:
                _count(item, gates, 1)
                stale = {found.gate.path for found in item.stale}
                left = stale if left is None else left & stale
                continue
            whole[key] += 1
            kept.setdefault(key, item)
        uncovered += len(scope.gates_of(note)) if left is None else len(left)
    for whole, gates in zip(shared, counts.values(), strict=True):
        for key, number in whole.items():
            _count(kept[key], gates, number)
    return uncovered


def _count(item: NoteStaleness, counts: Mapping[str, _GateCount], number: int) -> None:
    """Count the pairs of so many notes that stand alike in one partition."""
    for gate in item.fresh:
        counts[gate.path].reasons["fresh"] += number
    for found in item.stale:
        counts[found.gate.path].reasons[found.reasons[0].value] += number


def _partition(scope: Scope, name: str, counts: Mapping[str, _GateCount]) -> PartitionStatusJson:
    gates = [_gate_status(gate, counts[gate.path]) for gate in scope.gates]
    return PartitionStatusJson(
        model_partition=name,
        applicable=sum(gate.applicable for gate in gates),
        fresh=sum(gate.fresh for gate in gates),
        in_flight=_in_flight(name),
        gates=gates,
    )


def _count_decisions(
    scope: Scope,
    accepted: Accepted,
    queued: Iterable[tuple[int, int, str]],
    counts: Mapping[str, _GateCount],
) -> None:
    """Decisions of notes that are there; those of notes that are gone are none about this base."""
    notes = {scope.path_ids[note.path] for note in scope.notes if note.path in scope.path_ids}
    owners = scope.gate_texts
    for joined, number in _strings(accepted[key] for key in accepted.keys() & notes).items():
        for key in parse_keys(joined):
            if key in owners:
                # What is not queued passed.
                counts[owners[key]].decisions[Decision.PASS] += number
    paths = {scope.path_ids[path]: path for path in counts if path in scope.path_ids}
    for note_id, gate_id, decision in queued:
        if note_id in notes and gate_id in paths:
            found = counts[paths[gate_id]].decisions
            found[decision] += 1
            found[Decision.PASS] -= 1


def _queued() -> dict[str, list[tuple[int, int, str]]]:
    """Keys of note and gate, and the decision, of what warns or fails; by partition."""
    names = dict(ModelPartition.objects.values_list("pk", "name"))
    found: dict[str, list[tuple[int, int, str]]] = {}
    rows = CurrentAcceptance.objects.queued()
    columns = rows.values_list("model_partition_id", "note_id", "gate_id", "decision")
    for partition_id, note_id, gate_id, decision in columns:
        found.setdefault(names[partition_id], []).append((note_id, gate_id, decision))
    return found


def _in_flight(name: str) -> int:
    """Pairs that an open job will answer, each once."""
    asked = ReviewPair.objects.in_flight(name).values("note_id", "gate_id").distinct()
    return asked.count()


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
