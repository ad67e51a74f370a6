"""The page of reviews to look at: undecided ones, and passes that their findings contradict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from msgspec import structs

from review import settings
from review.documents.problems import problem_json
from review.findings.documents import LookJson, LooksPageJson
from review.knowledge_base.opening import open_corpus
from review.reviews.needs_a_look import LookRequest, read_looks
from review.reviews.texts import rationales
from review.settings.config import Config
from review.vocabulary import LookReason
from review.web.core.cached import needs_a_look
from review.web.core.facets import make_facet
from review.web.core.filters import Filters, parse_filters
from review.web.core.labels import label
from review.web.core.paging import Key, Paged, document_url, paged, read_place
from review.web.core.responses import page

LOOKS_A_PAGE = 50
LOOKS_A_DOCUMENT = 100
WHY = tuple(LookReason.values)
LOOKS_FILTERS = {"why": WHY, "lens": None, "partition": None}
FROM_LOOKS = "looks"


@dataclass(frozen=True)
class Neighbours:
    """The list that a review was opened from, and what stands beside it there ("" at the ends).

    :param rank: from 1; 0 once it is no longer in the list.
    """

    list_url: str
    previous_url: str
    next_url: str
    rank: int
    total: int


def looks(request: HttpRequest) -> HttpResponse:
    """Reviews to look at, by note, gate and pair."""
    filters = parse_filters(request, LOOKS_FILTERS)
    return page(
        request,
        "review/looks.html",
        lambda: _context(filters),
        document=lambda: _document(filters, settings.current()),
    )


def _context(filters: Filters) -> dict[str, Any]:
    answer = needs_a_look()
    wanted = [look for look in answer.value if _is_wanted(look, filters)]
    return {
        "filters": filters,
        "facets": _facets(filters, answer.value),
        "paged": _part(wanted, filters, size=LOOKS_A_PAGE),
        "total": len(wanted),
        "counted_at": answer.at,
    }


def _part(wanted: Iterable[LookJson], filters: Filters, *, size: int) -> Paged[LookJson]:
    place = read_place(filters, str, str, int)
    rows = [look for look in wanted if place is None or _key(look) > place]
    return paged(rows[: size + 1], size=size, key=_key, filters=filters)


def _document(filters: Filters, config: Config) -> LooksPageJson:
    """What the command says at this moment, not what the page remembers."""
    partitions = filters.all("partition")
    request = LookRequest(
        gate_folders=tuple(f"{config.gates_folder}/{lens}" for lens in filters.all("lens")),
        model_partition=partitions[0] if len(partitions) == 1 else None,
        with_rationale=False,
    )
    with open_corpus(config) as corpus:
        found = read_looks(corpus, request, gates_folder=config.gates_folder)
    wanted = (look for look in found.looks if _is_wanted(look, filters))
    part = _part(wanted, filters, size=LOOKS_A_DOCUMENT)
    texts = rationales(look.review_pair_id for look in part.items)
    document = LooksPageJson(
        needs_a_look=[
            structs.replace(look, rationale=texts.get(look.review_pair_id)) for look in part.items
        ],
        problems=[problem_json(problem) for problem in found.problems],
    )
    if following := document_url(part.next_url):
        document.next = following
    return document


def neighbours(filters: Filters, key: Key) -> Neighbours:
    """Where a review stands in the list that the filters of its own page describe.

    :param key: note path, gate path and pair of the review.
    """
    wanted = [look for look in needs_a_look().value if _is_wanted(look, filters)]
    before = [look for look in wanted if _key(look) < key]
    behind = [look for look in wanted if _key(look) > key]
    chosen = [(name, value) for name, value in filters.fields if name in LOOKS_FILTERS]
    query = urlencode(chosen)
    list_url = f"{reverse('looks')}?{query}" if query else reverse("looks")
    carried = urlencode([("from", FROM_LOOKS), *chosen])

    def url(look: LookJson) -> str:
        return f"{reverse('review', args=[look.review_pair_id])}?{carried}"

    return Neighbours(
        list_url=list_url,
        previous_url=url(before[-1]) if before else "",
        next_url=url(behind[0]) if behind else "",
        rank=len(before) + 1 if len(before) + len(behind) < len(wanted) else 0,
        total=len(wanted),
    )


def _key(look: LookJson) -> Key:
    return (look.note_path, look.gate_path, look.review_pair_id)


def _is_wanted(look: LookJson, filters: Filters) -> bool:
    return all(
        not filters.all(name) or value in filters.all(name)
        for name, value in (
            ("why", look.why),
            ("lens", look.lens),
            ("partition", look.model_partition),
        )
    )


def _facets(filters: Filters, found: Iterable[LookJson]) -> list[object]:
    whys = Counter(look.why for look in found)
    lenses = Counter(look.lens for look in found)
    partitions = Counter(look.model_partition for look in found)
    labels = {word: label(word) for word in WHY}
    facets = (
        make_facet(filters, "why", "Why", {word: whys[word] for word in WHY}, labels=labels),
        make_facet(filters, "lens", "Lens", dict(sorted(lenses.items()))),
        make_facet(filters, "partition", "Model partition", dict(sorted(partitions.items()))),
    )
    return [facet for facet in facets if facet.options]


urlpatterns = [path("looks/", looks, name="looks")]
