"""Pages of the matrix, put together: what looking at every note and folder would give."""

from __future__ import annotations

import pytest

from review.overview.matrix import ROWS_A_PAGE, MatrixRequest, Mode, read_matrix
from review.reviews.pair_states import BEST, FAILING, STALE, STATES, PairStates
from tests.helpers.maps import random_states

pytestmark = pytest.mark.django_db
# More folders than a page has rows, the last of which begins as the next one does, and notes whose names
# sort among those of the folders.
MANY = (
    "kb/notes",
    "kb/notes/m",
    *(f"kb/notes/n{number:03}{more}" for number in range(65) for more in ("", "-x")),
)


def below(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")


def fits(base: PairStates, note, request: MatrixRequest, places: list[int]) -> bool:
    if request.mode is Mode.DISAGREE:
        return bool(base.disputed.get(note.path, set()) & set(places))
    row = base.row(request.partition, note)
    wanted = {Mode.NOT_FRESH: STALE, Mode.FAILING: FAILING}.get(request.mode)
    return wanted is None or any(row[place] in wanted for place in places)


def top_of(base: PairStates, folder: str) -> str:
    """The folder, or the first below it with notes of its own or several folders."""
    while True:
        notes = [note.path for note in base.notes if below(note.path, folder)]
        rests = [path[len(folder) :].lstrip("/") for path in notes]
        names = {rest.partition("/")[0] for rest in rests if "/" in rest}
        if len(names) != 1 or any("/" not in rest for rest in rests):
            return folder
        folder = f"{folder}/{names.pop()}".lstrip("/")


def expected(base: PairStates, request: MatrixRequest) -> tuple[list[str], list[str]]:
    """Paths of the folders and of the notes, on all pages together."""
    places = [
        place
        for place, gate in enumerate(base.gates)
        if not request.lenses or gate.lens in request.lenses
    ]
    notes = [note for note in base.notes if below(note.path, request.folder)]
    if request.unfolded or len(notes) <= ROWS_A_PAGE:
        return [], [note.path for note in notes if fits(base, note, request, places)]
    top = top_of(base, request.folder)
    start = len(top) + 1 if top else 0
    inner = sorted(
        {
            f"{note.path[: note.path.index('/', start)]}"
            for note in notes
            if "/" in note.path[start:]
        }
    )
    folders = [
        folder
        for folder in inner
        if any(fits(base, note, request, places) for note in notes if below(note.path, folder))
    ]
    own = [note for note in notes if "/" not in note.path[start:]]
    return folders, [note.path for note in own if fits(base, note, request, places)]


def pages(base: PairStates, **query) -> tuple[list[str], list[str]]:
    """The same, page after page."""
    folders, notes, after = [], [], ""
    while True:
        shown = read_matrix(base, MatrixRequest(after=after, **query))
        folders += [folder.path for folder in shown.folders]
        notes += [row.note_path for row in shown.rows]
        assert len(shown.folders) + len(shown.rows) <= ROWS_A_PAGE
        if not shown.has_more:
            return folders, notes
        assert len(shown.folders) + len(shown.rows) == ROWS_A_PAGE
        after = shown.last


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("lenses", [(), ("style",)], ids=["all lenses", "one lens"])
@pytest.mark.parametrize("unfolded", [False, True], ids=["folded", "unfolded"])
@pytest.mark.parametrize(
    ("folders", "folder"),
    [
        pytest.param(None, "", id="few folders"),
        pytest.param(None, "kb/notes/a", id="a folder in a folder"),
        pytest.param(MANY, "kb", id="many folders"),
        pytest.param(MANY, "kb/notes/n007", id="one of many"),
        pytest.param(MANY, "kb/nowhere", id="none"),
    ],
)
def test_pages_together_are_all(mode, lenses, unfolded, folders, folder):
    more = {"folders": folders, "notes": 2000} if folders else {}
    base = random_states(11, **more)
    query = {"partition": "p1", "mode": mode, "lenses": lenses, "folder": folder}
    request = MatrixRequest(unfolded=unfolded, **query)

    assert pages(base, unfolded=unfolded, **query) == expected(base, request)


@pytest.mark.parametrize("partition", ["p0", "nobody", BEST])
@pytest.mark.parametrize("folder", ["", "kb/notes", "kb/notes/a", "kb/nowhere"])
def test_counts_are_those_of_all_notes_below(partition, folder):
    base = random_states(5)

    shown = read_matrix(base, MatrixRequest(partition=partition, folder=folder))

    notes = [note for note in base.notes if below(note.path, folder)]
    cells = [state for note in notes for state in base.row(partition, note)]
    assert shown.counts == {state: cells.count(state) for state in STATES}
    assert shown.notes_below == len(notes)
    for inner in shown.folders:
        rows = [base.row(partition, note) for note in notes if below(note.path, inner.path)]
        assert inner.notes == len(rows)
        assert inner.total.total() == sum(state != "" for row in rows for state in row)
