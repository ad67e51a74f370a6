"""The page of one finding, which moves on to the next one of the list it was opened from."""

from __future__ import annotations

from shlex import quote
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from review import conf
from review.orchestration.triage import SeenFinding, TriageRequest, dispose_findings
from review.queries.finding_page import FindingPage, read_finding
from review.queries.knowledge_base import open_corpus
from review.queries.queue_choice import Choice, Place
from review.queries.queue_lines import QueueLine
from review.queries.queue_page import place_of, row_id
from review.vocabulary import DispositionState
from review.web.acting import SeeOther, actor, field, may, require_permission
from review.web.filters import AFTER, Filters
from review.web.pages import page
from review.web.paging import write_place
from review.web.queue_filters import LINES_A_PAGE, find, queue_filter, read_filters
from review.web.rendering import Look, render_markdown
from review.web.triage import MAX_REASON, PERMISSION, STATES, last_act, seen_finding, state_of, tell


def finding(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """One finding, where it stands in the list, and the next and the previous one."""
    filters = read_filters(request)
    choice, files = find(queue_filter(filters), now=timezone.now())
    config = conf.current()
    with open_corpus(config) as corpus:
        shown = read_finding(
            fingerprint,
            board=choice.board,
            files=files.files,
            corpus=corpus,
            gates_folder=config.gates_folder,
        )
    return page(
        request,
        "review/finding.html",
        lambda: _context(request, shown, choice, filters),
        document=shown.document,
    )


def _context(
    request: HttpRequest, shown: FindingPage, choice: Choice, filters: Filters
) -> dict[str, Any]:
    place = _place(shown, choice)
    is_in = shown.number is not None and bool(choice.mask[shown.number])
    state = shown.document.finding.status
    return {
        "filters": filters,
        "here": reverse("queue"),
        "shown": shown,
        "finding": shown.document.finding,
        "about": shown.document,
        "rank": choice.rank(shown.number) + 1 if is_in and shown.number is not None else None,
        "total": choice.total,
        "next_url": _page_of(choice.finding_after(place) if place else None, filters),
        "previous_url": _page_of(choice.finding_before(place) if place else None, filters),
        "queue_url": _queue_url(filters, shown, choice, is_in=is_in),
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


def _place(shown: FindingPage, choice: Choice) -> Place | None:
    return None if shown.number is None else place_of(choice.board.lines[shown.number])


def _page_of(line: QueueLine | None, filters: Filters) -> str:
    if line is None:
        return ""
    url = reverse("finding", args=[line.fingerprint])
    return f"{url}?{filters.query}" if filters.query else url


def _queue_url(filters: Filters, shown: FindingPage, choice: Choice, *, is_in: bool) -> str:
    """The list, at the finding's row."""
    if not is_in or shown.number is None:
        return filters.url()
    start = choice.page_start(shown.number, LINES_A_PAGE)
    url = filters.url(**({AFTER: write_place(start)} if start else {}))
    return f"{url}#{row_id(choice.board.lines[shown.number])}"


@require_POST
def decide(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Decide about the finding, and go on to the next one."""
    require_permission(request, PERMISSION)
    filters = read_filters(request)
    state = state_of(request.POST.get("as", ""))
    seen = seen_finding(f"{fingerprint} {request.POST.get('seen', '')}")
    choice, _files = find(queue_filter(filters), now=timezone.now())
    done = dispose_findings(
        TriageRequest(
            findings=(SeenFinding(seen.fingerprint, seen.last_word_id),),
            state=state,
            actor=actor(request),
            reason=field(request, "reason", max_length=MAX_REASON),
        ),
        board=choice.board,
        config=conf.current(),
        now=timezone.now(),
    )
    tell(request, done, state, choice.board)
    if not done.moved:
        return SeeOther(_page_of_mark(fingerprint, filters))
    numbers = choice.board.layout.places.get(fingerprint, [])
    return SeeOther(_next_url(choice, numbers, filters) or filters.url())


def _next_url(choice: Choice, numbers: list[int], filters: Filters) -> str:
    shown = [number for number in numbers if choice.mask[number]] or numbers
    if not shown:
        return ""
    place = place_of(choice.board.lines[min(shown)])
    after, _files = find(queue_filter(filters), now=timezone.now())
    return _page_of(after.finding_after(place), filters)


def _page_of_mark(fingerprint: str, filters: Filters) -> str:
    url = reverse("finding", args=[fingerprint])
    return f"{url}?{filters.query}" if filters.query else url


urlpatterns = [
    path("findings/<slug:fingerprint>/", finding, name="finding"),
    path("findings/<slug:fingerprint>/decision", decide, name="finding-decide"),
]
