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

from review import settings
from review.errors import UsageRefused
from review.findings.lookup import find_finding
from review.queue.page import row_id
from review.queue.queue import Place, first_place
from review.queue.triage import (
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
from review.vocabulary import DispositionState
from review.web.core.actions import SeeOther, actor, after_post, field, require_permission
from review.web.core.filters import Filters, read_number
from review.web.core.labels import count_words
from review.web.core.responses import wants_json
from review.web.pages.queue_filters import find, queue_filter, read_filters

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
    place = first_place([item.fingerprint for item in seen])
    done = dispose_findings(
        TriageRequest(
            findings=seen,
            state=state,
            actor=actor(request),
            reason=field(request, "reason", max_length=MAX_REASON),
        ),
        config=settings.current(),
        now=timezone.now(),
    )
    tell(request, done, state)
    return after_post(request, filters.url(), focus=_row_after(place, filters))


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


def tell(request: HttpRequest, done: Triaged, state: DispositionState) -> None:
    """Say what was done and, by name, what was not; remember it for an undo."""
    if done.moved:
        what = f"{count_words(len(done.moved), 'finding')} {_DONE[state]}"
        if len(done.moved) == 1:
            what = f"{_DONE[state].capitalize()}: {_name(done.moved[0])}"
        request.session[_LAST_ACT] = {"at": done.at.isoformat(), "what": what}
        messages.success(request, f"{what}.")
    _tell_refusals(request, done.not_moved)


def _tell_refusals(request: HttpRequest, not_moved: Sequence[NotMoved]) -> None:
    for item in not_moved[:_NAMED_AT_MOST]:
        last = item.disposition
        messages.warning(
            request,
            f"Left alone: {_name(item.fingerprint)}. {last.actor} says {last.state} since this page"
            " was shown.",
        )
    more = len(not_moved) - _NAMED_AT_MOST
    if more > 0:
        messages.warning(request, f"Left alone too: {count_words(more, 'finding')}.")


def _name(fingerprint: str) -> str:
    found = find_finding(fingerprint)
    return found.name(gates_folder=settings.current().gates_folder) if found else fingerprint


def _row_after(place: Place | None, filters: Filters) -> str:
    """The id of the row that gets the focus: the next one left in the list, else the one before."""
    if place is None:
        return ""
    queue, _files = find(filters)
    left = next(iter(queue.after(place, 1)), None) or queue.before(place)
    return row_id(left) if left else ""


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
        done = dispose_matching(bulk, config=settings.current(), now=timezone.now())
    except QueueMoved as moved:
        if wants_json(request):
            raise
        return _confirm(request, filters, moved=moved, chosen=state)
    tell(request, done, state)
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
    queue, _files = find(filters)
    gates = queue.count_by_gate()
    context: dict[str, Any] = {
        "filters": filters,
        "here": reverse("queue"),
        "note_count": queue.note_count,
        "number": len(queue.fingerprints()),
        "gates": list(gates.items())[:_NAMED_AT_MOST],
        "more_gates": max(0, len(gates) - _NAMED_AT_MOST),
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
    done = undo(datetime.fromisoformat(act.at), actor=actor(request), now=timezone.now())
    del request.session[_LAST_ACT]
    if done.moved:
        messages.success(request, f"Undone: {act.what[:1].lower()}{act.what[1:]}.")
    _tell_refusals(request, done.not_moved)
    queue, _files = find(filters)
    back = next(iter(queue.of(done.moved)), None)
    return after_post(request, filters.url(), focus=row_id(back) if back else "")


urlpatterns = [
    path("queue/dispose", dispose, name="queue-dispose"),
    path("queue/all", all_matching, name="queue-all"),
    path("queue/undo", take_back, name="queue-undo"),
]
