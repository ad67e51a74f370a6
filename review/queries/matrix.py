"""Notes against gates in one model partition: folders rolled up, a hundred notes at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from review.corpus import NoteFacts
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

NOTES_A_PAGE = 100
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
    :param after: the note path that the page starts after.
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
    """A page of the matrix; `places` are those of the columns in the whole map."""

    request: MatrixRequest
    columns: tuple[Column, ...]
    places: tuple[int, ...]
    lenses: Mapping[str, int]
    folders: tuple[Folder, ...]
    rows: tuple[MatrixRow, ...]
    has_more: bool
    counts: Mapping[str, int]
    notes_below: int


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
    below = base.below(request.folder)
    top = _where_it_branches(base, request.folder)
    unfolded = request.unfolded or len(below) <= NOTES_A_PAGE
    folders = [] if unfolded or request.after else list(_folders(base, request, places, top))
    chosen = _chosen(base, request, places, below if unfolded else _direct(below, top))
    shown = chosen[:NOTES_A_PAGE]
    return Matrix(
        request=request,
        columns=tuple(base.columns[place] for place in places),
        places=places,
        lenses=Counter(column.lens for column in base.columns),
        folders=tuple(folders),
        rows=tuple(_rows(base, request, places, shown)),
        has_more=len(chosen) > NOTES_A_PAGE,
        counts=_counts(base.folder(request.partition, request.folder), places),
        notes_below=len(below),
    )


def _counts(folder: Folder, places: Iterable[int]) -> dict[str, int]:
    found: Counter[int] = Counter()
    for place in places if folder.columns else ():
        found.update(folder.columns[place])
    return {word: found[letter] for letter, word in WORDS.items()}


def _where_it_branches(base: BaseMap, folder: str) -> str:
    """The folder, or the first below it that holds more than one other folder: a single row tells nothing."""
    while len(inner := base.subfolders(folder)) == 1:
        if len(base.below(inner[0])) < len(base.below(folder)):
            break
        folder = inner[0]
    return folder


def _folders(
    base: BaseMap, request: MatrixRequest, places: Sequence[int], top: str
) -> Iterator[Folder]:
    """Folders with a cell of the mode, with the columns that are shown."""
    for path in base.subfolders(top):
        whole = base.folder(request.partition, path)
        columns = tuple(whole.columns[place] for place in places)
        letters = bytes({letter for column in columns for letter in column})
        if request.mode is Mode.DISAGREE:
            fits = any(any(base.disagree(note.path)) for note in base.below(path))
        else:
            fits = _fits(letters, request.mode)
        if fits:
            yield Folder(path, whole.notes, columns)


def _fits(letters: bytes, mode: Mode) -> bool:
    if mode is Mode.NOT_FRESH:
        return has_any(letters, NOT_FRESH)
    return mode is not Mode.FAILING or has_any(letters, FAILING)


def _direct(notes: Sequence[NoteFacts], folder: str) -> list[NoteFacts]:
    """Notes that stand in the folder itself."""
    start = len(folder) + 1 if folder else 0
    return [note for note in notes if "/" not in note.path[start:]]


def _chosen(
    base: BaseMap, request: MatrixRequest, places: Sequence[int], notes: Sequence[NoteFacts]
) -> list[NoteFacts]:
    """The notes of the page, and one more if there is."""
    start = bisect_right(notes, request.after, key=lambda note: note.path)
    found: list[NoteFacts] = []
    for note in notes[start:]:
        if _is_wanted(base, request, places, note):
            found.append(note)
            if len(found) > NOTES_A_PAGE:
                break
    return found


def _is_wanted(
    base: BaseMap, request: MatrixRequest, places: Sequence[int], note: NoteFacts
) -> bool:
    if request.mode is Mode.ALL:
        return True
    if request.mode is Mode.DISAGREE:
        return any(base.disagree(note.path)[place] for place in places)
    letters = base.of(request.partition, note)
    shown = letters if len(places) == len(letters) else bytes(letters[place] for place in places)
    return _fits(shown, request.mode)


def _rows(
    base: BaseMap, request: MatrixRequest, places: Sequence[int], notes: Sequence[NoteFacts]
) -> Iterator[MatrixRow]:
    columns = {base.columns[place].gate_path: at for at, place in enumerate(places)}
    jobs = in_flight(request.partition) if request.partition else {}
    queued: dict[str, dict[int, int]] = {}
    for (note_path, gate_path), job_id in jobs.items():
        if gate_path in columns:
            queued.setdefault(note_path, {})[columns[gate_path]] = job_id
    reviews = _reviews(request.partition, [note.path for note in notes], columns)
    for note in notes:
        letters = base.of(request.partition, note)
        disputed = base.disagree(note.path)
        yield MatrixRow(
            note_path=note.path,
            letters=bytes(letters[place] for place in places),
            jobs=queued.get(note.path, {}),
            reviews=reviews.get(note.path, {}),
            disputed=bytes(disputed[place] for place in places),
        )


def _reviews(
    partition: str, note_paths: Sequence[str], columns: Mapping[str, int]
) -> dict[str, dict[int, int]]:
    """Reviews that warn or fail, by note and place."""
    key = ModelPartition.objects.filter(name=partition).values_list("pk", flat=True).first()
    ids = KbPath.objects.ids(note_paths) if key is not None else {}
    rows = CurrentAcceptance.objects.filter(
        model_partition_id=key, note_id__in=list(ids.values()), decision__in=QUEUED_DECISIONS
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
    notes = {note.path: note for note in base.notes}
    wanted = set(gate_ids)
    for path in note_paths:
        if path not in notes:
            continue
        letters = base.of(partition, notes[path])
        for column, letter in zip(base.columns, letters, strict=True):
            if column.gate_id in wanted and letter in NOT_FRESH:
                yield path, column.gate_id
