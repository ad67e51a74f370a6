"""The page of the matrix: notes against gates, and reviews requested from picked cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from review import settings
from review.acceptance.pair_actions import Pick
from review.documents.base import timestamp
from review.knowledge_base import Gate
from review.overview.documents import FolderJson, MatrixJson, MatrixRowJson
from review.overview.matrix import (
    Matrix,
    MatrixFolder,
    MatrixRequest,
    MatrixRow,
    Mode,
    read_matrix,
    stale_cells,
)
from review.reviews.pair_states import BEST, FAIL, FRESH, MISSING, STALE, STATES, WARN, PairStates
from review.vocabulary import Grouping, Staleness
from review.web.core.actions import after_post, may, require_permission, required
from review.web.core.cached import Answer, pair_states
from review.web.core.filters import (
    Filters,
    Paged,
    paged_to,
    parse_filters,
    read_number,
    read_place,
)
from review.web.core.responses import page
from review.web.core.template_tags import label
from review.web.pages.pair_actions import NoSuchPick, ask, tell_requests

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
    part: Paged[Any] = paged_to((shown.last,) if shown.has_more else None, filters=filters)
    return page(
        request,
        "review/matrix.html",
        lambda: _context(request, filters, shown, answer) | {"paged": part},
        document=lambda: _document(part, shown, answer),
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
                "path": folder.path,
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
        "modes": {mode.value: label for mode, label in _MODES.items()},
        "crumbs": _crumbs(wanted.folder),
    }


def _crumbs(folder: str) -> list[tuple[str, str]]:
    """Each folder on the way to one, with its name; the first is that of all notes."""
    parts = folder.split("/") if folder else []
    paths = ["/".join(parts[:end]) for end in range(len(parts) + 1)]
    return [(path, path.rpartition("/")[2] or "all notes") for path in paths]


def _document(part: Paged[Any], shown: Matrix, answer: Answer[PairStates]) -> MatrixJson:
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
        next=part.next_document,
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


_CLASSES = {
    FRESH: "p",
    WARN: "w",
    FAIL: "f",
    Staleness.NOTE_CHANGED.value: "n",
    Staleness.GATE_CHANGED.value: "g",
    MISSING: "m",
}
_DISAGREE = "models disagree"


def folder_cells(folder: MatrixFolder, *, disputed: bool) -> SafeString:
    """Show the worst state below a folder with its count, or the number of disputed cells."""
    if disputed:
        numbers = [folder.disputed[at] for at in range(len(folder.counts))]
        cells = [_cell("d", _DISAGREE, number) if number else "<td></td>" for number in numbers]
    else:
        cells = [_worst(count) for count in folder.counts]
    return SafeString("".join(cells))


def _worst(count: Counter[str]) -> str:
    if not count:
        return "<td></td>"
    stale = sum(count[state] for state in STALE)
    for number, letter, word in (
        (count[FAIL], "f", FAIL),
        (count[WARN], "w", WARN),
        (stale, "m" if stale == count.total() else "s", "stale"),
    ):
        if number:
            return _cell(letter, word, number)
    return "<td class=p><i>fresh</i>"


def _cell(letter: str, word: str, number: int) -> str:
    short = str(number) if number < 1000 else f"{number / 1000:.0f}k"
    return f"<td class={letter}><b>{short}</b><i>{word}</i>"


def row_cells(row: MatrixRow, number: int, *, can_pick: bool) -> SafeString:
    """The cells of a note, which is the row of this number on the page."""
    return SafeString("".join(_cells(row, number, can_pick=can_pick)))


def _cells(row: MatrixRow, number: int, *, can_pick: bool) -> Iterator[str]:
    for place, state in enumerate(row.cells):
        if not state:
            yield "<td>"
            continue
        letter, words = _CLASSES[state], f"<i>{state.replace('-', ' ')}</i>"
        if place in row.disputed:
            letter, words = "d", f"<i>{state.replace('-', ' ')}, {_DISAGREE}</i>"
        if place in row.jobs:
            yield f"<td class=r><a href=/jobs/{row.jobs[place]}><i>running</i></a>"
        elif place in row.reviews and (state != FRESH or place in row.disputed):
            yield f"<td class={letter}><a href=/reviews/{row.reviews[place]}/>{words}</a>"
        elif can_pick and state in STALE:
            yield (
                f"<td class={letter}><input type=checkbox name=c"
                f' value={number}.{place} aria-label="{state.replace("-", " ")}">'
            )
        else:
            yield f"<td class={letter}>{words}"


def legend(columns: Sequence[Gate]) -> list[tuple[str, str]]:
    """Classes and words of the cells."""
    known = [(_CLASSES[state], label(state)) for state in STATES]
    return [*known, ("r", "in an open job"), ("d", _DISAGREE)] if columns else []
