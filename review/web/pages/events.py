"""The page of events of jobs, findings, reviews and acceptances, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from review import settings
from review.jobs.pages_documents import (
    AcceptanceEventJson,
    DecisionEventJson,
    DispositionEventJson,
    EventListJson,
    JobEventJson,
)
from review.overview.events import EventFilter, EventKind, EventRow, newest_events
from review.vocabulary import DispositionState, JobStatus
from review.web.core.filters import (
    Filters,
    Paged,
    make_facet,
    paged_to,
    parse_filters,
    read_place,
)
from review.web.core.responses import page

EVENTS_A_PAGE = 100
_KNOWN = {
    "what": [kind.value for kind in EventKind],
    "to": JobStatus.values,
    "as": DispositionState.values,
    "actor": None,
    "job": None,
}
_WHAT = {
    "job": "jobs",
    "finding": "findings",
    "review": "decisions",
    "acceptance": "acks and overrides",
}
_ACTORS = {"human:": "people", "agent:": "agents", "sweep:": "sweeps"}


def events(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, _KNOWN)
    keys = read_place(filters, *[int] * len(EventKind)) or ()
    found, following = newest_events(
        EventFilter(
            kinds=tuple(EventKind(word) for word in filters.all("what")),
            to_statuses=tuple(JobStatus(word) for word in filters.all("to")),
            states=tuple(DispositionState(word) for word in filters.all("as")),
            actors=filters.all("actor"),
            job_id=filters.key("job"),
        ),
        # A key of each kind; 0 means its newest.
        cursor={kind: int(key) for kind, key in zip(EventKind, keys, strict=False) if key},
        limit=EVENTS_A_PAGE,
        gates_folder=settings.current().gates_folder,
    )
    after = tuple(following.get(kind, 0) for kind in EventKind) if following else None
    part = paged_to(after, found, filters=filters)
    return page(
        request,
        "review/events.html",
        lambda: {
            "filters": filters,
            "facets": _facets(filters),
            "paged": part,
            "events": together(found),
        },
        document=lambda: _document(part),
    )


def together(events: Sequence[EventRow]) -> list[list[EventRow]]:
    """Group events that one action made of many findings or pairs."""
    return [list(group) for _action, group in groupby(events, key=_action)]


def _action(row: EventRow) -> tuple[object, ...]:
    event = row.event
    if isinstance(event, DispositionEventJson):
        return (row.kind, row.at, event.actor, event.state, event.reason)
    if isinstance(event, AcceptanceEventJson):
        return (row.kind, row.at, event.actor, event.kind, event.reason)
    return (row.kind, row.key)


def _facets(filters: Filters) -> list[Any]:
    return [
        make_facet(filters, "what", "What", dict.fromkeys(_WHAT), labels=_WHAT),
        make_facet(filters, "actor", "By", dict.fromkeys(_ACTORS), labels=_ACTORS),
        make_facet(filters, "to", "Job became", dict.fromkeys(JobStatus.values)),
        make_facet(filters, "as", "Finding became", dict.fromkeys(DispositionState.values)),
    ]


def _document(part: Paged[EventRow]) -> EventListJson:
    found = [row.event for row in part.items]
    return EventListJson(
        events=[event for event in found if isinstance(event, JobEventJson)],
        dispositions=[event for event in found if isinstance(event, DispositionEventJson)],
        decisions=[event for event in found if isinstance(event, DecisionEventJson)],
        acceptances=[event for event in found if isinstance(event, AcceptanceEventJson)],
        next=part.next_document,
    )


urlpatterns = [path("events/", events, name="events")]
