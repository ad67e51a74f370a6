"""The page of one review: its text, the texts that it judged, the model, and the decision."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from review import settings
from review.acceptance.decide import DecisionRequest, set_decision
from review.errors import UsageRefused
from review.knowledge_base import Corpus
from review.knowledge_base.opening import open_corpus
from review.reviews.documents import ReviewJson
from review.reviews.read import HistoryRequest, read_reviews
from review.reviews.texts import ReviewPart, StoredText, text_of_review
from review.settings.config import Config
from review.vocabulary import ACCEPTING_DECISIONS, Decision
from review.web.core.actions import NEXT, actor, after_post, may, require_permission, required
from review.web.core.filters import Filters, parse_filters, read_number
from review.web.core.responses import page
from review.web.pages.needs_a_look import (
    FROM_LOOKS,
    LAST_REASON,
    LOOKS_FILTERS,
    neighbours,
)
from review.web.render.links import NoteLinks, diff_page, finding_page
from review.web.render.markdown import FindingMark, Look, render_markdown, render_plain

_LINES = "lines"
_KNOWN = {
    "show": [part.value for part in ReviewPart],
    "as": [_LINES],
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
        lambda: _context(request, filters, document.reviews[0], corpus, config),
        document=document,
    )


def _context(
    request: HttpRequest, filters: Filters, shown: ReviewJson, corpus: Corpus, config: Config
) -> dict[str, Any]:
    part = ReviewPart(filters.one("show", ReviewPart.REVIEW))
    by_lines = filters.one("as") == _LINES
    text = (
        StoredText(shown.text)
        if part is ReviewPart.REVIEW
        else text_of_review(shown.review_pair_id, part)
    )
    marks = _marks(shown) if part is ReviewPart.NOTE else []
    can_override = "gone" not in (shown.note.now, shown.gate.now)
    key = (shown.note_path, shown.gate_path, shown.review_pair_id)
    links = NoteLinks(corpus, shown.note_path, config=config)
    look = Look(
        link_to=None if part is ReviewPart.GATE else links,
        # A review's own headings begin at the third level (the prompt's template).
        headings=(0, 3) if part is ReviewPart.REVIEW else (2, 3),
        flavour=links.flavour,
    )
    return {
        "filters": filters,
        "review": shown,
        "part": part.value,
        "text": text,
        "html": render_plain(text.text, quotes=marks)
        if by_lines
        else render_markdown(text.text, line_anchors=True, quotes=marks, look=look),
        "tabs": _tabs(filters, part),
        "by_lines": by_lines,
        "toggle_url": filters.url(**{"as": None if by_lines else _LINES}),
        "raw_url": reverse("review-text", args=[shown.review_pair_id, part]),
        "origins": _origins(shown, config),
        "undecided": shown.decision not in ACCEPTING_DECISIONS,
        "choices": [word.value for word in ACCEPTING_DECISIONS],
        "beside": neighbours(filters, key) if filters.one("from") == FROM_LOOKS else None,
        "may_decide": may(request, "review.change_reviewpair"),
        "can_override": can_override,
        # An override accepts exactly the texts that are on disk while the page is made.
        "digests": {
            "note": corpus.read_note(shown.note_path).sha256,
            "gate": corpus.gate(shown.gate_path).sha256,
        }
        if can_override
        else {},
        "diff_url": diff_page(
            shown.note_path, gate_id=shown.gate_id, model_partition=shown.model_partition
        ),
    }


def _marks(shown: ReviewJson) -> list[FindingMark]:
    """Return the findings at the lines that they quote."""
    return [
        FindingMark(
            finding.line,
            finding.fingerprint,
            finding.severity,
            finding.text,
            finding_page(finding.fingerprint),
        )
        for finding in shown.findings
        if finding.line is not None
    ]


def _tabs(filters: Filters, part: ReviewPart) -> list[dict[str, Any]]:
    labels = {
        ReviewPart.REVIEW: "The review",
        ReviewPart.NOTE: "The note",
        ReviewPart.GATE: "The gate",
    }
    return [
        {
            "label": label,
            "url": filters.url(show=None if tab is ReviewPart.REVIEW else tab.value),
            "selected": tab is part,
        }
        for tab, label in labels.items()
    ]


def _origins(shown: ReviewJson, config: Config) -> list[dict[str, str]]:
    """What is known of the reviewer: as requested, and as confirmed or contradicted later."""
    known = shown.provenance
    models = known.telemetry_models
    verdict = claim = ""
    if models:
        verdict = "contradicted" if known.telemetry_contradicts else "confirmed"
    if known.self_reported_model:
        claim = "contradicted" if known.claim_problem else "confirmed"
    rows = (
        ("Runner", known.runner, "", ""),
        ("Model", known.runner_model, ", ".join(models or ()), verdict),
        ("Effort", known.runner_effort, "", ""),
        ("Self-reported model", "", known.self_reported_model, claim),
    )
    names = ("what", "dispatched", "told", "verdict")
    return [dict(zip(names, (value or "" for value in row), strict=True)) for row in rows]


@require_POST
def decide(request: HttpRequest, pair_id: int) -> HttpResponse:
    require_permission(request, "review.change_reviewpair")
    word = request.POST.get("decision", "")
    if word not in ACCEPTING_DECISIONS:
        raise NoDecision("choose pass, warn or fail")
    wanted = DecisionRequest(
        review_pair_id=pair_id,
        decision=Decision(word),
        reason=required(request, "reason"),
        actor=actor(request),
    )
    answer = set_decision(wanted, config=settings.current(), now=timezone.now())
    if not answer.accepted:
        messages.warning(
            request,
            f"Your decision, {word}, is kept with the review. It does not move the acceptance:"
            " a later text was accepted in the meantime.",
        )
        return after_post(request, reverse("review", args=[pair_id]))
    focus = "" if request.POST.get(NEXT) else "decision"
    if following := read_number(request.GET.get("following", "")):
        request.session[LAST_REASON] = wanted.reason
        focus = f"look-{following}"
    return after_post(
        request,
        reverse("review", args=[pair_id]),
        message=f"Decided: {answer.gate_id} is {word} for {answer.note_path}.",
        focus=focus,
    )


urlpatterns = [
    path("reviews/<int:pair_id>/", review, name="review"),
    path("reviews/<int:pair_id>/decision", decide, name="decide"),
]
