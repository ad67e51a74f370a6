"""The page that searches notes, findings and reviews."""

from __future__ import annotations

import logging
import threading
from typing import Any

from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.urls import path

from review import settings
from review.domain.excerpts import wanted_words
from review.errors import ReviewError
from review.knowledge_base.opening import open_corpus
from review.overview.search import PER_KIND, Found, Kind, Searcher, find_jumps
from review.overview.search_documents import (
    FoundFindingJson,
    FoundNoteJson,
    FoundReviewJson,
    JumpJson,
    SearchJson,
)
from review.settings.config import Config
from review.web.core.facets import make_facet
from review.web.core.filters import AFTER, Filters, parse_filters
from review.web.core.paging import Paged, document_url, read_place, write_place
from review.web.core.responses import page

# Seconds that a request spends on texts that are not indexed yet; the rest is read behind it.
_PATIENCE = 1.0
_BEHIND = 300.0
_reading = threading.Lock()
_log = logging.getLogger(__name__)
_LABELS: dict[str, str] = {Kind.NOTE: "notes", Kind.FINDING: "findings", Kind.REVIEW: "reviews"}


def search(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, {"q": None, "kind": [kind.value for kind in Kind]})
    query = " ".join(filters.all("q"))
    words = wanted_words(query)
    config = settings.current()
    kinds = [Kind(word) for word in filters.all("kind")] or list(Kind)
    place = read_place(filters, int)
    offset = max(0, int(place[0])) if place else 0
    found = Found()
    if words:
        with open_corpus(config) as corpus:
            searcher = Searcher(corpus, config=config)
            found = searcher.search(words, kinds=kinds, offset=offset, seconds=_PATIENCE)
    if not found.complete:
        _read_behind(config)
    most = max((found.counts.get(kind, 0) for kind in kinds), default=0)
    behind = offset + PER_KIND
    part: Paged[Any] = Paged(
        items=(),
        next_url=filters.url(**{AFTER: write_place((behind,))}) if behind < most else "",
        first_url=filters.url() if offset else "",
    )
    jumps = find_jumps(query)
    return page(
        request,
        "review/search.html",
        lambda: _context(filters, words, found) | {"paged": part, "jumps": jumps},
        document=lambda: _document(filters, found, part, jumps),
    )


def _read_behind(config: Config) -> None:
    """Index the rest after the answer; one thread a process is enough."""
    if _reading.acquire(blocking=False):
        threading.Thread(target=_read_on, args=(config,), daemon=True).start()


def _read_on(config: Config) -> None:
    try:
        with open_corpus(config) as corpus:
            Searcher(corpus, config=config).catch_up(seconds=_BEHIND)
    except ReviewError as error:
        _log.warning("indexing for the search stopped: %s", error)
    finally:
        connections.close_all()
        _reading.release()


def _context(filters: Filters, words: tuple[str, ...], found: Found) -> dict[str, Any]:
    counts: dict[str, int | None] = {kind: found.counts.get(kind, 0) for kind in Kind}
    kinds = filters.all("kind")
    return {
        "filters": filters,
        "query": " ".join(filters.all("q")),
        "kinds": kinds,
        "words": words,
        "complete": found.complete,
        "total": sum(counts[kind] or 0 for kind in kinds or Kind),
        "groups": [
            {
                "kind": kind.value,
                "title": _LABELS[kind],
                "hits": hits,
                "count": found.counts[kind],
                "url": filters.url(kind=kind.value) if len(found.hits) > 1 else "",
            }
            for kind, hits in found.hits.items()
            if hits
        ],
        "facets": [make_facet(filters, "kind", "Show", counts, labels=_LABELS)],
    }


def _document(
    filters: Filters, found: Found, part: Paged[Any], jumps: list[JumpJson]
) -> SearchJson:
    return SearchJson(
        query=" ".join(filters.all("q")),
        complete=found.complete,
        counts={kind.value: found.counts.get(kind, 0) for kind in Kind},
        next=document_url(part.next_url),
        jumps=jumps,
        notes=[
            FoundNoteJson(note_path=hit.key, excerpt=hit.excerpt)
            for hit in found.hits.get(Kind.NOTE, ())
        ],
        findings=[
            FoundFindingJson(
                fingerprint=hit.key,
                note_path=hit.note_path,
                gate_id=hit.gate_id,
                severity=hit.word,
                text=hit.excerpt,
            )
            for hit in found.hits.get(Kind.FINDING, ())
        ],
        reviews=[
            FoundReviewJson(
                review_pair_id=int(hit.key),
                note_path=hit.note_path,
                gate_id=hit.gate_id,
                decision=hit.word,
                excerpt=hit.excerpt,
            )
            for hit in found.hits.get(Kind.REVIEW, ())
        ],
    )


urlpatterns = [path("search", search, name="search")]
