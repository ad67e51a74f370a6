"""The page of reviews to look at: undecided ones, and passes that their findings contradict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone

from review.contracts.queue import LookJson, LooksJson
from review.web.facets import make_facet
from review.web.filters import Filters, parse_filters
from review.web.first_time import needs
from review.web.pages import page
from review.web.paging import Key, paged, read_place
from review.web.start import STANDING, standing
from review.web.words import label

LOOKS_A_PAGE = 50
WHY = ("decision-unknown", "decision-error", "findings-disagree")
_KNOWN = {"why": WHY, "lens": None, "partition": None}


@needs(STANDING)
def looks(request: HttpRequest) -> HttpResponse:
    """Reviews to look at, by note, gate and pair."""
    filters = parse_filters(request, _KNOWN)
    answer = standing(timezone.now())
    wanted = [look for look in answer.value.looks if _is_wanted(look, filters)]
    place = read_place(filters, str, str, int)
    rows = [look for look in wanted if place is None or _key(look) > place]
    part = paged(rows[: LOOKS_A_PAGE + 1], size=LOOKS_A_PAGE, key=_key, filters=filters)
    return page(
        request,
        "review/looks.html",
        lambda: {
            "filters": filters,
            "facets": _facets(filters, answer.value.looks),
            "paged": part,
            "total": len(wanted),
            "counted_at": answer.at,
        },
        document=LooksJson(needs_a_look=list(part.items), problems=[]),
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
