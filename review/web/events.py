"""The page of events: every move of every job, newest first."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import path

from review.contracts.job_pages import EventListJson
from review.queries.event_log import EventFilter, newest_events
from review.vocabulary import JobStatus
from review.web.facets import make_facet
from review.web.filters import UnknownFilter, parse_filters
from review.web.pages import page
from review.web.paging import paged, read_place

EVENTS_A_PAGE = 100
_KNOWN = {"to": JobStatus.values, "actor": None, "job": None}
_ACTORS = {"human:": "people", "agent:": "agents", "sweep:": "sweeps"}


def events(request: HttpRequest) -> HttpResponse:
    """The moves of jobs."""
    filters = parse_filters(request, _KNOWN)
    wanted = EventFilter(
        to_statuses=tuple(JobStatus(word) for word in filters.all("to")),
        actors=filters.all("actor"),
        job_id=_job_id(filters.one("job")),
    )
    place = read_place(filters, int)
    found = newest_events(wanted, before=int(place[0]) if place else None, limit=EVENTS_A_PAGE + 1)
    part = paged(
        found,
        size=EVENTS_A_PAGE,
        key=lambda event: (event.review_job_event_id,),
        filters=filters,
    )
    facets = [
        make_facet(filters, "to", "Moved to", dict.fromkeys(JobStatus.values)),
        make_facet(filters, "actor", "By", dict.fromkeys(_ACTORS), labels=_ACTORS),
    ]
    return page(
        request,
        "review/events.html",
        {"filters": filters, "facets": facets, "paged": part, "events": part.items},
        document=EventListJson(events=list(part.items)),
    )


def _job_id(word: str) -> int | None:
    if not word:
        return None
    if not (word.isascii() and word.isdigit()) or len(word) > 18:
        raise UnknownFilter(f"filter 'job' has no value {word!r}", hint="it takes a job's number")
    return int(word)


urlpatterns = [path("events/", events, name="events")]
