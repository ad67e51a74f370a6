"""The page of one finding, which moves on to the next one of the list it was opened from."""

from __future__ import annotations

from shlex import quote
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.views.decorators.http import require_POST

from review import settings
from review.knowledge_base.opening import open_corpus
from review.queue.finding_page import FindingPage, read_finding
from review.queue.queue import Queue, QueueCursor, QueueLine, first_cursor
from review.vocabulary import DispositionState
from review.web.core.actions import SeeOther, may, require_permission
from review.web.core.filters import AFTER, Filters
from review.web.core.paging import write_place
from review.web.core.responses import page
from review.web.pages.queue_filters import LINES_A_PAGE, find, read_filters
from review.web.pages.triage import (
    MAX_REASON,
    PERMISSION,
    STATES,
    dispose_and_report,
    disposition_request,
    last_action,
)
from review.web.render.markdown import Look, render_markdown


def finding(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """One finding, where it stands in the list, and the next and the previous one."""
    filters = read_filters(request)
    queue, _files = find(filters)
    with open_corpus(settings.current()) as corpus:
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
    cursor = shown.line.cursor if shown.line else None
    is_in = shown.line in queue.of([shown.document.finding.fingerprint])
    state = shown.document.finding.status
    return {
        "filters": filters,
        "here": reverse("queue"),
        "shown": shown,
        "finding": shown.document.finding,
        "about": shown.document,
        "rank": queue.rank(cursor) + 1 if is_in and cursor else None,
        "total": queue.total,
        "next_url": _next_url(queue, cursor, filters),
        "previous_url": _page_of(queue.before(cursor) if cursor else None, filters),
        "queue_url": _queue_url(filters, shown.line if is_in else None, queue),
        "gate_html": render_markdown(
            shown.pair.gate_snapshot.text, look=Look(prefix="gate-", headings=(2, 3))
        ),
        "review_html": render_markdown(
            shown.pair.review_text.text, look=Look(prefix="review-", headings=(2, 3))
        ),
        "states": [word for word in (DispositionState.OPEN, *STATES) if word != state],
        "fix_command": f"commonplace fix_prompt {quote(shown.document.note_path)}",
        "may_dispose": may(request, PERMISSION),
        "last_action": last_action(request),
        "max_reason": MAX_REASON,
    }


def _next_url(queue: Queue, cursor: QueueCursor | None, filters: Filters) -> str:
    return _page_of(queue.next(cursor) if cursor else None, filters)


def _page_of(line: QueueLine | None, filters: Filters) -> str:
    return _url_of(line.fingerprint, filters) if line else ""


def _url_of(fingerprint: str, filters: Filters) -> str:
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
    posted = disposition_request(request, request.POST.get("as", ""), named)
    cursor = first_cursor([fingerprint])
    if not dispose_and_report(request, posted).moved:
        return SeeOther(_url_of(fingerprint, filters))
    return SeeOther(_next_url(find(filters)[0], cursor, filters) or filters.url())


urlpatterns = [
    path("findings/<slug:fingerprint>/", finding, name="finding"),
    path("findings/<slug:fingerprint>/decision", decide, name="finding-decide"),
]
