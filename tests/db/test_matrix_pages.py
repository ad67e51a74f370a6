"""Pages of the matrix, put together: what looking at every note and folder would give."""

from __future__ import annotations

import pytest

from review.queries.base_map import FAIL, FAILING, FRESH, NOT_FRESH, WARN, WORDS, BaseMap
from review.queries.matrix import ROWS_A_PAGE, MatrixRequest, Mode, read_matrix
from tests.helpers.maps import random_map

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


def disputed(base: BaseMap, note) -> list[bool]:
    columns = zip(*(base.of(name, note) for name in base.partitions), strict=True)
    return [FRESH in column and (WARN in column or FAIL in column) for column in columns]


def fits(base: BaseMap, note, request: MatrixRequest, places: list[int]) -> bool:
    if request.mode is Mode.DISAGREE:
        mask = disputed(base, note)
        return bool(mask) and any(mask[place] for place in places)
    letters = base.of(request.partition, note)
    wanted = {Mode.NOT_FRESH: NOT_FRESH, Mode.FAILING: FAILING}.get(request.mode)
    return wanted is None or any(letters[place] in wanted for place in places)


def top_of(base: BaseMap, folder: str) -> str:
    """The folder, or the first below it with notes of its own or several folders."""
    while True:
        notes = [note.path for note in base.notes if below(note.path, folder)]
        rests = [path[len(folder) :].lstrip("/") for path in notes]
        names = {rest.partition("/")[0] for rest in rests if "/" in rest}
        if len(names) != 1 or any("/" not in rest for rest in rests):
            return folder
        folder = f"{folder}/{names.pop()}".lstrip("/")


def expected(base: BaseMap, request: MatrixRequest) -> tuple[list[str], list[str]]:
    """Paths of the folders and of the notes, on all pages together."""
    places = [
        place
        for place, column in enumerate(base.columns)
        if not request.lenses or column.lens in request.lenses
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
    every = list(range(len(base.columns)))
    folders = [
        folder
        for folder in inner
        if any(
            # What models disagree about is looked for in every column.
            fits(base, note, request, every if request.mode is Mode.DISAGREE else places)
            for note in notes
            if below(note.path, folder)
        )
    ]
    own = [note for note in notes if "/" not in note.path[start:]]
    return folders, [note.path for note in own if fits(base, note, request, places)]


def pages(base: BaseMap, **query) -> tuple[list[str], list[str]]:
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
    base = random_map(11, **more)
    query = {"partition": "p1", "mode": mode, "lenses": lenses, "folder": folder}
    request = MatrixRequest(unfolded=unfolded, **query)

    assert pages(base, unfolded=unfolded, **query) == expected(base, request)


@pytest.mark.parametrize("partition", ["p0", "nobody"])
@pytest.mark.parametrize("folder", ["", "kb/notes", "kb/notes/a", "kb/nowhere"])
def test_counts_are_those_of_all_notes_below(partition, folder):
    base = random_map(5)

    shown = read_matrix(base, MatrixRequest(partition=partition, folder=folder))

    notes = [note for note in base.notes if below(note.path, folder)]
    letters = b"".join(base.of(partition, note) for note in notes)
    assert shown.counts == {word: letters.count(letter) for letter, word in WORDS.items()}
    assert shown.notes_below == len(notes)
    for inner in shown.folders:
        rows = [base.of(partition, note) for note in notes if below(note.path, inner.path)]
        assert inner.notes == len(rows)
        assert sum(map(sum, (column.values() for column in inner.columns))) == sum(
            letter in WORDS for row in rows for letter in row
        )


@pytest.mark.parametrize("mode", [Mode.ALL, Mode.FAILING, Mode.NOT_FRESH])
def test_a_page_looks_at_the_letters_of_the_notes_it_shows_only(monkeypatch, mode):
    base = random_map(3, notes=3000, folders=MANY).prepared()
    looked, real = [], BaseMap.of

    def counting(self, partition, note):
        looked.append(note.path)
        return real(self, partition, note)

    monkeypatch.setattr(BaseMap, "of", counting)
    shown = read_matrix(base, MatrixRequest(partition="p1", mode=mode, unfolded=True))

    assert looked == [row.note_path for row in shown.rows]
    assert len(looked) == ROWS_A_PAGE


def test_a_page_of_folders_counts_those_it_shows_only(monkeypatch):
    base = random_map(3, notes=3000, folders=MANY)
    counted, real = [], BaseMap.folder

    def counting(self, partition, path):
        counted.append(path)
        return real(self, partition, path)

    monkeypatch.setattr(BaseMap, "folder", counting)
    shown = read_matrix(base, MatrixRequest(partition="p1", folder="kb/notes"))

    assert len(shown.folders) == ROWS_A_PAGE
    # One more tells that there is another page, and one is the folder itself.
    assert len(counted) == ROWS_A_PAGE + 2
