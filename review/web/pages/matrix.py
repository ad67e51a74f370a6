"""The matrix: notes against gates, folders first, and reviews requested from picked cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, groupby
from posixpath import basename, commonpath
from typing import Any

from django.db.models import QuerySet, TextChoices
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from review import settings
from review.acceptance.ack_selection import Pick
from review.documents.base import Document, timestamp
from review.errors import UsageRefused
from review.knowledge_base import NoteFacts
from review.models import CurrentAcceptance, ReviewPair
from review.reviews.pair_states import (
    BEST,
    FAIL,
    FAILING,
    FRESH,
    MISSING,
    STALE,
    STATES,
    WARN,
    PairStates,
    Row,
    count_states,
    is_judged_by,
)
from review.vocabulary import OPEN_JOB_STATUSES, Grouping, Staleness
from review.web import core
from review.web.pages.jobs import request_picks


class FolderJson(Document):
    """Pairs below a folder, counted by state over all columns; models disagree about `disputed` ones."""

    path: str
    notes: int
    counts: dict[str, int]
    disputed: int


class MatrixRowJson(Document):
    """A note; `states` has one word a column, null where no review is required."""

    note_path: str
    states: list[str | None]


class MatrixJson(Document, kw_only=True, tag_field="schema", tag="matrix/1"):
    """The answer of the matrix; the partition is empty for the best state of any."""

    model_partition: str
    mode: str
    folder: str
    columns: list[str]
    counts: dict[str, int]
    folders: list[FolderJson]
    rows: list[MatrixRowJson]
    next: str | None
    counted_at: str | None


ROWS_A_PAGE = 100
RUNNING = "running"
UNFOLDED = "off"
_DISAGREE = "models disagree"
_CLASSES = {
    FRESH: "p",
    WARN: "w",
    FAIL: "f",
    Staleness.NOTE_CHANGED.value: "n",
    Staleness.GATE_CHANGED.value: "g",
    MISSING: "m",
}
# Classes and words of the cells.
LEGEND = [
    *((letter, core.label(state)) for state, letter in _CLASSES.items()),
    ("r", "in an open job"),
    ("d", _DISAGREE),
]


class Mode(TextChoices):
    """The notes to show: all, or those with a cell of some kind."""

    ALL = "all", "all"
    NOT_FRESH = "not-fresh", "stale"
    FAILING = "failing", "warn and fail"
    DISAGREE = "disagree", _DISAGREE


class Matrix:
    """A page of the matrix: a hundred folders and notes; columns are the gates of the lenses.

    Folders stand for their notes unless these are few or the filter `fold` is off.
    """

    def __init__(self, states: PairStates, filters: core.Filters) -> None:
        self._states = states
        self.partition = filters.one("model", BEST)
        self.mode = Mode(filters.one("mode", Mode.ALL))
        self.folder = filters.one("folder").strip("/")
        gates = enumerate(states.gates)
        self._places = [at for at, gate in gates if filters.accepts(lens=gate.lens)]
        self.columns = [states.gates[at] for at in self._places]
        self.lenses = dict(Counter(gate.lens for gate in states.gates))
        start = f"{self.folder}/".lstrip("/")
        self.below = [note for note in states.notes if note.path.startswith(start)]
        self._is_unfolded = UNFOLDED in filters.all("fold") or len(self.below) <= ROWS_A_PAGE
        place = filters.place(str)
        entries = self._entries(str(place[0]) if place else "")
        shown = entries[:ROWS_A_PAGE]
        self.folders = {path: notes for (is_note, path), notes in shown if not is_note}
        self.rows = [note for (is_note, _path), (note, *_) in shown if is_note]
        # What the next page starts after: a note path, or a folder's path with a slash behind.
        self.following = ""
        if len(entries) > ROWS_A_PAGE:
            (is_note, path), _notes = shown[-1]
            self.following = path if is_note else f"{path}/"

    def _entries(self, after: str) -> list[tuple[tuple[bool, str], list[NoteFacts]]]:
        """Return the folders with their notes, then the notes outside them, that the mode keeps."""
        entries: dict[tuple[bool, str], list[NoteFacts]] = {}
        # A folder that holds nothing but another one is passed over.
        folders = [note.path.rpartition("/")[0] for note in self.below]
        top = "" if self._is_unfolded else commonpath(folders)
        for note in self.below:
            folder, slash, _name = note.path[len(top) :].lstrip("/").partition("/")
            is_note = self._is_unfolded or not slash
            key = (is_note, note.path if is_note else f"{top}/{folder}".lstrip("/"))
            entries.setdefault(key, []).append(note)
        last = (bool(after) and not after.endswith("/"), after.removesuffix("/"))
        return [
            (key, notes)
            for key, notes in sorted(entries.items())
            if key > last and any(map(self._fits, notes))
        ]

    def _fits(self, note: NoteFacts) -> bool:
        if self.mode is Mode.DISAGREE:
            return bool(self._disputed(note))
        wanted = {Mode.NOT_FRESH: STALE, Mode.FAILING: FAILING}.get(self.mode)
        return wanted is None or not wanted.isdisjoint(self._cells(note))

    def _cells(self, note: NoteFacts) -> Row:
        row = self._states.row(self.partition, note)
        return tuple(row[at] for at in self._places)

    def _disputed(self, note: NoteFacts) -> set[int]:
        places = self._states.disputed.get(note.path, ())
        return {at for at, place in enumerate(self._places) if place in places}

    def count(self, notes: Sequence[NoteFacts]) -> dict[str, int]:
        counts = Counter(chain.from_iterable(map(self._cells, notes)))
        return {state: counts[state] for state in STATES}

    def count_disputed(self, notes: Sequence[NoteFacts]) -> Counter[int]:
        return Counter(chain.from_iterable(map(self._disputed, notes)))

    @cached_property
    def _jobs(self) -> dict[tuple[str, str], int]:
        pairs = ReviewPair.objects.filter(job__status__in=OPEN_JOB_STATUSES)
        if self.partition != BEST:
            pairs = pairs.in_flight(self.partition)
        return self._by_pair(pairs.order_by("job_id"), "job_id")

    @cached_property
    def _reviews(self) -> dict[tuple[str, str], int]:
        rows = CurrentAcceptance.objects.queued().filter(event__review_pair__isnull=False)
        if self.partition != BEST:
            rows = rows.of_partition(self.partition)
        # Last, and so kept: warns, which are what is shown of a pair that another model fails.
        return self._by_pair(rows.order_by("decision", "pk"), "event__review_pair_id")

    def _by_pair(
        self, rows: QuerySet[ReviewPair] | QuerySet[CurrentAcceptance], column: str
    ) -> dict[tuple[str, str], int]:
        found = rows.filter(note__path__in=[note.path for note in self.rows])
        columns = found.values_list("note__path", "gate__path", column)
        return {(note, gate): key for note, gate, key in columns}

    def _job(self, note: NoteFacts, at: int, state: str) -> int | None:
        is_hidden = self.partition == BEST and state not in STALE
        return None if is_hidden else self._jobs.get((note.path, self.columns[at].path))

    def states(self, note: NoteFacts) -> list[str | None]:
        return [
            RUNNING if self._job(note, at, state) else state or None
            for at, state in enumerate(self._cells(note))
        ]

    def name(self, path: str) -> str:
        return path[len(self.folder) :].lstrip("/")

    def folder_cells(self, notes: Sequence[NoteFacts]) -> Iterator[str]:
        """Show the worst state below a folder with its count, or the number of disputed cells."""
        disputed = self.count_disputed(notes)
        for at, count in enumerate(count_states(map(self._cells, notes), width=len(self.columns))):
            is_disputed = self.mode is Mode.DISAGREE
            yield _cell("d", _DISAGREE, disputed[at]) if is_disputed else _worst(count)

    def row_cells(self, note: NoteFacts, number: int, *, can_pick: bool) -> Iterator[str]:
        """Yield the cells of a note, which is the row of this number on the page."""
        disputed, root = self._disputed(note), reverse("start")
        for at, state in enumerate(self._cells(note)):
            if not state:
                yield "<td>"
                continue
            letter, words = _CLASSES[state], state.replace("-", " ")
            review = self._reviews.get((note.path, self.columns[at].path))
            told = f"<i>{words}</i>"
            if at in disputed:
                letter, told = "d", f"<i>{words}, {_DISAGREE}</i>"
            if job := self._job(note, at, state):
                yield f"<td class=r><a href={root}jobs/{job}><i>running</i></a>"
            elif review and (state != FRESH or at in disputed):
                yield f"<td class={letter}><a href={root}reviews/{review}/>{told}</a>"
            elif can_pick and state in STALE:
                box = f'<input type=checkbox name=c value={number}.{at} aria-label="{words}">'
                yield f"<td class={letter}>{box}"
            else:
                yield f"<td class={letter}>{told}"

    @property
    def lens_columns(self) -> list[tuple[str, int]]:
        grouped = groupby(self.columns, key=lambda gate: gate.lens)
        return [(lens, len(list(gates))) for lens, gates in grouped]


def _worst(count: Mapping[str, int]) -> str:
    stale = sum(count[state] for state in STALE)
    only_missing = stale == sum(count.values())
    kinds = (("f", FAIL, count[FAIL]), ("w", WARN, count[WARN]))
    for letter, word, number in (*kinds, ("m" if only_missing else "s", "stale", stale)):
        if number:
            return _cell(letter, word, number)
    return "<td class=p><i>fresh</i>" if count else "<td></td>"


def _cell(letter: str, word: str, number: int) -> str:
    if not number:
        return "<td></td>"
    short = str(number) if number < 1000 else f"{number / 1000:.0f}k"
    return f"<td class={letter}><b>{short}</b><i>{word}</i>"


_KNOWN = {"model": None, "mode": Mode.values, "folder": None, "lens": None, "fold": [UNFOLDED]}


def matrix(request: HttpRequest) -> HttpResponse:
    filters = core.parse_filters(request, _KNOWN)
    answer = core.pair_states()
    shown = Matrix(answer.value, filters)
    paged = filters.page(shown.rows, following=(shown.following,) if shown.following else None)
    return core.page(
        request,
        "review/matrix.html",
        lambda: _context(request, filters, shown, answer) | {"paged": paged},
        document=lambda: _document(shown, paged.next_document, timestamp(answer.at)),
    )


def _context(
    request: HttpRequest, filters: core.Filters, shown: Matrix, answer: core.Answer[PairStates]
) -> dict[str, Any]:
    can_pick = request.user.has_perm(core.CHANGE_JOBS) and bool(shown.rows)
    steps = accumulate(shown.folder.split("/"), "{}/{}".format) if shown.folder else ()
    known = {*answer.value.partitions, *settings.current().partitions, shown.partition}
    return {
        "filters": filters,
        "shown": shown,
        "partition": shown.partition,
        "partitions": sorted(known - {BEST}),
        "counts": shown.count(shown.below),
        "folders": [
            (path, shown.name(path), len(notes), SafeString("".join(shown.folder_cells(notes))))
            for path, notes in shown.folders.items()
        ],
        "rows": [
            (note.path, shown.name(note.path), SafeString("".join(cells)))
            for number, note in enumerate(shown.rows)
            for cells in [shown.row_cells(note, number, can_pick=can_pick)]
        ],
        "can_pick": can_pick,
        "counted_at": answer.at,
        "legend": LEGEND,
        "modes": Mode.choices,
        # Each folder on the way to this one, with its name.
        "crumbs": [("", "all notes"), *((step, basename(step)) for step in steps)],
    }


def _document(shown: Matrix, following: str | None, counted_at: str | None) -> MatrixJson:
    return MatrixJson(
        model_partition=shown.partition,
        mode=shown.mode,
        folder=shown.folder,
        columns=[gate.gate_id for gate in shown.columns],
        counts=shown.count(shown.below),
        folders=[
            FolderJson(path, len(notes), shown.count(notes), shown.count_disputed(notes).total())
            for path, notes in shown.folders.items()
        ],
        rows=[MatrixRowJson(note.path, shown.states(note)) for note in shown.rows],
        next=following,
        counted_at=counted_at,
    )


@require_POST
@core.requires(core.CHANGE_JOBS)
def request_cells(request: HttpRequest) -> HttpResponse:
    partition = core.required(request, "model", max_length=200)
    grouping = Grouping.GATE if request.POST.get("grouping") == Grouping.GATE else Grouping.NOTE
    notes, gates = request.POST.getlist("n"), request.POST.getlist("g")
    ticked = (cell.partition(".") for cell in request.POST.getlist("c"))
    cells = [(_at(notes, row), _at(gates, column)) for row, _dot, column in ticked]
    rows = {_at(notes, row) for row in request.POST.getlist("r")}
    columns = {_at(gates, column) for column in request.POST.getlist("k")}
    if rows or columns:
        # Cells of ticked rows and columns that are shown as stale.
        states, shown = core.pair_states().value, request.POST.get("shown", partition)
        stale = _stale_cells(states, partition, shown=shown, notes={*notes})
        cells += [it for it in stale if it[1] in columns or (it[0] in rows and it[1] in gates)]
    picks = [Pick(note, gate, partition) for note, gate in dict.fromkeys(cells)]
    request_picks(request, picks, grouping=grouping)
    return core.after_post(request, reverse("matrix"))


def _stale_cells(
    states: PairStates, partition: str, *, shown: str, notes: Collection[str]
) -> Iterator[tuple[str, str]]:
    """`(note path, gate id)` of the stale cells of these notes that a partition can judge."""
    for note in states.notes:
        row = states.row(shown, note) if note.path in notes else ()
        for gate, state in zip(states.gates, row, strict=False):
            if state in STALE and is_judged_by(gate, partition):
                yield note.path, gate.gate_id


def _at(items: list[str], written: str) -> str:
    place = core.read_number(written)
    if place is not None and place < len(items):
        return items[place]
    raise UsageRefused("a cell in the form cannot be read", "no-such-pick", hint="reload the page")
