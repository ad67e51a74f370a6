"""Notes against gates, in one model partition or the best of all: folders first, a hundred rows a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from os.path import commonpath

from review.knowledge_base import Gate, NoteFacts
from review.models import CurrentAcceptance, KbPath, ReviewPair
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
from review.vocabulary import OPEN_JOB_STATUSES, QUEUED_DECISIONS

ROWS_A_PAGE = 100
RUNNING = "running"


class Mode(StrEnum):
    """Which notes to show: all, or those with a cell of some kind."""

    ALL = "all"
    NOT_FRESH = "not-fresh"
    FAILING = "failing"
    DISAGREE = "disagree"


@dataclass(frozen=True)
class MatrixRequest:
    """What to show.

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
        """Where the next page starts; "" where nothing is shown."""
        if self.rows:
            return self.rows[-1].note_path
        return f"{self.folders[-1].path}/" if self.folders else ""


def read_matrix(states: PairStates, request: MatrixRequest) -> Matrix:
    reader = _Reader(states, request)
    below = [note for note in states.notes if _is_below(note.path, request.folder)]
    folders, direct = reader.fold(below)
    entries: list[tuple[str, list[NoteFacts]] | NoteFacts] = [*folders, *direct]
    shown = entries[:ROWS_A_PAGE]
    counts = sum(reader.count(below), Counter())
    return Matrix(
        request=request,
        columns=reader.columns,
        lenses=Counter(gate.lens for gate in states.gates),
        folders=tuple(reader.folder(*entry) for entry in shown if isinstance(entry, tuple)),
        rows=tuple(reader.rows([note for note in shown if isinstance(note, NoteFacts)])),
        has_more=len(entries) > ROWS_A_PAGE,
        counts={state: counts[state] for state in STATES},
        notes_below=len(below),
    )


class _Reader:
    """Reads what a request asks for; columns are the gates of its lenses."""

    def __init__(self, states: PairStates, request: MatrixRequest) -> None:
        self._states, self._request = states, request
        self._places = [
            at
            for at, gate in enumerate(states.gates)
            if not request.lenses or gate.lens in request.lenses
        ]
        self.columns = tuple(states.gates[at] for at in self._places)

    def fold(
        self, notes: Sequence[NoteFacts]
    ) -> tuple[list[tuple[str, list[NoteFacts]]], list[NoteFacts]]:
        """The folders and the notes outside them that the page starts with, of the mode."""
        after = self._request.after
        folders: dict[str, list[NoteFacts]] = {}
        direct = []
        unfolded = self._request.unfolded or len(notes) <= ROWS_A_PAGE
        # A folder that holds nothing but another one is passed over.
        top = "" if unfolded else commonpath([_folder_of(note.path) for note in notes])
        for note in notes:
            rest = note.path[len(top) :].lstrip("/")
            if unfolded or "/" not in rest:
                direct.append(note)
            else:
                folders.setdefault(f"{top}/{rest.partition('/')[0]}".lstrip("/"), []).append(note)
        is_among_notes = bool(after) and not after.endswith("/")
        return (
            [
                (path, folders[path])
                for path in sorted(folders)
                if not is_among_notes and path > after[:-1] and any(map(self._fits, folders[path]))
            ],
            [
                note
                for note in direct
                if (not is_among_notes or note.path > after) and self._fits(note)
            ],
        )

    def _fits(self, note: NoteFacts) -> bool:
        mode = self._request.mode
        if mode is Mode.DISAGREE:
            return not self._states.disputed.get(note.path, frozenset()).isdisjoint(self._places)
        wanted = {Mode.NOT_FRESH: STALE, Mode.FAILING: FAILING}.get(mode)
        return wanted is None or not wanted.isdisjoint(self._cells(note))

    def _cells(self, note: NoteFacts) -> Row:
        row = self._states.row(self._request.partition, note)
        return row if len(self._places) == len(row) else tuple(row[at] for at in self._places)

    def count(self, notes: Iterable[NoteFacts]) -> list[Counter[str]]:
        return count_states(map(self._cells, notes), width=len(self._places))

    def folder(self, path: str, notes: Sequence[NoteFacts]) -> MatrixFolder:
        disputed = Counter(at for note in notes for at in self._disputed(note))
        return MatrixFolder(path, len(notes), self.count(notes), disputed)

    def _disputed(self, note: NoteFacts) -> frozenset[int]:
        places = self._states.disputed.get(note.path)
        if not places:
            return frozenset()
        return frozenset(at for at, place in enumerate(self._places) if place in places)

    def rows(self, notes: Sequence[NoteFacts]) -> Iterator[MatrixRow]:
        note_ids = list(KbPath.objects.ids([note.path for note in notes]).values())
        columns = {gate.path: at for at, gate in enumerate(self.columns)}
        jobs = self._jobs(note_ids, columns)
        reviews = self._reviews(note_ids, columns)
        is_best = self._request.partition == BEST
        for note in notes:
            cells = self._cells(note)
            yield MatrixRow(
                note_path=note.path,
                cells=cells,
                jobs={
                    at: job
                    for at, job in jobs.get(note.path, {}).items()
                    if not is_best or cells[at] in STALE
                },
                reviews=reviews.get(note.path, {}),
                disputed=self._disputed(note),
            )

    def _jobs(
        self, note_ids: Sequence[int], columns: Mapping[str, int]
    ) -> dict[str, dict[int, int]]:
        pairs = ReviewPair.objects.filter(job__status__in=OPEN_JOB_STATUSES)
        if self._request.partition != BEST:
            pairs = pairs.in_flight(self._request.partition)
        rows = pairs.filter(note_id__in=note_ids).order_by("job_id")
        return _by_note(rows.values_list("note__path", "gate__path", "job_id"), columns)

    def _reviews(
        self, note_ids: Sequence[int], columns: Mapping[str, int]
    ) -> dict[str, dict[int, int]]:
        rows = CurrentAcceptance.objects.filter(
            note_id__in=note_ids, decision__in=QUEUED_DECISIONS, event__review_pair__isnull=False
        )
        if self._request.partition != BEST:
            rows = rows.of_partition(self._request.partition)
        names = ("note__path", "gate__path", "event__review_pair_id")
        # Last, and so kept: warns, which are what is shown of a pair that another model fails.
        return _by_note(rows.order_by("decision", "pk").values_list(*names), columns)


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


def _is_below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]
