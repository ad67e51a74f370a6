"""Which pairs of a scope are fresh, and why the others are not; one grouped read a partition.

The store keeps integers only: a note is fresh for a set of gates when the joined keys of the gate
snapshots accepted with its current snapshot hold all of them. The same string stands for nearly
every note of a healthy base, so it is taken apart once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from itertools import compress
from typing import TypeAlias

from review.domain.applicability import NoteKind, applies
from review.domain.staleness import Digests, staleness_reasons
from review.knowledge_base.gate_catalog import Gate
from review.knowledge_base.notes import NoteFacts
from review.models import (
    CurrentAcceptance,
    FileSnapshot,
    JoinedKeys,
    KbPath,
    ModelPartition,
    ReviewPair,
)
from review.vocabulary import Staleness

# Above this many notes one scan of an index is cheaper than naming each key.
_NAMED_AT_MOST = 400
# Strings of keys whose meaning is remembered: most notes share a few.
_REMEMBERED = 4096

# What a partition accepted: key of a note to keys of its snapshots, each with the joined keys of the
# gate snapshots that were accepted with it.
Accepted: TypeAlias = Mapping[int, tuple[tuple[int, str], ...]]


@dataclass(frozen=True)
class StaleGate:
    """A gate that is stale for a note, with all reasons, first that holds first."""

    gate: Gate
    reasons: tuple[Staleness, ...]


@dataclass(frozen=True)
class NoteStaleness:
    """A note with its applicable gates, split into stale and fresh ones, each sorted by gate path.

    Notes that are fresh all over share the tuple of their gates, and so do those that are `untouched`:
    nothing of them was ever accepted. They can be counted instead of walked.
    """

    note: NoteFacts
    stale: tuple[StaleGate, ...]
    fresh: tuple[Gate, ...]
    untouched: bool = False


@dataclass
class Scope:
    """The notes and gates that are asked about, with the keys the store has for them."""

    notes: Sequence[NoteFacts]
    gates: Sequence[Gate]
    path_ids: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look the keys up, and order both by path."""
        self.notes = sorted(self.notes, key=lambda note: note.path)
        self.gates = sorted(self.gates, key=lambda gate: gate.path)
        if len(self.notes) <= _NAMED_AT_MOST:
            paths = [*(note.path for note in self.notes), *(gate.path for gate in self.gates)]
            self.path_ids = KbPath.objects.ids(paths)
        else:
            self.path_ids = dict(KbPath.objects.values_list("path", "id"))
        self._gates_of = cache(self._find_gates_of)

    def gates_of(self, note: NoteFacts) -> tuple[Gate, ...]:
        """The gates of the scope that apply to the note."""
        return self._gates_of(note.kind)

    def note_ids(self) -> list[int] | None:
        """Keys of the notes, or None when there are too many to name them in a query."""
        if len(self.notes) > _NAMED_AT_MOST:
            return None
        return [self.path_ids[note.path] for note in self.notes if note.path in self.path_ids]

    @cached_property
    def snapshots(self) -> dict[int, int]:
        """Path key to the key of the snapshot that holds exactly the bytes now on disk."""
        digests = [(note.path, note.sha256) for note in self.notes]
        digests += [(gate.path, gate.sha256) for gate in self.gates]
        on_disk = {self.path_ids[path]: sha256 for path, sha256 in digests if path in self.path_ids}
        rows = FileSnapshot.objects.all()
        if len(self.notes) <= _NAMED_AT_MOST:
            rows = rows.filter(path_id__in=list(on_disk))
        found: dict[int, int] = {}
        columns = rows.values_list("path_id", "content_sha256", "id")
        for path_id, sha256, snapshot_id in columns.iterator(chunk_size=5000):
            if on_disk.get(path_id) == sha256:
                found[path_id] = snapshot_id
        return found

    @cached_property
    def gate_texts(self) -> dict[int, str]:
        """Key of each kept text of the gates, of whatever time, to the gate's path."""
        paths = {
            self.path_ids[gate.path]: gate.path for gate in self.gates if gate.path in self.path_ids
        }
        rows = FileSnapshot.objects.filter(path_id__in=list(paths)).values_list("id", "path_id")
        return {snapshot_id: paths[path_id] for snapshot_id, path_id in rows}

    def _find_gates_of(self, kind: NoteKind) -> tuple[Gate, ...]:
        return tuple(gate for gate in self.gates if applies(gate.requirement, kind))


def partition_staleness(
    scope: Scope, *, model_partition: str, accepted: Accepted | None = None
) -> Iterator[NoteStaleness]:
    """Every note of the scope with what is stale for the partition, in path order.

    :param accepted: what `read_accepted` gave for the partition, where it was read already.
    """
    snapshots = scope.snapshots
    gate_snapshots = {
        gate.path: snapshots.get(scope.path_ids.get(gate.path, 0)) for gate in scope.gates
    }
    if accepted is None:
        accepted = read_accepted(scope, model_partition)
    owners = scope.gate_texts
    parse = lru_cache(_REMEMBERED)(parse_keys)
    fresh_for = cache(lambda kind: _all_fresh(scope._find_gates_of(kind), gate_snapshots))
    missing_for = cache(lambda kind: _all_missing(scope._find_gates_of(kind)))
    for note in scope.notes:
        note_id = scope.path_ids.get(note.path, 0)
        current = snapshots.get(note_id)
        rows = accepted.get(note_id, ())
        if not rows:
            yield NoteStaleness(note, missing_for(note.kind), (), untouched=True)
            continue
        gates = scope.gates_of(note)
        wanted = fresh_for(note.kind)
        matching = next((keys for snapshot, keys in rows if snapshot == current), None)
        if matching is not None and wanted is not None and wanted <= parse(matching):
            yield NoteStaleness(note, (), gates)
            continue
        baselines = {
            owners[key]: Digests(note=snapshot, gate=key)
            for snapshot, keys in rows
            for key in parse(keys)
            if key in owners
        }
        yield _split(note, gates, baselines, current=current, gate_snapshots=gate_snapshots)


def uncovered(scope: Scope) -> Iterator[NoteStaleness]:
    """Every note with the gates that no partition has a current acceptance for."""
    covered: dict[int, tuple[str, ...]] = {}
    shared: dict[str, str] = {}
    note_ids = scope.note_ids()
    for partition_id in ModelPartition.objects.values_list("pk", flat=True):
        rows = CurrentAcceptance.objects.filter(model_partition_id=partition_id)
        if note_ids is not None:
            rows = rows.filter(note_id__in=note_ids)
        grouped = rows.values_list("note_id").annotate(keys=JoinedKeys("gate_id"))
        for note_id, keys in grouped.iterator(chunk_size=5000):
            covered[note_id] = (*covered.get(note_id, ()), shared.setdefault(keys, keys))
    split = lru_cache(_REMEMBERED)(
        lambda kind, seen: _split_covered(scope, scope._find_gates_of(kind), seen)
    )
    for note in scope.notes:
        seen = covered.get(scope.path_ids.get(note.path, 0), ())
        yield NoteStaleness(note, *split(note.kind, seen))


def _split_covered(
    scope: Scope, gates: Sequence[Gate], seen: Iterable[str]
) -> tuple[tuple[StaleGate, ...], tuple[Gate, ...]]:
    """The gates that miss a review everywhere, and the others; `seen` are joined keys of gates."""
    keys = frozenset[int]().union(*map(parse_keys, seen))
    is_seen = [scope.path_ids.get(gate.path, 0) in keys for gate in gates]
    missing = (Staleness.MISSING_REVIEW,)
    return (
        tuple(
            StaleGate(gate, missing)
            for gate, known in zip(gates, is_seen, strict=True)
            if not known
        ),
        tuple(compress(gates, is_seen)),
    )


def named_ids(note_paths: Iterable[str]) -> list[int] | None:
    """Keys of these notes, or None when there are too many to name them in a query."""
    paths = set(note_paths)
    return None if len(paths) > _NAMED_AT_MOST else list(KbPath.objects.ids(paths).values())


def in_flight(
    model_partition: str, *, note_ids: Sequence[int] | None = None
) -> dict[tuple[str, str], int]:
    """`(note_path, gate_path)` to the open job of the partition that will answer it.

    :param note_ids: keys of the notes that matter; None is all.
    """
    rows = ReviewPair.objects.in_flight(model_partition).order_by("job_id")
    if note_ids is not None:
        rows = rows.filter(note_id__in=note_ids)
    return {
        (note, gate): job_id
        for note, gate, job_id in rows.values_list("note__path", "gate__path", "job_id")
    }


def read_accepted(scope: Scope, model_partition: str, *, named: bool = True) -> Accepted:
    """What the partition accepted, of the notes of the scope; of all notes where these are many.

    :param named: leave other notes out where that is quick; without it all notes are read.
    """
    partition_id = (
        ModelPartition.objects.filter(name=model_partition).values_list("pk", flat=True).first()
    )
    if partition_id is None:
        return {}
    rows = CurrentAcceptance.objects.filter(model_partition_id=partition_id)
    note_ids = scope.note_ids() if named else None
    if note_ids is not None:
        rows = rows.filter(note_id__in=note_ids)
    grouped = rows.values_list("note_id", "note_snapshot_id").annotate(
        keys=JoinedKeys("gate_snapshot_id")
    )
    found: dict[int, tuple[tuple[int, str], ...]] = {}
    # In a healthy base nearly all notes have the same string: kept once, it takes no memory.
    shared: dict[str, str] = {}
    for note_id, snapshot_id, keys in grouped.order_by().iterator(chunk_size=5000):
        row = (snapshot_id, shared.setdefault(keys, keys))
        found[note_id] = (*found[note_id], row) if note_id in found else (row,)
    return found


def parse_keys(joined: str) -> frozenset[int]:
    """The keys that were joined."""
    return frozenset(map(int, joined.split(",")))


def _all_fresh(
    gates: Iterable[Gate], gate_snapshots: Mapping[str, int | None]
) -> frozenset[int] | None:
    """The gate snapshots a note needs to be wholly fresh; None when a gate was never snapshotted."""
    keys = [gate_snapshots[gate.path] for gate in gates]
    if any(key is None for key in keys):
        return None
    return frozenset(key for key in keys if key is not None)


def _all_missing(gates: Iterable[Gate]) -> tuple[StaleGate, ...]:
    return tuple(StaleGate(gate, (Staleness.MISSING_REVIEW,)) for gate in gates)


def _split(
    note: NoteFacts,
    gates: Sequence[Gate],
    baselines: Mapping[str, Digests],
    *,
    current: int | None,
    gate_snapshots: Mapping[str, int | None],
) -> NoteStaleness:
    stale: list[StaleGate] = []
    fresh: list[Gate] = []
    for gate in gates:
        reasons = staleness_reasons(
            current=Digests(note=current, gate=gate_snapshots[gate.path]),
            accepted=baselines.get(gate.path),
        )
        if reasons:
            stale.append(StaleGate(gate, reasons))
        else:
            fresh.append(gate)
    return NoteStaleness(note, tuple(stale), tuple(fresh))
