"""The page of one note with its reviews, findings, text and past."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.safestring import SafeString

from review import settings
from review.acceptance.pair_actions import Pick
from review.domain.diffs.words import word_diff
from review.knowledge_base import Corpus
from review.knowledge_base.opening import open_corpus
from review.models import FileSnapshot, ModelPartition
from review.overview.documents import ACT, NOTHING, REVIEW, NotePairJson
from review.overview.note_page import HISTORY, NotePage, read_note_page
from review.settings.config import Config
from review.vocabulary import Staleness
from review.web.core.filters import Filters, parse_filters
from review.web.core.responses import page
from review.web.pages.note_list import notes
from review.web.pages.pair_actions import write_pick
from review.web.render.diff import render_diff
from review.web.render.markdown import mark_findings, note_links, render_text
from review.web.render.tokens import Look

# Texts that one page compares word by word; the others get links.
MAX_COMPARED = 3
# Characters of written changes on one page, which has the note itself to show, too.
_ROOM = 120_000
_TITLES = {
    ACT: "stale by a change, warn, fail, or without a decision",
    REVIEW: "stale: missing review",
    NOTHING: "fresh and passed, or the gate no longer applies",
}

# A pair, and its value in the form; "" where it can be neither acked nor requested.
Row = tuple[NotePairJson, str]


def note(request: HttpRequest, note_path: str) -> HttpResponse:
    filters = parse_filters(request, {"model": None, "as": ["lines"]})
    config = settings.current()
    place = filters.place(int)
    with open_corpus(config) as corpus:
        shown = read_note_page(
            corpus,
            note_path,
            partitions=filters.all("model"),
            before=int(place[0]) if place else None,
            config=config,
        )
        return page(
            request,
            "review/note.html",
            lambda: _context(filters, shown, corpus, config),
            document=shown.document,
        )


def _context(filters: Filters, shown: NotePage, corpus: Corpus, config: Config) -> dict[str, Any]:
    names = ModelPartition.objects.order_by("name").values_list("name", flat=True)
    rows = [(pair, _pick(shown, pair)) for pair in shown.document.pairs]
    # What wants an act comes first; the first group that has any is open.
    groups = {name: [(pair, pick) for pair, pick in rows if pair.wants == name] for name in _TITLES}
    return {
        "filters": filters,
        "note": shown,
        "about": shown.document,
        "changed": _changed(rows, shown.text),
        "groups": [(_TITLES[name], name, found) for name, found in groups.items() if found],
        "trivial": [pick for pair, pick in rows if pick and pair.is_trivial],
        "can_pick": any(pick for _pair, pick in rows),
        "history": filters.cut(
            shown.document.history, HISTORY, lambda event: (event.acceptance_event_id,)
        ),
        "html": _html(filters, shown, corpus, config),
        "models": filters.facet(
            "model", "Model partition", dict.fromkeys((*names, *config.partitions))
        ),
    }


def _pick(shown: NotePage, pair: NotePairJson) -> str:
    if shown.facts is None or pair.is_gone:
        return ""
    digests = (shown.facts.sha256, pair.gate_sha256)
    pick = Pick(shown.path, pair.gate_id, pair.model_partition, *digests, pair.review_pair_id)
    return write_pick(pick)


def _html(filters: Filters, shown: NotePage, corpus: Corpus, config: Config) -> SafeString:
    """The note's text, or the last one that is kept, with its open findings."""
    text = shown.kept.text if shown.kept else shown.text
    if text is None:
        return SafeString("")
    marks = mark_findings(
        (item.finding, item.finding.line_now or item.finding.line)
        for item in shown.document.findings
    )
    links = note_links(corpus, shown.path, config=config)
    look = Look(link_to=links, headings=(2, 3), flavour=corpus.flavour)
    return render_text(text, by_lines="as" in filters.values, look=look, quotes=marks)


def _changed(rows: Iterable[Row], text: str | None) -> dict[str, Any]:
    """Return what changed since each accepted text of the note, and the gates that changed.

    `reasons` counts the accepted pairs that are stale, each by the first reason that holds; `picks`
    are the pairs that an ack of a change makes fresh.
    """
    pairs = [pair for pair, _pick in rows if not pair.is_gone]
    groups: dict[int, list[Row]] = {}
    for pair, pick in rows:
        if text is not None and pair.accepted_note_snapshot_id and pair.is_note_changed:
            groups.setdefault(pair.accepted_note_snapshot_id, []).append((pair, pick))
    # Those that make most pairs stale first.
    ordered = sorted(groups, key=lambda key: (-len(groups[key]), -key))
    stored = FileSnapshot.objects.filter(pk__in=ordered[:MAX_COMPARED])
    befores = dict(stored.values_list("pk", "text"))
    texts: list[dict[str, Any]] = []
    left = _ROOM
    for key in ordered:
        diff = word_diff(befores[key], text or "") if key in befores else None
        html = render_diff(diff) if diff else ""
        left -= len(html)
        found = {
            "rows": [pair for pair, _pick in groups[key]],
            "accepted_at": max(pair.accepted_at or "" for pair, _pick in groups[key]),
            "diff": diff,
            "html": html if left >= 0 else "",
            "picks": [pick for pair, pick in groups[key] if pick and pair.can_ack],
        }
        texts.append(found)
    return {
        "texts": texts,
        "gates": [pair for pair in pairs if Staleness.GATE_CHANGED in pair.reasons],
        "reasons": Counter(pair.state for pair in pairs if pair.is_changed),
        "accepted": any(pair.accepted_at is not None for pair in pairs),
    }


urlpatterns = [
    path("notes/", notes, name="notes"),
    path("notes/<path:note_path>", note, name="note"),
]
