"""The page of reviews to check: undecided ones, and those that their findings contradict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import path, reverse
from django.views.decorators.http import require_POST
from msgspec import UNSET

from review import settings
from review.acceptance.pair_actions import Pick
from review.findings.documents import LookJson, LooksJson
from review.knowledge_base.opening import open_corpus
from review.reviews.needs_a_look import LookRequest, read_looks
from review.selection.freshness import in_flight
from review.vocabulary import ACCEPTING_DECISIONS, Grouping, LookReason
from review.web.core.actions import after_post, may, require_permission
from review.web.core.cached import needs_a_look
from review.web.core.filters import (
    Filters,
    Key,
    Paged,
    make_facet,
    paged,
    parse_filters,
    read_place,
)
from review.web.core.responses import page, wants_json
from review.web.core.template_tags import label
from review.web.pages.pair_actions import NoSuchPick, ask, tell_requests

LOOKS_A_PAGE = 50
LOOKS_A_DOCUMENT = 100
WHY = tuple(LookReason.values)
LOOKS_FILTERS = {"why": WHY, "lens": None, "partition": None}
FROM_LOOKS = "looks"
# The reason that the last decision of the list was given, offered for the next one.
LAST_REASON = "looks-reason"


@dataclass(frozen=True)
class Neighbours:
    """The list that a review was opened from, and its neighbours there ("" at the ends).

    :param rank: from 1; 0 once it is no longer in the list.
    """

    list_url: str
    previous_url: str
    next_url: str
    rank: int
    total: int


def looks(request: HttpRequest) -> HttpResponse:
    """List the reviews to check, by note, gate and pair."""
    filters = parse_filters(request, LOOKS_FILTERS)
    answer = needs_a_look()
    wanted = [look for look in answer.value.needs_a_look if _is_wanted(look, filters)]
    place = read_place(filters, str, str, int)
    rows = [look for look in wanted if place is None or _key(look) > place]
    size = LOOKS_A_DOCUMENT if wants_json(request) else LOOKS_A_PAGE
    part = paged(rows[: size + 1], size=size, key=_key, filters=filters)
    return page(
        request,
        "review/looks.html",
        lambda: {
            "filters": filters,
            "facets": _facets(filters, answer.value.needs_a_look),
            "paged": part,
            "rows": _rows(part.items),
            "total": len(wanted),
            "counted_at": answer.at,
            "choices": [(number, word.value) for number, word in enumerate(ACCEPTING_DECISIONS, 1)],
            "reason": request.session.get(LAST_REASON, ""),
            "may_decide": may(request, "review.change_reviewpair"),
            "may_request": may(request, "review.change_reviewjob"),
        },
        document=lambda: _document(part, filters),
    )


def _document(part: Paged[LookJson], filters: Filters) -> LooksJson:
    """Return a part of the command's answer; the problems are those of the notes in its scope."""
    config = settings.current()
    partitions = filters.all("partition")
    scope = LookRequest(
        gate_folders=tuple(f"{config.gates_folder}/{lens}" for lens in filters.all("lens")),
        model_partition=partitions[0] if len(partitions) == 1 else None,
    )
    with open_corpus(config) as corpus:
        found = read_looks(corpus, scope, gates_folder=config.gates_folder)
    document = LooksJson(needs_a_look=list(part.items), problems=found.problems)
    document.next = part.next_document or UNSET
    return document


def _rows(looks: Sequence[LookJson]) -> list[dict[str, Any]]:
    """Return the reviews with the open job of their pair, and the row that gets the focus next."""
    jobs = {name: in_flight(name) for name in {look.model_partition for look in looks}}
    ids = [look.review_pair_id for look in looks]
    return [
        {
            "look": look,
            "job": jobs[look.model_partition].get((look.note_path, look.gate_path)),
            "following": following,
        }
        for look, following in zip(looks, [*ids[1:], *ids[-2:-1], 0], strict=False)
    ]


@require_POST
def request_again(request: HttpRequest) -> HttpResponse:
    """Queue new jobs for the pairs of reviews: of a row, or of all that are ticked."""
    require_permission(request, "review.change_reviewjob")
    named = request.POST.getlist("one") or request.POST.getlist("pair")
    listed = {str(look.review_pair_id): look for look in needs_a_look().value.needs_a_look}
    if not listed.keys() >= {*named}:
        raise NoSuchPick("a review is no longer in the list", hint="reload the page")
    picks = [
        Pick(look.note_path, look.gate_id, look.model_partition)
        for look in (listed[name] for name in named)
    ]
    tell_requests(request, ask(request, picks, grouping=Grouping.NOTE))
    return after_post(request, reverse("looks"))


def neighbours(filters: Filters, key: Key) -> Neighbours:
    """Find the neighbours of a review in the list that the filters of its own page describe.

    :param key: note path, gate path and pair of the review.
    """
    wanted = [look for look in needs_a_look().value.needs_a_look if _is_wanted(look, filters)]
    before = [look for look in wanted if _key(look) < key]
    behind = [look for look in wanted if _key(look) > key]
    chosen = [(name, value) for name, value in filters.fields if name in LOOKS_FILTERS]
    list_url = f"{reverse('looks')}?{urlencode(chosen)}" if chosen else reverse("looks")
    carried = urlencode([("from", FROM_LOOKS), *chosen])
    previous, following = (
        f"{reverse('review', args=[look.review_pair_id])}?{carried}" if look else ""
        for look in (before[-1] if before else None, behind[0] if behind else None)
    )
    is_listed = len(before) + len(behind) < len(wanted)
    rank = len(before) + 1 if is_listed else 0
    return Neighbours(list_url, previous, following, rank, len(wanted))


def _key(look: LookJson) -> Key:
    return (look.note_path, look.gate_path, look.review_pair_id)


def _is_wanted(look: LookJson, filters: Filters) -> bool:
    return filters.accepts(why=look.why, lens=look.lens, partition=look.model_partition)


def _facets(filters: Filters, found: Iterable[LookJson]) -> list[object]:
    whys = Counter(look.why for look in found)
    lenses = Counter(look.lens for look in found)
    partitions = Counter(look.model_partition for look in found)
    labels = {word: label(word) for word in WHY}
    return [
        make_facet(filters, "why", "Why", {word: whys[word] for word in WHY}, labels=labels),
        make_facet(filters, "lens", "Lens", dict(sorted(lenses.items()))),
        make_facet(filters, "partition", "Model partition", dict(sorted(partitions.items()))),
    ]


urlpatterns = [
    path("looks/", looks, name="looks"),
    path("looks/request", request_again, name="request-again"),
]
