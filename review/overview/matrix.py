"""Notes against gates, in one model partition or the best of all: folders first, a hundred rows a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from os.path import commonpath

from review.knowledge_base import Gate, NoteFacts
from review.models import CurrentAcceptance, ReviewPair
from review.reviews.pair_states import (
    BEST,
    FAILING,
    STALE,
    STATES,
    PairStates,
    Row,
    count_states,
    is_judged_by,
)
from review.vocabulary import OPEN_JOB_STATUSES

ROWS_A_PAGE = 100
RUNNING = "running"


class Mode(StrEnum):
    """The notes to show: all, or those with a cell of some kind."""

    ALL = "all"
    NOT_FRESH = "not-fresh"
    FAILING = "failing"
    DISAGREE = "disagree"


@dataclass(frozen=True)
class MatrixRequest:
    """A request for one page of the matrix.

    :param partition: `BEST` shows the best state that any partition gives a pair.
    :param folder: notes below it; "" is all.
    :param lenses: gates of these; none is all.
    :param unfolded: every note below the folder instead of its subfolders.
    :param after: what the page starts after: a note path, or a folder's path with a slash behind.
    """

    partition: str = BEST
    mode: Mode = Mode.ALL
    folder: str = ""
    lenses: tuple[str, ...] = ()
    unfolded: bool = False
    after: str = ""


@dataclass(frozen=True)
class MatrixFolder:
    """Notes below one folder: how many, their states by column, and how many cells are disputed."""

    path: str
    notes: int
    counts: Sequence[Counter[str]]
    disputed: Counter[int]

    @property
    def total(self) -> Counter[str]:
        return sum(self.counts, Counter())


@dataclass(frozen=True)
class MatrixRow:
    """One note; keys are places of the columns that are shown.

    :param jobs: the open job that will answer a pair.
    :param reviews: the review that warns or fails.
    :param disputed: columns that one partition passes and another does not.
    """

    note_path: str
    cells: Row
    jobs: Mapping[int, int]
    reviews: Mapping[int, int]
    disputed: frozenset[int]

    def states(self) -> list[str | None]:
        return [
            RUNNING if at in self.jobs else state or None for at, state in enumerate(self.cells)
        ]


@dataclass(frozen=True)
class Matrix:
    """A page of the matrix: a hundred folders and notes."""

    request: MatrixRequest
    columns: tuple[Gate, ...]
    lenses: Mapping[str, int]
    folders: tuple[MatrixFolder, ...]
    rows: tuple[MatrixRow, ...]
    has_more: bool
    counts: Mapping[str, int]
    notes_below: int

    @property
    def last(self) -> str:
        """The cursor of the next page; "" when nothing is shown."""
        if self.rows:
            return self.rows[-1].note_path
        return f"{self.folders[-1].path}/" if self.folders else ""


def read_matrix(states: PairStates, request: MatrixRequest) -> Matrix:
    reader = _Reader(states, request)
    below = [
        note
        for note in states.notes
        if not request.folder or note.path.startswith(f"{request.folder}/")
    ]
    entries = reader.entries(below)
    shown = entries[:ROWS_A_PAGE]
    counts = sum(reader.count(below), Counter())
    return Matrix(
        request=request,
        columns=reader.columns,
        lenses=dict(Counter(gate.lens for gate in states.gates)),
        folders=tuple(reader.folder(path, notes) for path, notes in shown if path),
        rows=tuple(reader.rows([notes[0] for path, notes in shown if not path])),
        has_more=len(entries) > ROWS_A_PAGE,
        counts={state: counts[state] for state in STATES},
        notes_below=len(below),
    )


class _Reader:
    """Reads the cells of a request; columns are the gates of its lenses."""

    def __init__(self, states: PairStates, request: MatrixRequest) -> None:
        self._states, self._request = states, request
        self._places = [
            at
            for at, gate in enumerate(states.gates)
            if not request.lenses or gate.lens in request.lenses
        ]
        self.columns = tuple(states.gates[at] for at in self._places)
        self._pairs = ReviewPair.objects.filter(job__status__in=OPEN_JOB_STATUSES)
        self._failing = CurrentAcceptance.objects.queued().filter(event__review_pair__isnull=False)
        if request.partition != BEST:
            self._pairs = self._pairs.in_flight(request.partition)
            self._failing = self._failing.of_partition(request.partition)

    def entries(self, notes: Sequence[NoteFacts]) -> list[tuple[str, list[NoteFacts]]]:
        """Return folders with their notes, then the notes outside them (under ""), that the mode keeps."""
        folders: dict[str, list[NoteFacts]] = {}
        direct = []
        unfolded = self._request.unfolded or len(notes) <= ROWS_A_PAGE
        # A folder that holds nothing but another one is passed over.
        top = "" if unfolded else commonpath([note.path.rpartition("/")[0] for note in notes])
        for note in notes:
            folder, slash, _name = note.path[len(top) :].lstrip("/").partition("/")
            if unfolded or not slash:
                direct.append(("", [note]))
            else:
                folders.setdefault(f"{top}/{folder}".lstrip("/"), []).append(note)
        after = self._request.after
        if not after.endswith("/") and after:
            kept = [entry for entry in direct if entry[1][0].path > after]
        else:
            kept = [entry for entry in sorted(folders.items()) if entry[0] > after[:-1]] + direct
        return [entry for entry in kept if any(map(self._fits, entry[1]))]

    def _fits(self, note: NoteFacts) -> bool:
        mode = self._request.mode
        if mode is Mode.DISAGREE:
            return bool(self._disputed(note))
        wanted = {Mode.NOT_FRESH: STALE, Mode.FAILING: FAILING}.get(mode)
        return wanted is None or not wanted.isdisjoint(self._cells(note))

    def _cells(self, note: NoteFacts) -> Row:
        row = self._states.row(self._request.partition, note)
        return tuple(row[at] for at in self._places)

    def count(self, notes: Iterable[NoteFacts]) -> list[Counter[str]]:
        return count_states(map(self._cells, notes), width=len(self._places))

    def folder(self, path: str, notes: Sequence[NoteFacts]) -> MatrixFolder:
        disputed = Counter(at for note in notes for at in self._disputed(note))
        return MatrixFolder(path, len(notes), self.count(notes), disputed)

    def _disputed(self, note: NoteFacts) -> frozenset[int]:
        places = self._states.disputed.get(note.path, ())
        return frozenset(at for at, place in enumerate(self._places) if place in places)

    def rows(self, notes: Sequence[NoteFacts]) -> Iterator[MatrixRow]:
        paths = [note.path for note in notes]
        columns = {gate.path: at for at, gate in enumerate(self.columns)}
        names = ("note__path", "gate__path")
        jobs = self._pairs.filter(note__path__in=paths).order_by("job_id")
        open_jobs = _by_note(jobs.values_list(*names, "job_id"), columns)
        # Last, and so kept: warns, which are what is shown of a pair that another model fails.
        failing = self._failing.filter(note__path__in=paths).order_by("decision", "pk")
        reviews = _by_note(failing.values_list(*names, "event__review_pair_id"), columns)
        is_best = self._request.partition == BEST
        for note in notes:
            cells = self._cells(note)
            yield MatrixRow(
                note_path=note.path,
                cells=cells,
                jobs={
                    at: job
                    for at, job in open_jobs.get(note.path, {}).items()
                    if not is_best or cells[at] in STALE
                },
                reviews=reviews.get(note.path, {}),
                disputed=self._disputed(note),
            )


def _by_note(
    rows: Iterable[tuple[str, str, int]], columns: Mapping[str, int]
) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for note_path, gate_path, key in rows:
        if gate_path in columns:
            found.setdefault(note_path, {})[columns[gate_path]] = key
    return found


def stale_cells(
    states: PairStates,
    partition: str,
    *,
    shown: str,
    note_paths: Iterable[str],
    gate_ids: Iterable[str],
) -> Iterator[tuple[str, str]]:
    """`(note path, gate id)` of the stale cells of these rows and columns that a partition can judge.

    :param shown: the partition, or `BEST`, whose states the page shows.
    """
    paths, wanted = set(note_paths), set(gate_ids)
    for note in states.notes:
        if note.path not in paths:
            continue
        for gate, state in zip(states.gates, states.row(shown, note), strict=True):
            if gate.gate_id in wanted and state in STALE and is_judged_by(gate, partition):
                yield note.path, gate.gate_id
