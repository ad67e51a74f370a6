"""The page of the matrix: notes against gates, and reviews requested from picked cells."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from review import settings
from review.acceptance.pair_actions import Pick
from review.documents.base import timestamp
from review.overview.documents import FolderJson, MatrixJson, MatrixRowJson
from review.reviews.pair_states import BEST, STALE, PairStates, is_judged_by
from review.vocabulary import Grouping
from review.web.core.actions import CHANGE_JOBS, after_post, require_permission, required
from review.web.core.cached import Answer, pair_states
from review.web.core.filters import Filters, parse_filters, read_number
from review.web.core.responses import page
from review.web.pages.matrix_cells import LEGEND, UNFOLDED, Matrix, Mode
from review.web.pages.pair_actions import NoSuchPick, request_picks

_KNOWN = {
    "model": None,
    "mode": [mode.value for mode in Mode],
    "folder": None,
    "lens": None,
    "fold": [UNFOLDED],
}
_MODES = {
    "all": "all",
    "not-fresh": "stale",
    "failing": "warn and fail",
    "disagree": "models disagree",
}


def matrix(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, _KNOWN)
    answer = pair_states()
    shown = Matrix(answer.value, filters)
    paged = filters.page(shown.rows, following=(shown.following,) if shown.following else None)
    return page(
        request,
        "review/matrix.html",
        lambda: _context(request, filters, shown, answer) | {"paged": paged},
        document=lambda: _document(shown, paged.next_document, timestamp(answer.at)),
    )


def _context(
    request: HttpRequest, filters: Filters, shown: Matrix, answer: Answer[PairStates]
) -> dict[str, Any]:
    can_pick = request.user.has_perm(CHANGE_JOBS) and bool(shown.rows)
    parts = shown.folder.split("/") if shown.folder else []
    known = {*answer.value.partitions, *settings.current().partitions, shown.partition}
    return {
        "filters": filters,
        "shown": shown,
        "partition": shown.partition,
        "partitions": sorted(known - {BEST}),
        "counts": shown.count(shown.below),
        "folders": [
            {
                "name": shown.name(path),
                "notes": len(notes),
                "path": path,
                "cells": SafeString("".join(shown.folder_cells(notes))),
            }
            for path, notes in shown.folders.items()
        ],
        "rows": [
            {
                "path": note.path,
                "name": shown.name(note.path),
                "cells": SafeString("".join(shown.row_cells(note, number, can_pick=can_pick))),
            }
            for number, note in enumerate(shown.rows)
        ],
        "can_pick": can_pick,
        "counted_at": answer.at,
        "legend": LEGEND,
        "modes": _MODES,
        # Each folder on the way to this one, with its name.
        "crumbs": [
            ("", "all notes"),
            *(("/".join(parts[: n + 1]), part) for n, part in enumerate(parts)),
        ],
    }


def _document(shown: Matrix, following: str | None, counted_at: str | None) -> MatrixJson:
    return MatrixJson(
        model_partition=shown.partition,
        mode=shown.mode,
        folder=shown.folder,
        columns=[gate.gate_id for gate in shown.columns],
        counts=shown.count(shown.below),
        folders=[
            FolderJson(
                path=path,
                notes=len(notes),
                counts=shown.count(notes),
                disputed=shown.count_disputed(notes).total(),
            )
            for path, notes in shown.folders.items()
        ],
        rows=[MatrixRowJson(note_path=note.path, states=shown.states(note)) for note in shown.rows],
        next=following,
        counted_at=counted_at,
    )


@require_POST
def request_cells(request: HttpRequest) -> HttpResponse:
    require_permission(request, CHANGE_JOBS)
    partition = required(request, "model", max_length=200)
    grouping = Grouping.GATE if request.POST.get("grouping") == Grouping.GATE else Grouping.NOTE
    notes, gates = request.POST.getlist("n"), request.POST.getlist("g")
    ticked = (cell.partition(".") for cell in request.POST.getlist("c"))
    cells = [(_at(notes, row), _at(gates, column)) for row, _dot, column in ticked]
    rows = {_at(notes, row) for row in request.POST.getlist("r")}
    columns = {_at(gates, column) for column in request.POST.getlist("k")}
    if rows or columns:
        # Cells of ticked rows and columns that are shown as stale.
        states, shown = pair_states().value, request.POST.get("shown", partition)
        stale = list(_stale_cells(states, partition, shown=shown, notes={*notes}))
        cells += [cell for cell in stale if cell[0] in rows and cell[1] in gates]
        cells += [cell for cell in stale if cell[1] in columns]
    picks = [Pick(note, gate, partition) for note, gate in dict.fromkeys(cells)]
    request_picks(request, picks, grouping=grouping)
    return after_post(request, reverse("matrix"))


def _stale_cells(
    states: PairStates, partition: str, *, shown: str, notes: Collection[str]
) -> Iterator[tuple[str, str]]:
    """`(note path, gate id)` of the stale cells of these notes that a partition can judge.

    :param shown: the partition, or `BEST`, whose states the page shows.
    """
    for note in states.notes:
        row = states.row(shown, note) if note.path in notes else ()
        for gate, state in zip(states.gates, row, strict=False):
            if state in STALE and is_judged_by(gate, partition):
                yield note.path, gate.gate_id


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
