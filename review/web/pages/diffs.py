"""The page of a pair's change: the accepted text against today's, and the ack of exactly that."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from review import settings
from review.acceptance.pair_actions import Pick
from review.knowledge_base import Corpus
from review.knowledge_base.opening import open_corpus
from review.overview.note_page import read_note_page
from review.reviews.pair_change import (
    Against,
    ChangeRequest,
    FileChange,
    change_document,
    read_pair_change,
)
from review.settings.config import Config
from review.web.core.filters import Filters, parse_filters
from review.web.core.responses import page
from review.web.pages.pair_actions import write_pick
from review.web.render.diff import render_diff
from review.web.render.markdown import FindingMark, mark_findings, render_plain

_ALL = "all"
_KNOWN = {"gate": None, "model": None, "against": [word.value for word in Against], "lines": [_ALL]}


def diff(request: HttpRequest, note_path: str) -> HttpResponse:
    """Show the changes of one pair; without a gate and a model, the pairs to choose from."""
    filters = parse_filters(request, _KNOWN)
    config = settings.current()
    with open_corpus(config) as corpus:
        if not filters.one("gate") or not filters.one("model"):
            return _choose(request, filters, note_path, corpus, config)
        wanted = ChangeRequest(
            note_path=note_path,
            gate_id=filters.one("gate"),
            model_partition=filters.one("model"),
            against=Against(filters.one("against", Against.ACCEPTED)),
            all_lines=filters.one("lines") == _ALL,
        )
        return page(
            request,
            "review/diff.html",
            lambda: _context(filters, wanted, corpus, config),
            document=lambda: change_document(corpus, wanted),
        )


def _choose(
    request: HttpRequest, filters: Filters, note_path: str, corpus: Corpus, config: Config
) -> HttpResponse:
    document = read_note_page(corpus, note_path, config=config).document
    pairs = [
        row
        for row in document.pairs
        if row.accepted_at and filters.accepts(gate=row.gate_id, model=row.model_partition)
    ]
    context = {"filters": filters, "note_path": document.note_path, "pairs": pairs}
    return page(request, "review/diff_choice.html", context, document=document)


def _context(
    filters: Filters, wanted: ChangeRequest, corpus: Corpus, config: Config
) -> dict[str, Any]:
    change = read_pair_change(corpus, wanted, config=config)
    row = change.accepted
    digests = (change.note.now_sha256, change.gate.now_sha256)
    pick = Pick(
        row.note.path, change.gate_id, wanted.model_partition, *digests, row.event.review_pair_id
    )
    return {
        "filters": filters,
        "change": change,
        "event": row.event,
        "note_path": row.note.path,
        "model_partition": wanted.model_partition,
        "note_html": _html(change.note, mark_findings(change.findings)),
        "gate_html": _html(change.gate, []),
        "loose": [finding for finding, line in change.findings if line is None],
        "against": wanted.against.value,
        # An ack accepts these two texts and no others.
        "pick": write_pick(pick),
    }


def _html(file: FileChange, marks: list[FindingMark]) -> str:
    if file.diff is not None:
        return render_diff(file.diff, marks=marks)
    return render_plain(file.before.text, quotes=marks) if file.now is None else ""


urlpatterns = [path("diff/<path:note_path>", diff, name="diff")]
