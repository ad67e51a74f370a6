"""The page of one finding, which moves on to the next one of the list it was opened from."""

from __future__ import annotations

from shlex import quote
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from review import settings
from review.knowledge_base.opening import open_corpus
from review.queue.finding_page import FindingPage, read_finding
from review.queue.page import row_id
from review.queue.queue import Place, Queue, QueueLine, first_place
from review.queue.triage import TriageRequest, dispose_findings
from review.vocabulary import DispositionState
from review.web.core.actions import SeeOther, actor, field, may, require_permission
from review.web.core.filters import AFTER, Filters
from review.web.core.paging import write_place
from review.web.core.responses import page
from review.web.pages.queue_filters import LINES_A_PAGE, find, read_filters
from review.web.pages.triage import (
    MAX_REASON,
    PERMISSION,
    STATES,
    last_act,
    seen_finding,
    state_of,
    tell,
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
    place = shown.line.place if shown.line else None
    is_in = shown.line in queue.of([shown.document.finding.fingerprint])
    state = shown.document.finding.status
    return {
        "filters": filters,
        "here": reverse("queue"),
        "shown": shown,
        "finding": shown.document.finding,
        "about": shown.document,
        "rank": queue.rank(place) + 1 if is_in and place else None,
        "total": queue.total,
        "next_url": _next_url(queue, place, filters),
        "previous_url": _page_of(queue.before(place) if place else None, filters),
        "queue_url": _queue_url(filters, shown.line if is_in else None, queue),
        "gate_html": render_markdown(shown.gate_text, look=Look(prefix="gate-", headings=(2, 3))),
        "review_html": render_markdown(
            shown.review_text, look=Look(prefix="review-", headings=(2, 3))
        ),
        "states": [word for word in (DispositionState.OPEN, *STATES) if word != state],
        "fix_command": f"commonplace fix_prompt {quote(shown.document.note_path)}",
        "may_dispose": may(request, PERMISSION),
        "last_act": last_act(request),
        "max_reason": MAX_REASON,
    }


def _next_url(queue: Queue, place: Place | None, filters: Filters) -> str:
    return _page_of(next(iter(queue.after(place, 1)), None) if place else None, filters)


def _page_of(line: QueueLine | None, filters: Filters) -> str:
    return _url_of(line.fingerprint, filters) if line else ""


def _url_of(fingerprint: str, filters: Filters) -> str:
    url = reverse("finding", args=[fingerprint])
    return f"{url}?{filters.query}" if filters.query else url


def _queue_url(filters: Filters, line: QueueLine | None, queue: Queue) -> str:
    """The list, at the finding's row."""
    if line is None:
        return filters.url()
    start = queue.page_start(line.place, LINES_A_PAGE)
    url = filters.url(**({AFTER: write_place(start)} if start else {}))
    return f"{url}#{row_id(line)}"


@require_POST
def decide(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Decide about the finding, and go on to the next one."""
    require_permission(request, PERMISSION)
    filters = read_filters(request)
    state = state_of(request.POST.get("as", ""))
    seen = seen_finding(f"{fingerprint} {request.POST.get('seen', '')}")
    place = first_place([fingerprint])
    done = dispose_findings(
        TriageRequest(
            findings=(seen,),
            state=state,
            actor=actor(request),
            reason=field(request, "reason", max_length=MAX_REASON),
        ),
        config=settings.current(),
        now=timezone.now(),
    )
    tell(request, done, state)
    if not done.moved:
        return SeeOther(_url_of(fingerprint, filters))
    return SeeOther(_next_url(find(filters)[0], place, filters) or filters.url())


urlpatterns = [
    path("findings/<slug:fingerprint>/", finding, name="finding"),
    path("findings/<slug:fingerprint>/decision", decide, name="finding-decide"),
]
