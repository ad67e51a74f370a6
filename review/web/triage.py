"""What people decide about findings: one, a selection, or all that match; and taking it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from review import conf
from review.errors import UsageRefused
from review.orchestration.triage import (
    BulkRequest,
    NothingToUndo,
    NotMoved,
    QueueMoved,
    SeenFinding,
    Triaged,
    TriageRequest,
    dispose_findings,
    dispose_matching,
    undo,
)
from review.queries.finding_names import FindingName, name_findings
from review.queries.queue_board import QueueBoard
from review.queries.queue_choice import Choice, Place
from review.queries.queue_page import place_of, row_id
from review.vocabulary import DispositionState
from review.web.acting import SeeOther, actor, after_post, field, require_permission
from review.web.filters import Filters, read_number
from review.web.pages import wants_json
from review.web.queue_filters import find, queue_filter, read_filters
from review.web.words import count_words

PERMISSION = "review.change_finding"
STATES = (DispositionState.FIXED, DispositionState.REJECTED, DispositionState.DEFERRED)
MAX_REASON = 1000
MAX_AT_ONCE = 500
_NAMED_AT_MOST = 3
_LAST_ACT = "queue-last-act"
_DONE = {
    DispositionState.OPEN: "opened again",
    DispositionState.FIXED: "fixed",
    DispositionState.REJECTED: "rejected",
    DispositionState.DEFERRED: "deferred",
}


class NotReadable(UsageRefused):
    """The form names no finding, or no status that a finding can be given."""

    code = "bad-form"


@dataclass(frozen=True)
class LastAct:
    """What the person did last in this browser, and can take back."""

    at: str
    what: str


def last_act(request: HttpRequest) -> LastAct | None:
    """What an undo would take back."""
    kept = request.session.get(_LAST_ACT)
    return LastAct(**kept) if isinstance(kept, dict) and set(kept) == {"at", "what"} else None


@require_POST
def dispose(request: HttpRequest) -> HttpResponse:
    """Decide about the findings that are selected, or about the one whose button was pressed."""
    require_permission(request, PERMISSION)
    filters = read_filters(request)
    state, seen = _named_findings(request)
    choice, _files = find(queue_filter(filters), now=timezone.now())
    done = dispose_findings(
        TriageRequest(
            findings=seen,
            state=state,
            actor=actor(request),
            reason=field(request, "reason", max_length=MAX_REASON),
        ),
        board=choice.board,
        config=conf.current(),
        now=timezone.now(),
    )
    tell(request, done, state, choice.board)
    place = _first_place(choice, [item.fingerprint for item in seen])
    return after_post(request, filters.url(), focus=_next_row(filters, place))


def _named_findings(request: HttpRequest) -> tuple[DispositionState, tuple[SeenFinding, ...]]:
    """The status and the findings of the form: of a row's own button, else of the ticked boxes."""
    word, _blank, one = request.POST.get("one", "").partition(" ")
    if one:
        return state_of(word), (seen_finding(one),)
    ticked = request.POST.getlist("finding")
    if len(ticked) > MAX_AT_ONCE:
        raise NotReadable(f"more than {MAX_AT_ONCE} findings", hint="use “all that match”")
    return state_of(request.POST.get("act", "")), tuple(map(seen_finding, ticked))


def state_of(word: str) -> DispositionState:
    """The status that the form asks for.

    :raises NotReadable: there is no such status.
    """
    if word not in DispositionState.values:
        raise NotReadable(
            f"a finding cannot be {word!r}", hint=f"it can be {', '.join(DispositionState.values)}"
        )
    return DispositionState(word)


def seen_finding(text: str) -> SeenFinding:
    """A finding as the form names it: its fingerprint, and the last word on it that was shown.

    :raises NotReadable: it is something else.
    """
    mark, _blank, last = text.partition(" ")
    number = read_number(last)
    if not (mark.isalnum() and len(mark) <= 16) or number is None:
        raise NotReadable("the form names no finding", hint="reload the page")
    return SeenFinding(mark, number)


def tell(request: HttpRequest, done: Triaged, state: DispositionState, board: QueueBoard) -> None:
    """Say what was done and, by name, what was not; remember it for an undo."""
    config = conf.current()
    marks = [*done.moved[:1], *(item.fingerprint for item in done.not_moved[:_NAMED_AT_MOST])]
    names = name_findings(board, marks, gates_folder=config.gates_folder)
    if done.moved:
        first = names.get(done.moved[0])
        what = _what(len(done.moved), state, first)
        request.session[_LAST_ACT] = {"at": done.at.isoformat(), "what": what}
        messages.success(request, f"{what}.")
    for refused in _refusals(done.not_moved, names):
        messages.warning(request, refused)


def _what(number: int, state: DispositionState, first: FindingName | None) -> str:
    if number == 1 and first is not None:
        return f"{_DONE[state].capitalize()}: {first}"
    return f"{count_words(number, 'finding')} {_DONE[state]}"


def _refusals(not_moved: Sequence[NotMoved], names: dict[str, FindingName]) -> list[str]:
    told = [
        f"Left alone: {names.get(item.fingerprint, item.fingerprint)}. {item.spoken.actor} says"
        f" {item.spoken.state} since this page was shown."
        for item in not_moved[:_NAMED_AT_MOST]
    ]
    more = len(not_moved) - len(told)
    return [*told, f"Left alone too: {count_words(more, 'finding')}."] if more else told


def _first_place(choice: Choice, marks: Sequence[str]) -> Place | None:
    """The place of the first of the findings in the list they were chosen from."""
    numbers = [n for mark in marks for n in choice.board.layout.places.get(mark, ())]
    shown = [number for number in numbers if choice.mask[number]]
    return place_of(choice.board.lines[min(shown)]) if shown else None


def _next_row(filters: Filters, place: Place | None) -> str:
    """The id of the row that gets the focus: the next one left in the list, else the one before."""
    if place is None:
        return ""
    choice, _files = find(queue_filter(filters), now=timezone.now())
    line = choice.line_after(place) or choice.line_before(place)
    return row_id(line) if line else ""


@require_http_methods(["GET", "POST"])
def all_matching(request: HttpRequest) -> HttpResponse:
    """Show what deciding about all findings that match would do; do it once it is confirmed."""
    require_permission(request, PERMISSION)
    filters = read_filters(request)
    if request.method == "GET":
        return _list_of(filters) if wants_json(request) else _confirm(request, filters)
    state = state_of(request.POST.get("as", ""))
    bulk = BulkRequest(
        wanted=queue_filter(filters),
        expected=_number(request.POST.get("expected", "")),
        state=state,
        actor=actor(request),
        reason=field(request, "reason", max_length=MAX_REASON),
    )
    try:
        done = dispose_matching(bulk, config=conf.current(), now=timezone.now())
    except QueueMoved as moved:
        if wants_json(request):
            raise
        return _confirm(request, filters, moved=moved, chosen=state)
    choice, _files = find(bulk.wanted, now=timezone.now())
    tell(request, done, state, choice.board)
    return after_post(request, filters.url())


def _list_of(filters: Filters) -> HttpResponse:
    """To the document of the queue: what matches is the same."""
    query = f"{filters.query}&format=json" if filters.query else "format=json"
    return SeeOther(f"{reverse('queue')}?{query}")


def _confirm(
    request: HttpRequest,
    filters: Filters,
    *,
    moved: QueueMoved | None = None,
    chosen: DispositionState | None = None,
) -> HttpResponse:
    choice, _files = find(queue_filter(filters), now=timezone.now())
    context: dict[str, Any] = {
        "filters": filters,
        "here": reverse("queue"),
        "choice": choice,
        "number": len(choice.marks()),
        "gates": list(choice.facets.gates.items())[:_NAMED_AT_MOST],
        "more_gates": max(0, len(choice.facets.gates) - _NAMED_AT_MOST),
        "states": STATES if "state" not in filters.values else tuple(DispositionState),
        "moved": moved,
        "chosen": chosen,
        "reason": request.POST.get("reason", "")[:MAX_REASON],
        "max_reason": MAX_REASON,
    }
    status = HTTPStatus.CONFLICT if moved else HTTPStatus.OK
    return render(request, "review/queue_all.html", context, status=status)


def _number(text: str) -> int:
    number = read_number(text)
    if number is None:
        raise NotReadable("the form does not say how many findings were counted")
    return number


@require_POST
def take_back(request: HttpRequest) -> HttpResponse:
    """Undo what this person did last in this browser, where nobody decided since."""
    require_permission(request, PERMISSION)
    act = last_act(request)
    if act is None:
        raise NothingToUndo("there is nothing of yours to take back")
    filters = read_filters(request)
    choice, _files = find(queue_filter(filters), now=timezone.now())
    at = datetime.fromisoformat(act.at)
    done = undo(at, actor=actor(request), board=choice.board, now=timezone.now())
    del request.session[_LAST_ACT]
    if done.moved:
        messages.success(request, f"Undone: {act.what[:1].lower()}{act.what[1:]}.")
    names = name_findings(
        choice.board,
        [item.fingerprint for item in done.not_moved[:_NAMED_AT_MOST]],
        gates_folder=conf.current().gates_folder,
    )
    for refused in _refusals(done.not_moved, names):
        messages.warning(request, refused)
    return after_post(request, filters.url(), focus=_row_of(filters, done.moved))


def _row_of(filters: Filters, marks: Sequence[str]) -> str:
    """The id of the first of the findings that is back in the list."""
    choice, _files = find(queue_filter(filters), now=timezone.now())
    numbers = [n for mark in marks for n in choice.board.layout.places.get(mark, ())]
    back = [number for number in numbers if choice.mask[number]]
    return row_id(choice.board.lines[min(back)]) if back else ""


urlpatterns = [
    path("queue/dispose", dispose, name="queue-dispose"),
    path("queue/all", all_matching, name="queue-all"),
    path("queue/undo", take_back, name="queue-undo"),
]
