"""The page that searches notes, findings and reviews."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse

from review import settings
from review.documents.base import from_row
from review.knowledge_base import Corpus
from review.overview.search import (
    PER_KIND,
    FoundFindingJson,
    FoundNoteJson,
    FoundReviewJson,
    SearchJson,
    SearchKind,
    SearchResult,
    find_jumps,
    wanted_words,
)
from review.overview.search import search as search_texts
from review.web.core import Paged, page, parse_filters

# Seconds that a request spends on texts that are not indexed yet; the next search goes on.
_INDEX_SECONDS = 1.0
_LABELS = {kind.value: f"{kind}s" for kind in SearchKind}


def search(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, {"q": None, "kind": list(_LABELS)})
    query = " ".join(filters.all("q"))
    words = wanted_words(query)
    kinds = [kind for kind in SearchKind if filters.accepts(kind=kind)]
    place = filters.place(int)
    offset = max(0, int(place[0])) if place else 0
    with Corpus(settings.current()) as corpus:
        search_for = partial(search_texts, kinds=kinds, offset=offset, seconds=_INDEX_SECONDS)
        found = search_for(corpus, words) if words else SearchResult()
        jumps = find_jumps(corpus, query)
    after = offset + PER_KIND
    counts = {kind.value: found.counts.get(kind, 0) for kind in SearchKind}
    has_more = any(counts[kind] > after for kind in kinds)
    paged: Paged[Any] = filters.page(following=(after,) if has_more else None)
    return page(
        request,
        "review/search.html",
        lambda: {
            "filters": filters,
            "query": query,
            "kinds": filters.all("kind"),
            "words": words,
            "complete": found.complete,
            "total": sum(counts[kind] for kind in kinds),
            "groups": [
                (kind.value, _LABELS[kind], hits, counts[kind])
                for kind, hits in found.hits.items()
                if hits
            ],
            "facets": [filters.facet("kind", "Show", counts, labels=_LABELS.__getitem__)],
            "paged": paged,
            "jumps": jumps,
        },
        document=lambda: SearchJson(
            query=query,
            complete=found.complete,
            counts=counts,
            next=paged.next_document,
            jumps=jumps,
            **_documents(found),
        ),
    )


def _documents(found: SearchResult) -> dict[str, Any]:
    notes, findings, reviews = (found.hits.get(kind, ()) for kind in SearchKind)
    return {
        "notes": [from_row(FoundNoteJson, hit) for hit in notes],
        "findings": [
            from_row(
                FoundFindingJson, hit, fingerprint=hit.key, severity=hit.word, text=hit.excerpt
            )
            for hit in findings
        ],
        "reviews": [
            from_row(FoundReviewJson, hit, review_pair_id=int(hit.key), decision=hit.word)
            for hit in reviews
        ],
    }
