"""The page of the matrix: notes against gates, and reviews requested from picked cells."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from review import settings
from review.acceptance.pair_actions import Pick
from review.documents.base import timestamp
from review.overview.documents import FolderJson, MatrixJson, MatrixRowJson
from review.overview.matrix import Matrix, MatrixRequest, Mode, read_matrix, stale_cells
from review.reviews.pair_states import BEST, STATES, PairStates
from review.vocabulary import Grouping
from review.web.core.actions import after_post, may, require_permission, required
from review.web.core.cached import Answer, pair_states
from review.web.core.filters import AFTER, Filters, parse_filters, read_number
from review.web.core.paging import document_url, read_place, write_place
from review.web.core.responses import page
from review.web.pages.pair_actions import NoSuchPick, ask, tell_requests
from review.web.render.matrix import folder_cells, legend, row_cells

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
class MatrixChoice:
    label: str
    url: str
    selected: bool
    count: int | None = None


def matrix(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, _KNOWN)
    place = read_place(filters, str)
    answer = pair_states()
    wanted = MatrixRequest(
        partition=filters.one("model", BEST),
        mode=Mode(filters.one("mode", Mode.ALL)),
        folder=filters.one("folder").strip("/"),
        lenses=filters.all("lens"),
        unfolded=filters.one("fold") == _OFF,
        after=str(place[0]) if place else "",
    )
    shown = read_matrix(answer.value, wanted)
    next_url = filters.url(**{AFTER: write_place((shown.last,))}) if shown.has_more else ""
    return page(
        request,
        "review/matrix.html",
        lambda: _context(request, filters, shown, answer) | {"next_url": next_url},
        document=lambda: _document(next_url, shown, answer),
    )


def _context(
    request: HttpRequest, filters: Filters, shown: Matrix, answer: Answer[PairStates]
) -> dict[str, Any]:
    wanted = shown.request
    can_pick = may(request, "review.change_reviewjob") and bool(shown.rows)
    known = {*answer.value.partitions, *settings.current().partitions, wanted.partition}
    partitions = sorted(known - {BEST})
    return {
        "filters": filters,
        "shown": shown,
        "partition": wanted.partition,
        "partitions": partitions,
        "lens_columns": [
            (lens, len(list(gates)))
            for lens, gates in groupby(shown.columns, key=lambda gate: gate.lens)
        ],
        "folders": [
            {
                "name": folder.path[len(wanted.folder) :].lstrip("/"),
                "notes": folder.notes,
                "url": filters.url(folder=folder.path),
                "cells": folder_cells(folder, disputed=wanted.mode is Mode.DISAGREE),
            }
            for folder in shown.folders
        ],
        "rows": [
            {
                "path": row.note_path,
                "name": row.note_path[len(wanted.folder) :].lstrip("/"),
                "cells": row_cells(row, number, can_pick=can_pick),
            }
            for number, row in enumerate(shown.rows)
        ],
        "can_pick": can_pick,
        "counted_at": answer.at,
        "legend": legend(shown.columns),
    } | _links(filters, shown, partitions)


def _links(filters: Filters, shown: Matrix, partitions: list[str]) -> dict[str, Any]:
    wanted = shown.request
    return {
        "models": [
            MatrixChoice(name or "best of all", filters.url(model=name), name == wanted.partition)
            for name in (BEST, *partitions)
        ],
        "modes": [
            MatrixChoice(
                text, filters.url(mode=None if mode is Mode.ALL else mode), mode is wanted.mode
            )
            for mode, text in _MODES.items()
        ],
        "lenses": [
            MatrixChoice(lens, filters.toggled("lens", lens), lens in wanted.lenses, number)
            for lens, number in shown.lenses.items()
        ],
        "crumbs": _crumbs(filters, wanted.folder),
        "fold": _fold(filters, shown),
        "first_url": filters.url() if filters.after else "",
        "lens_clear_url": filters.url(lens=None),
    }


def _fold(filters: Filters, shown: Matrix) -> MatrixChoice | None:
    if shown.request.unfolded:
        return MatrixChoice("Fold by folder", filters.url(fold=None), selected=False)
    if shown.folders:
        return MatrixChoice("Show every note", filters.url(fold=_OFF), selected=False)
    return None


def _crumbs(filters: Filters, folder: str) -> list[MatrixChoice]:
    parts = folder.split("/") if folder else []
    paths = ["/".join(parts[:end]) for end in range(len(parts) + 1)]
    return [
        MatrixChoice(
            path.rpartition("/")[2] or "all notes", filters.url(folder=path), path == folder
        )
        for path in paths
    ]


def _document(next_url: str, shown: Matrix, answer: Answer[PairStates]) -> MatrixJson:
    return MatrixJson(
        model_partition=shown.request.partition,
        mode=shown.request.mode,
        folder=shown.request.folder,
        columns=[gate.gate_id for gate in shown.columns],
        counts=dict(shown.counts),
        folders=[
            FolderJson(
                path=folder.path,
                notes=folder.notes,
                counts={state: folder.total[state] for state in STATES},
                disputed=folder.disputed.total(),
            )
            for folder in shown.folders
        ],
        rows=[MatrixRowJson(note_path=row.note_path, states=row.states()) for row in shown.rows],
        next=document_url(next_url),
        counted_at=timestamp(answer.at),
    )


@require_POST
def request_cells(request: HttpRequest) -> HttpResponse:
    require_permission(request, "review.change_reviewjob")
    partition = required(request, "model", max_length=200)
    grouping = Grouping.GATE if request.POST.get("grouping") == Grouping.GATE else Grouping.NOTE
    notes, gates = request.POST.getlist("n"), request.POST.getlist("g")
    ticked = (cell.partition(".") for cell in request.POST.getlist("c"))
    cells = [(_at(notes, row), _at(gates, column)) for row, _dot, column in ticked]
    rows = [_at(notes, row) for row in request.POST.getlist("r")]
    columns = [_at(gates, column) for column in request.POST.getlist("k")]
    if rows or columns:
        # Cells of ticked rows and columns that are shown as stale.
        states, shown = pair_states().value, request.POST.get("shown", partition)
        cells += stale_cells(states, partition, shown=shown, note_paths=rows, gate_ids=gates)
        cells += stale_cells(states, partition, shown=shown, note_paths=notes, gate_ids=columns)
    picks = [Pick(note, gate, partition) for note, gate in dict.fromkeys(cells)]
    tell_requests(request, ask(request, picks, grouping=grouping))
    return after_post(request, reverse("matrix"))


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
