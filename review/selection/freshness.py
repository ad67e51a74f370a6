"""Freshness of the pairs of a scope, with reasons; one grouped query per partition.

The store keeps integers only: what a partition accepted of a note is one string of joined gate
snapshot keys for each snapshot of the note. Nearly all notes of a healthy base have the same string,
so each string is compared with the gates once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from operator import attrgetter
from typing import TypeAlias

from django.db.models import Count, QuerySet

from review.domain.link_state import READING_RULES
from review.domain.paths import sha256_hex
from review.domain.staleness import Digests, Regions, as_gate_sees, regions_of, staleness_reasons
from review.knowledge_base import Corpus, Gate, NoteFacts, NoteKind, NoteText, UnreadableFile
from review.models import (
    CurrentAcceptance,
    FileSnapshot,
    JoinedKeys,
    KbPath,
    ModelPartition,
    ReviewPair,
)
from review.selection.documents import ChangeJson
from review.vocabulary import RULES_PARTITION, Staleness

# Above this many notes one scan of an index is cheaper than naming each key.
_NAMED_AT_MOST = 400

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
    """A note with its stale and fresh gates, sorted by path; `untouched`: nothing was accepted.

    Notes that stand alike share both tuples, so they can be counted instead of walked.
    """

    note: NoteFacts
    stale: tuple[StaleGate, ...]
    fresh: tuple[Gate, ...]
    untouched: bool


class Scope:
    """The notes and gates of the scope, sorted by path, with their keys in the store."""

    def __init__(
        self, corpus: Corpus, *, notes: Iterable[NoteFacts], gates: Iterable[Gate]
    ) -> None:
        self._corpus = corpus
        self.notes: Sequence[NoteFacts] = sorted(notes, key=attrgetter("path"))
        self.gates: Sequence[Gate] = sorted(gates, key=attrgetter("path"))
        files: list[NoteFacts | Gate] = [*self.notes, *self.gates]
        self._digests = {item.path: item.sha256 for item in files}
        self._is_small = len(self.notes) <= _NAMED_AT_MOST
        paths = KbPath.objects
        named = paths.ids(self._digests) if self._is_small else paths.values_list("path", "id")
        self.path_ids: Mapping[str, int] = dict(named)
        self.gates_of_kind = cache(self._find_gates)

    def acceptances(self) -> QuerySet[CurrentAcceptance]:
        """Return the current acceptances of the notes; of all notes where these are many."""
        rows = CurrentAcceptance.objects.all()
        if not self._is_small:
            return rows
        ids = [self.path_ids[note.path] for note in self.notes if note.path in self.path_ids]
        return rows.filter(note_id__in=ids)

    @cached_property
    def snapshots(self) -> dict[int, int]:
        """Path key to the key of the snapshot that holds exactly the bytes now on disk."""
        ids = self.path_ids
        on_disk = {ids[path]: sha256 for path, sha256 in self._digests.items() if path in ids}
        rows = FileSnapshot.objects.all()
        if self._is_small:
            rows = rows.filter(path_id__in=list(on_disk))
        columns = rows.values_list("path_id", "content_sha256", "id").iterator(chunk_size=5000)
        return {path: key for path, sha256, key in columns if on_disk.get(path) == sha256}

    @cached_property
    def gate_paths(self) -> dict[int, str]:
        ids = self.path_ids
        return {ids[gate.path]: gate.path for gate in self.gates if gate.path in ids}

    @cached_property
    def gate_texts(self) -> dict[int, str]:
        """Key of each stored text of the gates, of whatever time, to the gate's path."""
        rows = FileSnapshot.objects.filter(path_id__in=list(self.gate_paths))
        return {key: self.gate_paths[path] for key, path in rows.values_list("id", "path_id")}

    @cached_property
    def outdated(self) -> frozenset[tuple[int, int]]:
        """Keys of notes and gates whose rule saw the files that the note links to otherwise.

        Both texts are those of today.
        """
        ids = self.path_ids
        gates = {
            ids[gate.path]: gate
            for gate in self.gates
            if gate.rule in READING_RULES and gate.path in ids
        }
        if not gates:
            return frozenset()
        notes = {ids.get(note.path): note for note in self.notes}
        rows = self.acceptances().filter(
            model_partition__name=RULES_PARTITION,
            gate_id__in=list(gates),
            event__review_pair__isnull=False,
        )
        columns = ("note_id", "gate_id", "note_snapshot_id", "gate_snapshot_id")
        return frozenset(
            (note, gate)
            for note, gate, *at, state in rows.values_list(
                *columns, "event__review_pair__link_state"
            )
            if note in notes and at == [self.snapshots.get(note), self.snapshots.get(gate)]
            if state != self._corpus.link_state(notes[note], gates[gate])
        )

    def _find_gates(self, kind: NoteKind) -> tuple[Gate, ...]:
        return tuple(gate for gate in self.gates if gate.requirement.applies(kind))


def partition_staleness(scope: Scope, *, model_partition: str) -> Iterator[NoteStaleness]:
    """Return every note of the scope with what is stale for the partition, in path order."""
    named = ModelPartition.objects.filter(name=model_partition)
    accepted: Accepted = {}
    for partition_id in named.values_list("pk", flat=True):
        rows = scope.acceptances().filter(model_partition_id=partition_id)
        texts = rows.values_list("note_id", "note_snapshot_id")
        grouped = texts.annotate(keys=JoinedKeys("gate_snapshot_id")).order_by()
        accepted = _grouped(grouped.iterator(chunk_size=5000))
    items = _staleness(scope, accepted, owners=scope.gate_texts, current=scope.snapshots)
    is_of_rules = model_partition == RULES_PARTITION and accepted
    return _without_outdated(scope, items) if is_of_rules else items


def uncovered(scope: Scope) -> Iterator[NoteStaleness]:
    """Return every note with the gates that no partition has a current acceptance for.

    Keys of paths stand for keys of texts, so that any accepted text counts as the current one.
    """
    # The index starts with the partition.
    rows = scope.acceptances().filter(
        model_partition_id__in=list(ModelPartition.objects.values_list("pk", flat=True))
    )
    grouped = rows.values_list("model_partition_id", "note_id").annotate(keys=JoinedKeys("gate_id"))
    accepted = _grouped(
        (note_id, note_id, keys) for _partition, note_id, keys in grouped.iterator()
    )
    current = {key: key for key in scope.path_ids.values()}
    return _staleness(scope, accepted, owners=scope.gate_paths, current=current)


def in_flight(
    model_partition: str, *, note_paths: Collection[str] | None = None
) -> dict[tuple[str, str], int]:
    """Map pairs to the open job of the partition that will answer them; others may be in it."""
    rows = ReviewPair.objects.in_flight(model_partition).order_by("job_id")
    if note_paths is not None and len(note_paths) <= _NAMED_AT_MOST:
        rows = rows.filter(note_id__in=list(KbPath.objects.ids(note_paths).values()))
    found = rows.values_list("note__path", "gate__path", "job_id")
    return {(note, gate): job_id for note, gate, job_id in found}


def _grouped(rows: Iterable[tuple[int, int, str]]) -> Accepted:
    found: dict[int, tuple[tuple[int, str], ...]] = {}
    # In a healthy base nearly all notes have the same string: stored once, it takes no memory.
    shared: dict[str, str] = {}
    for note_id, snapshot_id, keys in rows:
        row = (snapshot_id, shared.setdefault(keys, keys))
        found[note_id] = (*found[note_id], row) if note_id in found else (row,)
    return found


def _staleness(
    scope: Scope, accepted: Accepted, *, owners: Mapping[int, str], current: Mapping[int, int]
) -> Iterator[NoteStaleness]:
    """Compare acceptances with `current` texts (by path key); `owners`: gate's path by text key."""

    @lru_cache(4096)
    def compare(
        kind: NoteKind, rows: tuple[tuple[bool, str], ...]
    ) -> tuple[tuple[StaleGate, ...], tuple[Gate, ...]]:
        baselines = {
            owners[key]: Digests(note=is_current, gate=key)
            for is_current, keys in rows
            for key in map(int, keys.split(","))
            if key in owners
        }
        stale: list[StaleGate] = []
        fresh: list[Gate] = []
        for gate in scope.gates_of_kind(kind):
            now = Digests(note=True, gate=current.get(scope.path_ids.get(gate.path, 0)))
            if reasons := staleness_reasons(current=now, accepted=baselines.get(gate.path)):
                stale.append(StaleGate(gate, reasons))
            else:
                fresh.append(gate)
        return tuple(stale), tuple(fresh)

    for note in scope.notes:
        note_id = scope.path_ids.get(note.path, 0)
        rows = accepted.get(note_id, ())
        text = current.get(note_id)
        stale, fresh = compare(
            note.kind, tuple((snapshot_id == text, keys) for snapshot_id, keys in rows)
        )
        yield NoteStaleness(note, stale, fresh, untouched=not rows)


def _without_outdated(scope: Scope, items: Iterable[NoteStaleness]) -> Iterator[NoteStaleness]:
    """Move the outdated pairs of the notes to the stale ones: a review of today is missing."""
    ids, outdated = scope.path_ids, scope.outdated
    touched = {note_id for note_id, _gate_id in outdated}
    for item in items:
        note_id = ids.get(item.note.path)
        if note_id not in touched:
            yield item
            continue
        moved = [gate for gate in item.fresh if (note_id, ids.get(gate.path)) in outdated]
        found = [*item.stale, *(StaleGate(gate, (Staleness.MISSING_REVIEW,)) for gate in moved)]
        stale = tuple(sorted(found, key=lambda stale: stale.gate.path))
        yield replace(item, stale=stale, fresh=tuple(it for it in item.fresh if it not in moved))


def only_flagged(
    items: Iterable[NoteStaleness], *, by: str, left_out: Counter[str]
) -> Iterator[NoteStaleness]:
    """Keep gates whose current acceptance in `by` warns or fails; count the others."""
    flagged = set(
        CurrentAcceptance.objects.queued().of_partition(by).values_list("note__path", "gate__path")
    )
    for item in items:
        path = item.note.path
        stale = tuple(found for found in item.stale if (path, found.gate.path) in flagged)
        fresh = tuple(gate for gate in item.fresh if (path, gate.path) in flagged)
        if number := len(item.stale) - len(stale):
            left_out["not-flagged"] += number
        yield replace(item, stale=stale, fresh=fresh)


def to_repeat(
    items: Iterable[NoteStaleness],
    *,
    partition: str | None,
    limit: int | None,
    left_out: Counter[str],
) -> Iterator[NoteStaleness]:
    """Keep the fresh pairs that were reviewed once on the texts as they are.

    :param limit: a sample of so many: always the same, and spread over notes and gates.
    :param left_out: gets the number of other pairs as `not-repeatable`.
    """
    once, listed = _reviewed_once(partition), list(items)
    pairs = [
        (item.note.path, gate.path)
        for item in listed
        for gate in item.fresh
        if (item.note.path, item.note.sha256, gate.path, gate.sha256) in once
    ]
    if number := sum(len(item.stale) + len(item.fresh) for item in listed) - len(pairs):
        left_out["not-repeatable"] += number
    chosen = set(sorted(pairs, key=lambda pair: sha256_hex("\n".join(pair).encode()))[:limit])
    for item in listed:
        gates = tuple(gate for gate in item.fresh if (item.note.path, gate.path) in chosen)
        if gates:
            yield replace(item, stale=(), fresh=gates)


def _reviewed_once(partition: str | None) -> set[tuple[str, ...]]:
    rows = ReviewPair.objects.completed().filter(job__model_partition__name=partition)
    note = ("note__path", "note_snapshot__content_sha256")
    texts = rows.values_list(*note, "gate__path", "gate_snapshot__content_sha256")
    return {row[:4] for row in texts.annotate(n=Count("pk")).filter(n=1).order_by()}


def file_now(corpus: Corpus, path: str) -> NoteText | Gate | None:
    """Read the note or gate at `path`; None when it is gone or cannot be used."""
    is_gate = path.startswith(f"{corpus.gates.folder}/")
    try:
        return corpus.gate(path) if is_gate else corpus.read_note(path)
    except UnreadableFile:
        return None


class ChangeReader:
    """Measures the changes of notes as gates see them, each text read once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._before: dict[int, Regions] = {}
        self._after = lru_cache(maxsize=64)(self._regions_now)

    def load(self, snapshot_ids: Iterable[int]) -> None:
        rows = FileSnapshot.objects.filter(pk__in=set(snapshot_ids)).values_list("pk", "text")
        self._before = {key: regions_of(text) for key, text in rows}

    def change(self, note_path: str, gate: Gate, *, since: int) -> ChangeJson | None:
        """Measure the note's change since a loaded snapshot; None when the note is gone."""
        before, after = self._before.get(since), self._after(note_path)
        if before is None or after is None:
            return None
        change = as_gate_sees(
            before, after, watches=gate.watches, rewrite_threshold=gate.rewrite_threshold
        )
        watched = [region.value for region in change.watched]
        return ChangeJson(watched, round(change.body_ratio, 4), change.trivial)

    def _regions_now(self, note_path: str) -> Regions | None:
        now = file_now(self._corpus, note_path)
        return regions_of(now.text) if now else None
