"""The page of events: who did what to jobs, findings, reviews and acceptances, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from review.overview.events import Act, ActFilter, ActKind, ActPage, Place, newest_acts
from review.vocabulary import DispositionState, JobStatus
from review.web.core.facets import make_facet
from review.web.core.filters import AFTER, Filters, parse_filters
from review.web.core.paging import Paged, document_url, read_place, write_place
from review.web.core.responses import page

EVENTS_A_PAGE = 100
_KNOWN = {
    "what": [kind.value for kind in ActKind],
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


@dataclass(frozen=True)
class ShownAct:
    """An act; `more` are the others that one press of a button did with it."""

    act: Act
    more: tuple[Act, ...]


def events(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, _KNOWN)
    found = newest_acts(
        _wanted(filters),
        place=_read_place(filters),
        limit=EVENTS_A_PAGE,
        gates_folder=settings.current().gates_folder,
    )
    part = _paged(filters, found)
    return page(
        request,
        "review/events.html",
        lambda: {
            "filters": filters,
            "facets": _facets(filters),
            "paged": part,
            "events": list(shown_acts(part.items)),
        },
        document=lambda: _document(part),
    )


def shown_acts(acts: Sequence[Act]) -> Iterator[ShownAct]:
    """The acts, with what was done to many findings or pairs at once as one."""
    for _what, some in groupby(acts, key=_deed):
        first, *more = some
        yield ShownAct(first, tuple(more))


def _deed(act: Act) -> tuple[object, ...]:
    event = act.event
    if isinstance(event, DispositionEventJson):
        return (act.kind, act.at, event.actor, event.state, event.reason)
    if isinstance(event, AcceptanceEventJson):
        return (act.kind, act.at, event.actor, event.kind, event.reason)
    return (act.kind, act.key)


def _wanted(filters: Filters) -> ActFilter:
    return ActFilter(
        kinds=tuple(ActKind(word) for word in filters.all("what")),
        to_statuses=tuple(JobStatus(word) for word in filters.all("to")),
        states=tuple(DispositionState(word) for word in filters.all("as")),
        actors=filters.all("actor"),
        job_id=filters.key("job"),
    )


def _facets(filters: Filters) -> list[Any]:
    return [
        make_facet(filters, "what", "What", dict.fromkeys(_WHAT), labels=_WHAT),
        make_facet(filters, "actor", "By", dict.fromkeys(_ACTORS), labels=_ACTORS),
        make_facet(filters, "to", "Job became", dict.fromkeys(JobStatus.values)),
        make_facet(filters, "as", "Finding became", dict.fromkeys(DispositionState.values)),
    ]


def _read_place(filters: Filters) -> Place:
    """A key of each kind; 0 stands for its newest."""
    keys = read_place(filters, *[int] * len(ActKind))
    return {kind: int(key) for kind, key in zip(ActKind, keys or (), strict=False) if key}


def _paged(filters: Filters, found: ActPage) -> Paged[Act]:
    then = found.next_place
    after = write_place(tuple((then or {}).get(kind, 0) for kind in ActKind))
    return Paged(
        items=found.acts,
        next_url="" if then is None else filters.url(**{AFTER: after}),
        first_url=filters.url() if filters.after else "",
    )


def _document(part: Paged[Act]) -> EventListJson:
    found = [act.event for act in part.items]
    return EventListJson(
        events=[event for event in found if isinstance(event, JobEventJson)],
        dispositions=[event for event in found if isinstance(event, DispositionEventJson)],
        decisions=[event for event in found if isinstance(event, DecisionEventJson)],
        acceptances=[event for event in found if isinstance(event, AcceptanceEventJson)],
        next=document_url(part.next_url),
    )


urlpatterns = [path("events/", events, name="events")]
