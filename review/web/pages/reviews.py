"""The page of one review: its text, the texts that it judged, the model, and the decision."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from review import settings
from review.acceptance.decide import DecisionRequest, set_decision
from review.errors import UsageRefused
from review.findings.documents import QueueFindingJson
from review.knowledge_base import Corpus
from review.knowledge_base.opening import open_corpus
from review.reviews.documents import ReviewJson
from review.reviews.read import HistoryRequest, read_reviews
from review.reviews.texts import KeptText, Part, text_of_review
from review.settings.config import Config
from review.vocabulary import ACCEPTING_DECISIONS, Decision
from review.web.core.actions import NEXT, actor, after_post, may, require_permission, required
from review.web.core.filters import Filters, parse_filters
from review.web.core.responses import page
from review.web.pages.needs_a_look import FROM_LOOKS, LOOKS_FILTERS, Neighbours, neighbours
from review.web.render.links import NoteLinks, diff_page, finding_page
from review.web.render.markdown import Look, Mark, render_markdown, render_plain

_LINES = "lines"
_KNOWN = {
    "show": [part.value for part in Part],
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
    part = Part(filters.one("show", Part.REVIEW))
    by_lines = filters.one("as") == _LINES
    text = _text(shown, part)
    undecided = shown.decision not in ACCEPTING_DECISIONS
    return {
        "filters": filters,
        "review": shown,
        "part": part.value,
        "text": text,
        "html": _html(shown, part, text, NoteLinks(corpus, shown.note_path, config=config))
        if not by_lines
        else _plain(shown, part, text),
        "tabs": _tabs(filters, part),
        "by_lines": by_lines,
        "toggle_url": filters.url(**{"as": None if by_lines else _LINES}),
        "raw_url": reverse("review-text", args=[shown.review_pair_id, part]),
        "origins": _origins(shown, config),
        "undecided": undecided,
        "choices": [word.value for word in ACCEPTING_DECISIONS],
        "beside": _beside(filters, shown),
        "may_decide": may(request, "review.change_reviewpair"),
        "can_override": shown.note.now != "gone" and shown.gate.now != "gone",
        "digests": _digests_now(corpus, shown),
        "diff_url": diff_page(
            shown.note_path, gate_id=shown.gate_id, model_partition=shown.model_partition
        ),
    }


def _beside(filters: Filters, shown: ReviewJson) -> Neighbours | None:
    """What stands beside it in the list of reviews that need a look, if that is where it was opened."""
    if filters.one("from") != FROM_LOOKS:
        return None
    key = (shown.note_path, shown.gate_path, shown.review_pair_id)
    return neighbours(filters, key)


def _text(shown: ReviewJson, part: Part) -> KeptText:
    if part is Part.REVIEW:
        return KeptText(shown.text)
    return text_of_review(shown.review_pair_id, part)


def _html(shown: ReviewJson, part: Part, text: KeptText, links: NoteLinks) -> SafeString:
    return render_markdown(
        text.text,
        line_anchors=True,
        quotes=marks_of(shown.findings) if part is Part.NOTE else (),
        look=Look(
            link_to=None if part is Part.GATE else links,
            # A review's own headings begin at the third level (the prompt's template).
            headings=(0, 3) if part is Part.REVIEW else (2, 3),
            flavour=links.flavour,
        ),
    )


def _plain(shown: ReviewJson, part: Part, text: KeptText) -> SafeString:
    return render_plain(text.text, quotes=marks_of(shown.findings) if part is Part.NOTE else ())


def marks_of(findings: list[QueueFindingJson], *, now: bool = False) -> list[Mark]:
    """Findings at the lines they quote; those whose quote is not found have none.

    :param now: in today's text instead of the one that was reviewed.
    """
    found = []
    for finding in findings:
        line = finding.line_now if now else finding.line
        if line is not None:
            found.append(
                Mark(
                    line,
                    finding.fingerprint,
                    finding.severity,
                    finding.text,
                    finding_page(finding.fingerprint),
                )
            )
    return found


def _tabs(filters: Filters, part: Part) -> list[dict[str, Any]]:
    labels = {Part.REVIEW: "The review", Part.NOTE: "The note", Part.GATE: "The gate"}
    return [
        {
            "label": label,
            "url": filters.url(show=None if tab is Part.REVIEW else tab.value),
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


def _digests_now(corpus: Corpus, shown: ReviewJson) -> dict[str, str]:
    """Digests of the texts that an override would accept: those on disk while the page is made."""
    if "gone" in (shown.note.now, shown.gate.now):
        return {}
    return {
        "note": corpus.read_note(shown.note_path).sha256,
        "gate": corpus.gate(shown.gate_path).sha256,
    }


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
    return after_post(
        request,
        reverse("review", args=[pair_id]),
        message=f"Decided: {answer.gate_id} is {word} for {answer.note_path}.",
        focus="" if request.POST.get(NEXT) else "decision",
    )


urlpatterns = [
    path("reviews/<int:pair_id>/", review, name="review"),
    path("reviews/<int:pair_id>/decision", decide, name="decide"),
]
