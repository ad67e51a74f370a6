"""Pages of the matrix, put together: what looking at every note and folder would give."""

from __future__ import annotations

import pytest

from review.reviews.pair_states import BEST, FAILING, STALE, STATES, PairStates
from review.web.core.filters import Filters, write_place
from review.web.pages.matrix import ROWS_A_PAGE, Matrix, Mode
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


def fits(base: PairStates, note, mode: Mode, places: list[int]) -> bool:
    if mode is Mode.DISAGREE:
        return bool(base.disputed.get(note.path, set()) & set(places))
    row = base.row("p1", note)
    wanted = {Mode.NOT_FRESH: STALE, Mode.FAILING: FAILING}.get(mode)
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


def expected(
    base: PairStates, mode: Mode, lenses: tuple[str, ...], folder: str, *, unfolded: bool
) -> tuple[list[str], list[str]]:
    """Paths of the folders and of the notes, on all pages together."""
    places = [place for place, gate in enumerate(base.gates) if not lenses or gate.lens in lenses]
    notes = [note for note in base.notes if below(note.path, folder)]
    if unfolded or len(notes) <= ROWS_A_PAGE:
        return [], [note.path for note in notes if fits(base, note, mode, places)]
    top = top_of(base, folder)
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
        if any(fits(base, note, mode, places) for note in notes if below(note.path, folder))
    ]
    own = [note for note in notes if "/" not in note.path[start:]]
    return folders, [note.path for note in own if fits(base, note, mode, places)]


def matrix(base: PairStates, **values: tuple[str, ...]) -> Matrix:
    return Matrix(base, Filters("/matrix/", {name: v for name, v in values.items() if v}))


def pages(base: PairStates, **values: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The same, page after page."""
    folders, notes = [], []
    after: tuple[str, ...] = ()
    while True:
        shown = matrix(base, after=after, **values)
        folders += shown.folders
        notes += [note.path for note in shown.rows]
        assert len(shown.folders) + len(shown.rows) <= ROWS_A_PAGE
        if not shown.following:
            return folders, notes
        assert len(shown.folders) + len(shown.rows) == ROWS_A_PAGE
        after = (write_place((shown.following,)),)


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
    fold = ("off",) if unfolded else ()
    values = {"model": ("p1",), "mode": (mode,), "lens": lenses, "folder": (folder,)}

    found = pages(base, fold=fold, **values)

    assert found == expected(base, mode, lenses, folder, unfolded=unfolded)


@pytest.mark.parametrize("partition", ["p0", "nobody", BEST])
@pytest.mark.parametrize("folder", ["", "kb/notes", "kb/notes/a", "kb/nowhere"])
def test_counts_are_those_of_all_notes_below(partition, folder):
    base = random_states(5)

    shown = matrix(base, model=(partition,), folder=(folder,))

    notes = [note for note in base.notes if below(note.path, folder)]
    cells = [state for note in notes for state in base.row(partition, note)]
    assert shown.count(shown.below) == {state: cells.count(state) for state in STATES}
    assert len(shown.below) == len(notes)
    for path, inside in shown.folders.items():
        rows = [base.row(partition, note) for note in notes if below(note.path, path)]
        assert len(inside) == len(rows)
        told = sum(shown.count(inside).values())
        assert told == sum(state != "" for row in rows for state in row)
