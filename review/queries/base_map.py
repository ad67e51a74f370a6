"""The whole base at a glance: one letter for every note and gate, in every model partition."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from review.corpus import Corpus, Gate, NoteFacts
from review.domain.applicability import NoteKind
from review.domain.problems import Problem
from review.models import CurrentAcceptance, ModelPartition
from review.queries.freshness import NoteStaleness, Scope, partition_staleness
from review.queries.map_layout import Branch, Groups, branches, grouped
from review.vocabulary import Decision, Staleness

NOT_ASKED, FRESH, WARN, FAIL, NOTE_CHANGED, GATE_CHANGED, MISSING = b".+wfngm"
# What each letter is called, in filters and documents.
WORDS = {
    FRESH: "fresh",
    WARN: "warn",
    FAIL: "fail",
    NOTE_CHANGED: Staleness.NOTE_CHANGED.value,
    GATE_CHANGED: Staleness.GATE_CHANGED.value,
    MISSING: Staleness.MISSING_REVIEW.value,
}
NOT_FRESH = bytes((NOTE_CHANGED, GATE_CHANGED, MISSING))
FAILING = bytes((WARN, FAIL))
_FAILING = re.compile(b"[wf]")
_NOTHING = Branch()
_GROUPS_KEPT = 8
_OF_DECISION = {Decision.WARN: WARN, Decision.FAIL: FAIL}
_OF_REASON = {
    Staleness.NOTE_CHANGED: NOTE_CHANGED,
    Staleness.GATE_CHANGED: GATE_CHANGED,
    Staleness.MISSING_REVIEW: MISSING,
}


@dataclass(frozen=True)
class Column:
    """A gate of the map."""

    gate_id: str
    gate_path: str
    lens: str


@dataclass(frozen=True)
class Folder:
    """Notes below one folder: how many, and letters counted for each column."""

    path: str
    notes: int
    columns: tuple[Mapping[int, int], ...]

    @property
    def total(self) -> Counter[int]:
        """Letters counted over all columns."""
        found: Counter[int] = Counter()
        for column in self.columns:
            found.update(column)
        return found


@dataclass(frozen=True)
class BaseMap:
    """Letters by partition and note; `notes` and `columns` are sorted by path.

    A letter string has one byte a column, in the order of the columns. `missing` are the letters of
    a partition that has nothing.
    """

    notes: tuple[NoteFacts, ...]
    columns: tuple[Column, ...]
    letters: Mapping[str, Mapping[str, bytes]]
    missing: Mapping[NoteKind, bytes]
    problems: tuple[Problem, ...] = ()
    _cells: dict[str, bytes] = field(default_factory=dict, repr=False)
    _folders: dict[tuple[str, str], Folder] = field(default_factory=dict, repr=False)
    _groups: dict[tuple[str, ...], Groups] = field(default_factory=dict, repr=False)

    @property
    def partitions(self) -> tuple[str, ...]:
        """Partitions that have accepted something, sorted."""
        return tuple(self.letters)

    def of(self, partition: str, note: NoteFacts) -> bytes:
        """The letters of a note; in a partition that has nothing, all that is asked is missing."""
        letters = self.letters.get(partition)
        return letters[note.path] if letters else self.missing[note.kind]

    def cells(self, partition: str) -> bytes:
        """The letters of all notes, one after the other; remembered with the map."""
        known = partition if self.letters.get(partition) else ""
        if known not in self._cells:
            self._cells[known] = b"".join([self.of(known, note) for note in self.notes])
        return self._cells[known]

    def span(self, folder: str) -> range:
        """The places of the notes below a folder; "" is all."""
        if not folder:
            return range(len(self.notes))
        # Paths that begin alike stand together: "/" is followed by "0".
        start = bisect_left(self.notes, f"{folder}/", key=_path)
        return range(start, bisect_left(self.notes, f"{folder}0", lo=start, key=_path))

    def branch(self, folder: str) -> Branch:
        """What is directly in a folder."""
        return self._branches.get(folder, _NOTHING)

    def place_of(self, note_path: str) -> int | None:
        """The place of a note; None where there is none of that path."""
        place = bisect_left(self.notes, note_path, key=_path)
        is_there = place < len(self.notes) and self.notes[place].path == note_path
        return place if is_there else None

    def folder(self, partition: str, path: str) -> Folder:
        """Letters below a folder, counted; remembered with the map."""
        known = partition if self.letters.get(partition) else ""
        found = self._folders.get((known, path))
        if found is None:
            span, width = self.span(path), len(self.columns)
            cells = self.cells(known)[span.start * width : span.stop * width]
            columns = tuple(_counted(cells[place::width]) for place in range(width))
            found = Folder(path, len(span), columns)
            if path in self._branches:
                self._folders[known, path] = found
        return found

    def disagree(self, place: int) -> bytes:
        """A mask of the columns of a note that one partition passes, freshly, and another does not."""
        note, width = self.notes[place], len(self.columns)
        rows = [letters[note.path] for letters in self.letters.values()]
        if len(rows) < 2 or not any(has_any(row, FAILING) for row in rows):
            return bytes(width)
        return bytes(
            FRESH in column and (WARN in column or FAIL in column)
            for column in zip(*rows, strict=True)
        )

    @cached_property
    def disputed(self) -> Mapping[int, bytes]:
        """The masks of the notes that partitions disagree about, by place, in rising order."""
        width = len(self.columns)
        failing = {
            found.start() // width
            for partition in self.partitions
            for found in _FAILING.finditer(self.cells(partition))
        }
        masks = {place: self.disagree(place) for place in sorted(failing)}
        return {place: mask for place, mask in masks.items() if any(mask)}

    @cached_property
    def _branches(self) -> Mapping[str, Branch]:
        return branches([note.path for note in self.notes])

    def groups(self, partitions: tuple[str, ...]) -> Groups:
        """The notes by what they have in common in these partitions; remembered with the map."""
        known = tuple(sorted({name if self.letters.get(name) else "" for name in partitions}))
        if known not in self._groups:
            if len(self._groups) >= _GROUPS_KEPT:
                self._groups.clear()
            rows = [[self.of(name, note) for note in self.notes] for name in known]
            self._groups[known] = grouped(self.notes, rows)
        return self._groups[known]

    @cached_property
    def lowered(self) -> Sequence[str]:
        """The paths of the notes in lower case."""
        return [note.path.lower() for note in self.notes]

    def prepared(self) -> BaseMap:
        """The map with what pages would find out first, so that none of them waits for it."""
        self.branch("")
        self.groups(self.partitions)
        for partition in self.partitions:
            self.folder(partition, "")
        return self


def read_base_map(corpus: Corpus) -> BaseMap:
    """Look at every note, gate and partition; the cost grows with the base."""
    listed, catalog = corpus.notes(), corpus.gates
    scope = Scope(notes=listed.notes, gates=catalog.gates)
    queued = _queued(scope)
    return BaseMap(
        notes=tuple(scope.notes),
        columns=tuple(Column(gate.gate_id, gate.path, gate.lens) for gate in scope.gates),
        letters={
            name: _letters(scope, name, queued.get(key, {})) for key, name in _partitions().items()
        },
        missing=_missing(scope),
        problems=(*listed.problems, *catalog.problems),
    )


def has_any(letters: bytes, wanted: Iterable[int]) -> bool:
    """Whether one of the letters wanted is among those of a note."""
    return any(letter in letters for letter in wanted)


def _path(note: NoteFacts) -> str:
    return note.path


def _counted(column: bytes) -> dict[int, int]:
    return {letter: number for letter in WORDS if (number := column.count(letter))}


def _partitions() -> dict[int, str]:
    return {
        key: name
        for key, name in ModelPartition.objects.order_by("name").values_list("pk", "name")
        if CurrentAcceptance.objects.filter(model_partition_id=key).exists()
    }


def _queued(scope: Scope) -> dict[int, dict[str, dict[str, int]]]:
    """Letters of accepted warns and fails, by the key of the partition, note and gate path."""
    paths = {key: path for path, key in scope.path_ids.items()}
    rows = CurrentAcceptance.objects.queued().values_list(
        "model_partition_id", "note_id", "gate_id", "decision"
    )
    found: dict[int, dict[str, dict[str, int]]] = {}
    for partition_id, note_id, gate_id, decision in rows.iterator(chunk_size=5000):
        if note_id in paths and gate_id in paths:
            gates = found.setdefault(partition_id, {}).setdefault(paths[note_id], {})
            gates[paths[gate_id]] = _OF_DECISION[Decision(decision)]
    return found


def _letters(
    scope: Scope, partition: str, queued: Mapping[str, Mapping[str, int]]
) -> dict[str, bytes]:
    places = {gate.path: place for place, gate in enumerate(scope.gates)}
    blank = bytes((NOT_ASKED,)) * len(places)
    whole: dict[NoteKind, bytes] = {}  # of notes that are fresh all over: a healthy base has few
    found: dict[str, bytes] = {}
    missing = _missing(scope)
    for item in partition_staleness(scope, model_partition=partition):
        if item.untouched:
            found[item.note.path] = missing[item.note.kind]
            continue
        letters = whole.get(item.note.kind) if not item.stale else None
        if letters is None:
            letters = _marked(blank, item.fresh, places)
        if not item.stale:
            whole[item.note.kind] = letters
        changes = dict(_changes(item, queued.get(item.note.path, {}), places))
        found[item.note.path] = _changed(letters, changes) if changes else letters
    return found


def _missing(scope: Scope) -> dict[NoteKind, bytes]:
    places = {gate.path: place for place, gate in enumerate(scope.gates)}
    blank = bytes((NOT_ASKED,)) * len(places)
    kinds = {note.kind: note for note in scope.notes}
    return {
        kind: _changed(blank, {places[gate.path]: MISSING for gate in scope.gates_of(note)})
        for kind, note in kinds.items()
    }


def _marked(blank: bytes, fresh: Iterable[Gate], places: Mapping[str, int]) -> bytes:
    letters = bytearray(blank)
    for gate in fresh:
        letters[places[gate.path]] = FRESH
    return bytes(letters)


def _changes(
    item: NoteStaleness, queued: Mapping[str, int], places: Mapping[str, int]
) -> Iterator[tuple[int, int]]:
    for stale in item.stale:
        yield places[stale.gate.path], _OF_REASON[stale.reasons[0]]
    if queued:
        for gate in item.fresh:
            if gate.path in queued:
                yield places[gate.path], queued[gate.path]


def _changed(letters: bytes, changes: Mapping[int, int]) -> bytes:
    row = bytearray(letters)
    for place, letter in changes.items():
        row[place] = letter
    return bytes(row)
