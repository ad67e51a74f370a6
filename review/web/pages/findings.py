"""One finding's page, and disposing of findings: one, a selection, or all that match; and undo."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from http import HTTPStatus
from shlex import quote
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from review import settings
from review.domain.printing import count_words
from review.errors import UsageRefused
from review.findings.states import find_finding
from review.knowledge_base import Corpus
from review.models import Disposition
from review.queue.finding_page import FindingPage, read_finding
from review.queue.queue import Queue, QueueLine
from review.queue.triage import (
    DispositionRequest,
    NothingToUndo,
    QueueMoved,
    Triaged,
    dispose_findings,
    dispose_matching,
    undo,
)
from review.vocabulary import DispositionState
from review.web.core.filters import AFTER, Filters, read_number, write_place
from review.web.core.responses import (
    SeeOther,
    actor,
    after_post,
    field,
    page,
    require_permission,
    wants_json,
)
from review.web.pages.queue import LAST_ACTION, LINES_A_PAGE, find, queue_filter, read_filters
from review.web.render.markdown import render_markdown
from review.web.render.tokens import Look

PERMISSION = "review.change_finding"
STATES = (DispositionState.FIXED, DispositionState.REJECTED, DispositionState.DEFERRED)
MAX_REASON = 1000
MAX_AT_ONCE = 500
_NAMED_AT_MOST = 3
_DONE = {
    DispositionState.OPEN: "opened again",
    DispositionState.FIXED: "fixed",
    DispositionState.REJECTED: "rejected",
    DispositionState.DEFERRED: "deferred",
}


class BadForm(UsageRefused):
    """The form names no finding, or no status that a finding can be given."""


@require_POST
def dispose(request: HttpRequest) -> HttpResponse:
    """Decide about the findings that are selected, or about the one whose button was pressed."""
    require_permission(request, PERMISSION)
    filters = read_filters(request)
    # Of a row's own button, or else of the ticked boxes.
    word, _blank, one = request.POST.get("one", "").partition(" ")
    named = [one] if one else request.POST.getlist("finding")
    if len(named) > MAX_AT_ONCE:
        raise BadForm(f"more than {MAX_AT_ONCE} findings", hint="use “all that match”")
    posted = _read_form(request, word if one else request.POST.get("act", ""), named)
    _dispose(request, posted)
    # The focus goes to the next row of the list, else to the previous one.
    queue = find(filters)
    cursor = queue.first_cursor(posted.findings)
    line = (queue.next(cursor) or queue.before(cursor)) if cursor else None
    return after_post(request, filters.url(), focus=line.row_id if line else "")


def _read_form(request: HttpRequest, state: str, named: Sequence[str] = ()) -> DispositionRequest:
    """Read the request from the form.

    :param named: each finding's fingerprint and the id of the disposition that was shown.
    :raises BadForm: there is no such status or finding.
    """
    if state not in DispositionState.values:
        raise BadForm(
            f"a finding cannot be {state!r}", hint=f"it can be {', '.join(DispositionState.values)}"
        )
    findings = {}
    for text in named:
        fingerprint, _blank, shown_id = text.partition(" ")
        number = read_number(shown_id)
        if not (fingerprint.isalnum() and len(fingerprint) <= 16) or number is None:
            raise BadForm("the form names no finding", hint="reload the page")
        findings[fingerprint] = number
    return DispositionRequest(
        findings=findings,
        state=DispositionState(state),
        actor=actor(request),
        reason=field(request, "reason", max_length=MAX_REASON),
    )


def _dispose(request: HttpRequest, posted: DispositionRequest) -> Triaged:
    done = dispose_findings(posted, config=settings.current(), now=timezone.now())
    _report(request, done, posted.state)
    return done


def _report(request: HttpRequest, done: Triaged, state: DispositionState) -> None:
    """Say what was done and, by name, what was not; remember it for an undo."""
    if done.moved:
        what = f"{count_words(len(done.moved), 'finding')} {_DONE[state]}"
        if len(done.moved) == 1:
            what = f"{_DONE[state].capitalize()}: {_name(done.moved[0])}"
        request.session[LAST_ACTION] = {"at": done.at.isoformat(), "what": what}
        messages.success(request, f"{what}.")
    _report_refusals(request, done.not_moved)


def _report_refusals(request: HttpRequest, not_moved: Sequence[Disposition]) -> None:
    for last in not_moved[:_NAMED_AT_MOST]:
        messages.warning(
            request,
            f"Not changed: {_name(last.fingerprint)}. {last.actor} says {last.state} since this page"
            " was shown.",
        )
    more = len(not_moved) - _NAMED_AT_MOST
    if more > 0:
        messages.warning(request, f"Also not changed: {count_words(more, 'finding')}.")


def _name(fingerprint: str) -> str:
    found = find_finding(fingerprint)
    return found.name(gates_folder=settings.current().gates_folder) if found else fingerprint


@require_http_methods(["GET", "POST"])
def all_matching(request: HttpRequest) -> HttpResponse:
    """Show what deciding about all findings that match would do; do it once it is confirmed."""
    require_permission(request, PERMISSION)
    filters = read_filters(request)
    if request.method == "GET":
        url = f"{reverse('queue')}?{filters.query}&format=json"
        return SeeOther(url) if wants_json(request) else _confirm(request, filters)
    posted = _read_form(request, request.POST.get("as", ""))
    expected = read_number(request.POST.get("expected", ""))
    if expected is None:
        raise BadForm("the form does not say how many findings were counted")
    wanted, config, now = queue_filter(filters), settings.current(), timezone.now()
    try:
        done = dispose_matching(wanted, expected, posted, config=config, now=now)
    except QueueMoved as moved:
        if wants_json(request):
            raise
        return _confirm(request, filters, moved=moved, chosen=posted.state)
    _report(request, done, posted.state)
    return after_post(request, filters.url())


def _confirm(
    request: HttpRequest,
    filters: Filters,
    *,
    moved: QueueMoved | None = None,
    chosen: DispositionState | None = None,
) -> HttpResponse:
    queue = find(filters)
    gates = queue.count_by_gate()
    context: dict[str, Any] = {
        "filters": filters,
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


@require_POST
def take_back(request: HttpRequest) -> HttpResponse:
    """Undo this person's last action in this browser, if there was no later decision."""
    require_permission(request, PERMISSION)
    action = request.session.get(LAST_ACTION)
    if action is None:
        raise NothingToUndo("there is nothing of yours to take back")
    filters = read_filters(request)
    done = undo(datetime.fromisoformat(action["at"]), actor=actor(request), now=timezone.now())
    del request.session[LAST_ACTION]
    what = action["what"]
    if done.moved:
        messages.success(request, f"Undone: {what[:1].lower()}{what[1:]}.")
    _report_refusals(request, done.not_moved)
    lines = find(filters).of(done.moved)
    return after_post(request, filters.url(), focus=lines[0].row_id if lines else "")


def finding(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """One finding, its position in the list, and the next and the previous one."""
    filters = read_filters(request)
    queue = find(filters)
    with Corpus(settings.current()) as corpus:
        shown = read_finding(fingerprint, queue=queue, corpus=corpus)
    return page(
        request,
        "review/finding.html",
        lambda: _context(request, shown, queue, filters),
        document=shown.document,
    )


def _context(
    request: HttpRequest, shown: FindingPage, queue: Queue, filters: Filters
) -> dict[str, Any]:
    about = shown.document
    cursor = shown.line.cursor if shown.line else None
    is_in = shown.line in queue.of([about.finding.fingerprint])
    state = about.finding.status
    gate, review = shown.pair.gate_snapshot.text, shown.pair.review_text.text
    return {
        "filters": filters,
        "here": reverse("queue"),
        "shown": shown,
        "finding": about.finding,
        "about": about,
        "rank": queue.rank(cursor) + 1 if is_in and cursor else None,
        "total": queue.total,
        "next_url": _url(cursor and queue.next(cursor), filters),
        "previous_url": _url(cursor and queue.before(cursor), filters),
        "queue_url": _queue_url(filters, shown.line if is_in else None, queue),
        "gate_html": render_markdown(gate, look=Look(prefix="gate-", headings=(2, 3))),
        "review_html": render_markdown(review, look=Look(prefix="review-", headings=(2, 3))),
        "states": [word for word in (DispositionState.OPEN, *STATES) if word != state],
        "fix_command": f"commonplace fix_prompt {quote(about.note_path)}",
        "last_action": request.session.get(LAST_ACTION),
        "max_reason": MAX_REASON,
    }


def _url(line: QueueLine | None, filters: Filters) -> str:
    """The page of a line's finding, in the list; "" for none."""
    return _page_of(line.fingerprint, filters) if line else ""


def _page_of(fingerprint: str, filters: Filters) -> str:
    url = reverse("finding", args=[fingerprint])
    return f"{url}?{filters.query}" if filters.query else url


def _queue_url(filters: Filters, line: QueueLine | None, queue: Queue) -> str:
    if line is None:
        return filters.url()
    start = queue.page_start(line.cursor, LINES_A_PAGE)
    url = filters.url(**({AFTER: write_place(start)} if start else {}))
    return f"{url}#{line.row_id}"


@require_POST
def decide(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Decide about the finding, and go on to the next one."""
    require_permission(request, PERMISSION)
    filters = read_filters(request)
    named = [f"{fingerprint} {request.POST.get('seen', '')}"]
    posted = _read_form(request, request.POST.get("as", ""), named)
    if not _dispose(request, posted).moved:
        return SeeOther(_page_of(fingerprint, filters))
    queue = find(filters)
    cursor = queue.first_cursor([fingerprint])
    return SeeOther(_url(cursor and queue.next(cursor), filters) or filters.url())
