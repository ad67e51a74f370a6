"""The page that searches notes, findings and reviews."""

from __future__ import annotations

import threading
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from review import conf
from review.conf import Config
from review.contracts.search import FoundFindingJson, FoundNoteJson, FoundReviewJson, SearchJson
from review.corpus import Corpus
from review.domain.excerpts import Part, wanted_words
from review.queries.searching import PER_KIND, Found, Kind, Searcher
from review.web.behind import behind_an_answer
from review.web.facets import make_facet
from review.web.filters import Filters, parse_filters
from review.web.pages import page

# Seconds that a request reads what the index lacks; the rest is read behind.
_PATIENCE = 1.0
_BEHIND = 300.0
_reading = threading.Lock()
_LABELS: dict[str, str] = {Kind.NOTE: "notes", Kind.FINDING: "findings", Kind.REVIEW: "reviews"}


def search(request: HttpRequest) -> HttpResponse:
    """What holds all the words."""
    filters = parse_filters(request, {"q": None, "kind": [kind.value for kind in Kind]})
    words = wanted_words(" ".join(filters.all("q")))
    config = conf.current()
    kinds = [Kind(word) for word in filters.all("kind")] or list(Kind)
    found = Found()
    if words:
        with Corpus(config) as corpus:
            found = Searcher(corpus, config=config).search(words, kinds=kinds, seconds=_PATIENCE)
    if not found.complete:
        _read_behind(config)
    return page(
        request,
        "review/search.html",
        lambda: _context(filters, words, found),
        document=lambda: _document(filters, found),
    )


def _read_behind(config: Config) -> None:
    """Go on reading after the answer; one thread a process is enough."""
    if _reading.acquire(blocking=False):
        threading.Thread(target=_read_on, args=(config,), daemon=True).start()


def _read_on(config: Config) -> None:
    try:
        with behind_an_answer(), Corpus(config) as corpus:
            Searcher(corpus, config=config).catch_up(seconds=_BEHIND)
    finally:
        _reading.release()


def _context(filters: Filters, words: tuple[str, ...], found: Found) -> dict[str, Any]:
    shown = (found.notes, found.findings, found.reviews)
    counts: dict[str, int | None] = {kind: found.counts.get(kind, 0) for kind in Kind}
    return {
        "filters": filters,
        "query": " ".join(filters.all("q")),
        "kinds": filters.all("kind"),
        "words": words,
        "found": found,
        "total": sum(map(len, shown)),
        "most": PER_KIND,
        "facets": [make_facet(filters, "kind", "Show", counts, labels=_LABELS)],
    }


def _document(filters: Filters, found: Found) -> SearchJson:
    return SearchJson(
        query=" ".join(filters.all("q")),
        complete=found.complete,
        notes=[
            FoundNoteJson(note_path=item.path, excerpt=_text(item.parts)) for item in found.notes
        ],
        findings=[
            FoundFindingJson(
                fingerprint=item.fingerprint,
                note_path=item.note_path,
                gate_id=item.gate_id,
                severity=item.severity,
                text=_text(item.parts),
            )
            for item in found.findings
        ],
        reviews=[
            FoundReviewJson(
                review_pair_id=item.pair_id,
                note_path=item.note_path,
                gate_id=item.gate_id,
                decision=item.decision,
                excerpt=_text(item.parts),
            )
            for item in found.reviews
        ],
    )


def _text(parts: tuple[Part, ...]) -> str:
    return "".join(part.text for part in parts)


urlpatterns = [path("search", search, name="search")]
