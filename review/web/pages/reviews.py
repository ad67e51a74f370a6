"""The page of one review: its text, the texts that it judged, the model, and the decision."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from review import settings
from review.acceptance.decide import set_decision
from review.errors import UsageRefused
from review.knowledge_base import Corpus
from review.knowledge_base.opening import open_corpus
from review.reviews.documents import ReviewJson
from review.reviews.read import HistoryRequest, read_reviews
from review.reviews.texts import ReviewPart, snapshot_text, text_of_review
from review.settings.config import Config
from review.vocabulary import ACCEPTING_DECISIONS, Decision
from review.web.core.actions import NEXT, actor, after_post, require_permission, required
from review.web.core.filters import Filters, parse_filters, read_number
from review.web.core.responses import page
from review.web.pages.needs_a_look import FROM_LOOKS, LAST_REASON, LOOKS_FILTERS, neighbours
from review.web.render.markdown import mark_findings, note_links, render_text
from review.web.render.tokens import Look

_KNOWN = {
    "show": [part.value for part in ReviewPart],
    "as": ["lines"],
    "from": [FROM_LOOKS],
    **LOOKS_FILTERS,
}


class NoDecision(UsageRefused):
    """The form names no decision that a person can make."""


def review(request: HttpRequest, pair_id: int) -> HttpResponse:
    filters = parse_filters(request, _KNOWN)
    config = settings.current()
    corpus = open_corpus(config)
    document = read_reviews(corpus, HistoryRequest(pair_id=pair_id), config=config)
    return page(
        request,
        "review/review.html",
        lambda: _context(filters, document.reviews[0], corpus, config),
        document=document,
    )


def _context(filters: Filters, shown: ReviewJson, corpus: Corpus, config: Config) -> dict[str, Any]:
    part = ReviewPart(filters.one("show", ReviewPart.REVIEW))
    is_review = part is ReviewPart.REVIEW
    text = shown.text if is_review else text_of_review(shown.review_pair_id, part)
    findings = shown.findings if part is ReviewPart.NOTE else []
    links = note_links(corpus, shown.note_path, config=config)
    look = Look(
        link_to=None if part is ReviewPart.GATE else links,
        # A review's own headings begin at the third level (the prompt's template).
        headings=(0, 3) if is_review else (2, 3),
        flavour=corpus.flavour,
    )
    marks = mark_findings((item, item.line) for item in findings)
    can_override = "gone" not in (shown.note.now, shown.gate.now)
    key = (shown.note_path, shown.gate_path, shown.review_pair_id)
    return {
        "filters": filters,
        "review": shown,
        "part": part.value,
        "judged": {ReviewPart.NOTE: shown.note, ReviewPart.GATE: shown.gate}.get(part),
        "html": render_text(text, by_lines="as" in filters.values, look=look, quotes=marks),
        "choices": [word.value for word in ACCEPTING_DECISIONS],
        "beside": neighbours(filters, key) if "from" in filters.values else None,
        "can_override": can_override,
        # An override accepts exactly the texts that are on disk while the page is made.
        "digests": {
            "note": corpus.read_note(shown.note_path).sha256,
            "gate": corpus.gate(shown.gate_path).sha256,
        }
        if can_override
        else {},
    }


@require_POST
def decide(request: HttpRequest, pair_id: int) -> HttpResponse:
    require_permission(request, "review.change_reviewpair")
    word = request.POST.get("decision", "")
    if word not in ACCEPTING_DECISIONS:
        raise NoDecision("choose pass, warn or fail")
    reason = required(request, "reason")
    answer = set_decision(
        pair_id,
        Decision(word),
        reason=reason,
        actor=actor(request),
        config=settings.current(),
        now=timezone.now(),
    )
    place = reverse("review", args=[pair_id])
    if not answer.accepted:
        messages.warning(
            request,
            f"Your decision, {word}, is kept with the review. It does not move the acceptance:"
            " a later text was accepted in the meantime.",
        )
        return after_post(request, place)
    focus = "" if request.POST.get(NEXT) else "decision"
    if following := read_number(request.GET.get("following", "")):
        request.session[LAST_REASON] = reason
        focus = f"look-{following}"
    told = f"Decided: {answer.gate_id} is {word} for {answer.note_path}."
    return after_post(request, place, message=told, focus=focus)


def review_text(request: HttpRequest, pair_id: int, part: str) -> HttpResponse:
    if part not in list(ReviewPart):
        raise Http404
    return _raw(text_of_review(pair_id, ReviewPart(part)))


def snapshot(request: HttpRequest, snapshot_id: int) -> HttpResponse:
    return _raw(snapshot_text(snapshot_id))


def _raw(text: str) -> HttpResponse:
    # `nosniff` comes with every answer; without it a browser might take these bytes for a page.
    data = text.encode("utf-8", "surrogatepass")
    return HttpResponse(data, content_type="text/plain; charset=utf-8")


urlpatterns = [
    path("reviews/<int:pair_id>/", review, name="review"),
    path("reviews/<int:pair_id>/decision", decide, name="decide"),
    path("reviews/<int:pair_id>/<str:part>.txt", review_text, name="review-text"),
    path("texts/<int:snapshot_id>", snapshot, name="snapshot"),
]
