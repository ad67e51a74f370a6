"""The page of the matrix: notes against gates, and reviews requested from picked cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from review import conf
from review.contracts.base import timestamp
from review.contracts.base_pages import FolderJson, MatrixJson, MatrixRowJson
from review.orchestration.picking import Pick
from review.queries.base_map import WORDS, BaseMap
from review.queries.matrix import (
    Matrix,
    MatrixRequest,
    Mode,
    last_partition,
    not_fresh_cells,
    read_matrix,
)
from review.vocabulary import Grouping
from review.web.acting import after_post, may, require_permission, required
from review.web.base import BASE_MAP, base_map
from review.web.filters import AFTER, Filters, parse_filters
from review.web.first_time import needs
from review.web.matrix_view import TableLook, legend, render_matrix
from review.web.numbers import read_number
from review.web.pages import page
from review.web.paging import document_url, read_place, write_place
from review.web.picking import NoSuchPick, ask, tell_requests
from review.web.remembered import Answer

_OFF = "off"
_KNOWN = {
    "model": None,
    "mode": [mode.value for mode in Mode],
    "folder": None,
    "lens": None,
    "fold": [_OFF],
}
_MODES = {
    Mode.ALL: "all",
    Mode.NOT_FRESH: "stale",
    Mode.FAILING: "warn and fail",
    Mode.DISAGREE: "models disagree",
}


@dataclass(frozen=True)
class Choice:
    """A link that changes one thing about the page."""

    label: str
    url: str
    selected: bool
    count: int | None = None


@needs(BASE_MAP)
def matrix(request: HttpRequest) -> HttpResponse:
    """Notes against gates."""
    filters = parse_filters(request, _KNOWN)
    place = read_place(filters, str)
    answer = base_map(timezone.now())
    wanted = MatrixRequest(
        partition=filters.one("model") or last_partition() or _declared_partition(),
        mode=Mode(filters.one("mode", Mode.ALL)),
        folder=filters.one("folder").strip("/"),
        lenses=filters.all("lens"),
        unfolded=filters.one("fold") == _OFF,
        after=str(place[0]) if place else "",
    )
    shown = read_matrix(answer.value, wanted)
    return page(
        request,
        "review/matrix.html",
        lambda: _context(request, filters, shown, answer),
        document=lambda: _document(filters, shown, answer),
    )


def _declared_partition() -> str:
    return next(iter(sorted(conf.current().partitions)), "")


def _context(
    request: HttpRequest, filters: Filters, shown: Matrix, answer: Answer[BaseMap]
) -> dict[str, Any]:
    wanted = shown.request
    has_cells = bool(shown.columns and (shown.rows or shown.folders))
    can_pick = may(request, "review.change_reviewjob") and bool(shown.rows)
    look = TableLook(
        can_pick=can_pick,
        folder_urls={folder.path: filters.url(folder=folder.path) for folder in shown.folders},
    )
    return {
        "filters": filters,
        "shown": shown,
        "partition": wanted.partition,
        "table": render_matrix(shown, look) if has_cells else "",
        "can_pick": can_pick,
        "counted_at": answer.at,
        "models": [
            Choice(name, filters.url(model=name), name == wanted.partition)
            for name in _partitions(answer.value, wanted.partition)
        ],
        "modes": [
            Choice(text, filters.url(mode=None if mode is Mode.ALL else mode), mode is wanted.mode)
            for mode, text in _MODES.items()
        ],
        "lenses": [
            Choice(lens, filters.toggled("lens", lens), lens in wanted.lenses, number)
            for lens, number in shown.lenses.items()
        ],
        "crumbs": _crumbs(filters, wanted.folder),
        "fold": _fold(filters, shown),
        "counts": shown.counts,
        "legend": legend(shown.columns),
        "next_url": _next(filters, shown),
        "first_url": filters.url() if filters.after else "",
        "lens_clear_url": filters.url(lens=None),
    }


def _partitions(base: BaseMap, chosen: str) -> list[str]:
    declared = conf.current().partitions
    return sorted({*base.partitions, *declared, chosen} - {""})


def _fold(filters: Filters, shown: Matrix) -> Choice | None:
    if shown.request.unfolded:
        return Choice("Fold by folder", filters.url(fold=None), selected=False)
    if shown.folders:
        return Choice("Show every note", filters.url(fold=_OFF), selected=False)
    return None


def _crumbs(filters: Filters, folder: str) -> list[Choice]:
    """Links to the folders above, the outermost first."""
    found = [Choice("all notes", filters.url(folder=None), not folder)]
    parts = folder.split("/") if folder else []
    for end in range(1, len(parts) + 1):
        above = "/".join(parts[:end])
        found.append(Choice(parts[end - 1], filters.url(folder=above), above == folder))
    return found


def _next(filters: Filters, shown: Matrix) -> str:
    if not shown.has_more:
        return ""
    return filters.url(**{AFTER: write_place((shown.last,))})


def _document(filters: Filters, shown: Matrix, answer: Answer[BaseMap]) -> MatrixJson:
    return MatrixJson(
        model_partition=shown.request.partition,
        mode=shown.request.mode,
        folder=shown.request.folder,
        columns=[column.gate_id for column in shown.columns],
        counts=dict(shown.counts),
        folders=[
            FolderJson(
                path=folder.path,
                notes=folder.notes,
                counts={word: folder.total[letter] for letter, word in WORDS.items()},
            )
            for folder in shown.folders
        ],
        rows=[MatrixRowJson(note_path=row.note_path, states=row.states()) for row in shown.rows],
        next=document_url(_next(filters, shown)),
        counted_at=timestamp(answer.at),
    )


@require_POST
def request_cells(request: HttpRequest) -> HttpResponse:
    """Queue jobs for the ticked cells, rows and columns of a page of the matrix."""
    require_permission(request, "review.change_reviewjob")
    partition = required(request, "model", max_length=200)
    grouping = Grouping.GATE if request.POST.get("grouping") == Grouping.GATE else Grouping.NOTE
    cells = dict.fromkeys([*_ticked_cells(request), *_ticked_lines(request, partition)])
    picks = [Pick(note, gate, partition) for note, gate in cells]
    tell_requests(request, ask(request, picks, grouping=grouping))
    return after_post(request, reverse("matrix"))


def _ticked_cells(request: HttpRequest) -> list[tuple[str, str]]:
    notes, gates = request.POST.getlist("n"), request.POST.getlist("g")
    found = []
    for cell in request.POST.getlist("c"):
        row, _dot, column = cell.partition(".")
        found.append((_at(notes, row), _at(gates, column)))
    return found


def _ticked_lines(request: HttpRequest, partition: str) -> list[tuple[str, str]]:
    """Cells of ticked rows and columns that are stale."""
    notes, gates = request.POST.getlist("n"), request.POST.getlist("g")
    rows = [_at(notes, row) for row in request.POST.getlist("r")]
    columns = [_at(gates, column) for column in request.POST.getlist("k")]
    if not rows and not columns:
        return []
    base = base_map(timezone.now()).value
    return [
        *not_fresh_cells(base, partition, note_paths=rows, gate_ids=gates),
        *not_fresh_cells(base, partition, note_paths=notes, gate_ids=columns),
    ]


def _at(items: list[str], written: str) -> str:
    """The item at a place of the form.

    :raises NoSuchPick: there is none.
    """
    place = read_number(written)
    if place is not None and place < len(items):
        return items[place]
    raise NoSuchPick("a cell in the form cannot be read", hint="reload the page")


urlpatterns = [
    path("matrix/", matrix, name="matrix"),
    path("matrix/request", request_cells, name="request-cells"),
]
