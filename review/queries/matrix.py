"""Notes against gates in one model partition: folders rolled up, a hundred rows at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from review.models import Acceptance, CurrentAcceptance, KbPath, ModelPartition
from review.queries.base_map import (
    FAILING,
    NOT_FRESH,
    WORDS,
    BaseMap,
    Column,
    Folder,
    has_any,
)
from review.queries.freshness import in_flight
from review.vocabulary import QUEUED_DECISIONS

ROWS_A_PAGE = 100
_WITH_NEXT = ROWS_A_PAGE + 1  # one more says that there is another page
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

    :param folder: notes below it; "" is all.
    :param lenses: gates of these; none is all.
    :param unfolded: every note below the folder instead of its subfolders.
    :param after: the note path that the page starts after, or that of a folder, with a slash behind.
    """

    partition: str
    mode: Mode = Mode.ALL
    folder: str = ""
    lenses: tuple[str, ...] = ()
    unfolded: bool = False
    after: str = ""


@dataclass(frozen=True)
class MatrixRow:
    """One note.

    :param letters: one a column shown.
    :param jobs: place of a column to the open job that will answer it.
    :param reviews: place of a column to the review that warns or fails.
    :param disputed: a mask of the columns that another partition decided otherwise.
    """

    note_path: str
    letters: bytes
    jobs: Mapping[int, int]
    reviews: Mapping[int, int]
    disputed: bytes

    def states(self) -> list[str | None]:
        """A word a column."""
        return [
            RUNNING if place in self.jobs else WORDS.get(letter)
            for place, letter in enumerate(self.letters)
        ]


@dataclass(frozen=True)
class Matrix:
    """A page of the matrix: a hundred folders and notes; `places` are those of columns in the map."""

    request: MatrixRequest
    columns: tuple[Column, ...]
    places: tuple[int, ...]
    lenses: Mapping[str, int]
    folders: tuple[Folder, ...]
    rows: tuple[MatrixRow, ...]
    has_more: bool
    counts: Mapping[str, int]
    notes_below: int

    @property
    def last(self) -> str:
        """What the next page starts after; "" where nothing is shown."""
        if self.rows:
            return self.rows[-1].note_path
        return f"{self.folders[-1].path}/" if self.folders else ""


def last_partition() -> str:
    """The partition that accepted something last; "" when none ever did."""
    found = Acceptance.objects.order_by("-pk").values_list("model_partition__name", flat=True)
    return found.first() or ""


def read_matrix(base: BaseMap, request: MatrixRequest) -> Matrix:
    """The page of the matrix that is asked for, out of the map."""
    places = tuple(
        place
        for place, column in enumerate(base.columns)
        if not request.lenses or column.lens in request.lenses
    )
    span = base.span(request.folder)
    top = _where_it_branches(base, request.folder)
    unfolded = request.unfolded or len(span) <= ROWS_A_PAGE
    folders = [] if unfolded else list(islice(_folders(base, request, places, top), _WITH_NEXT))
    direct = span if unfolded else base.branch(top).places
    room = ROWS_A_PAGE - len(folders)
    chosen = list(islice(_chosen(base, request, places, direct), max(0, room + 1)))
    return Matrix(
        request=request,
        columns=tuple(base.columns[place] for place in places),
        places=places,
        lenses=Counter(column.lens for column in base.columns),
        folders=tuple(folders[:ROWS_A_PAGE]),
        rows=tuple(_rows(base, request, places, chosen[: max(0, room)])),
        has_more=len(chosen) > room,
        counts=_counts(base.folder(request.partition, request.folder), places),
        notes_below=len(span),
    )


def _counts(folder: Folder, places: Iterable[int]) -> dict[str, int]:
    found: Counter[int] = Counter()
    for place in places if folder.columns else ():
        found.update(folder.columns[place])
    return {word: found[letter] for letter, word in WORDS.items()}


def _where_it_branches(base: BaseMap, folder: str) -> str:
    """The folder, or the first below it that holds more than one other folder: a single row tells nothing."""
    while len((inner := base.branch(folder)).subfolders) == 1 and not inner.places:
        folder = inner.subfolders[0]
    return folder


def _folders(
    base: BaseMap, request: MatrixRequest, places: Sequence[int], top: str
) -> Iterator[Folder]:
    """Folders with a cell of the mode that come after the last one seen; columns that are shown."""
    names = base.branch(top).subfolders
    if request.after:
        seen = request.after.endswith("/")
        names = names[bisect_right(names, request.after[:-1]) :] if seen else ()
    for path in names:
        whole = base.folder(request.partition, path)
        columns = tuple(whole.columns[place] for place in places)
        if request.mode is Mode.DISAGREE:
            span = base.span(path)
            fits = any(place in base.disputed for place in span)
        else:
            fits = _fits(bytes({letter for column in columns for letter in column}), request.mode)
        if fits:
            yield Folder(path, whole.notes, columns)


def _fits(letters: bytes, mode: Mode) -> bool:
    if mode is Mode.NOT_FRESH:
        return has_any(letters, NOT_FRESH)
    return mode is not Mode.FAILING or has_any(letters, FAILING)


def _chosen(
    base: BaseMap, request: MatrixRequest, places: Sequence[int], among: Sequence[int]
) -> Iterator[int]:
    """The places of notes with a cell of the mode that come after the last one seen."""
    # A place among the folders is before all notes.
    after = "" if request.after.endswith("/") else request.after
    start = bisect_right(among, after, key=lambda place: base.notes[place].path)
    if request.mode is Mode.ALL:
        yield from islice(among, start, None)
    elif request.mode is Mode.DISAGREE:
        for place in islice(among, start, None):
            mask = base.disputed.get(place)
            if mask is not None and any(mask[column] for column in places):
                yield place
    else:
        yield from _with_cells(base, request, places, islice(among, start, None))


def _with_cells(
    base: BaseMap, request: MatrixRequest, places: Sequence[int], among: Iterable[int]
) -> Iterator[int]:
    """Those with a cell of the mode; many notes have the same letters, which are looked at once."""
    cells, width = base.cells(request.partition), len(base.columns)
    known: dict[bytes, bool] = {}
    for place in among:
        letters = cells[place * width : (place + 1) * width]
        fits = known.get(letters)
        if fits is None:
            shown = bytes(letters[column] for column in places)
            fits = known[letters] = _fits(shown, request.mode)
        if fits:
            yield place


def _rows(
    base: BaseMap, request: MatrixRequest, places: Sequence[int], chosen: Sequence[int]
) -> Iterator[MatrixRow]:
    columns = {base.columns[place].gate_path: at for at, place in enumerate(places)}
    notes = [base.notes[place] for place in chosen]
    note_ids = list(KbPath.objects.ids([note.path for note in notes]).values()) if notes else []
    jobs = in_flight(request.partition, note_paths=[note.path for note in notes])
    queued: dict[str, dict[int, int]] = {}
    for (note_path, gate_path), job_id in jobs.items():
        if gate_path in columns:
            queued.setdefault(note_path, {})[columns[gate_path]] = job_id
    reviews = _reviews(request.partition, note_ids, columns) if note_ids else {}
    for note, at in zip(notes, chosen, strict=True):
        letters = base.of(request.partition, note)
        disputed = base.disagree(at)
        yield MatrixRow(
            note_path=note.path,
            letters=bytes(letters[place] for place in places),
            jobs=queued.get(note.path, {}),
            reviews=reviews.get(note.path, {}),
            disputed=bytes(disputed[place] for place in places),
        )


def _reviews(
    partition: str, note_ids: Sequence[int], columns: Mapping[str, int]
) -> dict[str, dict[int, int]]:
    """Reviews that warn or fail, by note and place."""
    key = ModelPartition.objects.filter(name=partition).values_list("pk", flat=True).first()
    rows = CurrentAcceptance.objects.filter(
        model_partition_id=key, note_id__in=note_ids, decision__in=QUEUED_DECISIONS
    )
    found: dict[str, dict[int, int]] = {}
    names = ("note__path", "gate__path", "event__review_pair_id")
    for note_path, gate_path, pair_id in rows.values_list(*names):
        if pair_id is not None and gate_path in columns:
            found.setdefault(note_path, {})[columns[gate_path]] = pair_id
    return found


def not_fresh_cells(
    base: BaseMap, partition: str, *, note_paths: Iterable[str], gate_ids: Iterable[str]
) -> Iterator[tuple[str, str]]:
    """`(note path, gate id)` of the cells of these rows and columns that are not fresh now."""
    wanted = set(gate_ids)
    for path in note_paths:
        at = base.place_of(path)
        if at is None:
            continue
        letters = base.of(partition, base.notes[at])
        for column, letter in zip(base.columns, letters, strict=True):
            if column.gate_id in wanted and letter in NOT_FRESH:
                yield path, column.gate_id
