"""The page of events of jobs, findings, reviews and acceptances, newest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse

from review import settings
from review.documents.base import Document, from_row
from review.domain.paths import gate_label
from review.jobs.board import show_event
from review.jobs.job_documents import (
    AcceptanceEventJson,
    DecisionEventJson,
    DispositionEventJson,
    EventListJson,
)
from review.models import Acceptance, DecisionEvent, Disposition, Finding, JobEvent, latest_of
from review.vocabulary import AcceptanceKind, DispositionState, JobStatus
from review.web.core.filters import Filters, Key, parse_filters
from review.web.core.responses import page

EVENTS_A_PAGE = 100


class EventKind(StrEnum):
    JOB = "job"
    FINDING = "finding"
    REVIEW = "review"
    ACCEPTANCE = "acceptance"


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


@dataclass(frozen=True)
class EventRow:
    """One event, and its key among those of its kind."""

    kind: EventKind
    key: int
    at: datetime
    event: Any

    @property
    def action(self) -> tuple[object, ...]:
        """The same for all events that one action made of many findings or pairs."""
        event = self.event
        if self.kind is EventKind.FINDING:
            return (self.kind, self.at, event.actor, event.state, event.reason)
        if self.kind is EventKind.ACCEPTANCE:
            return (self.kind, self.at, event.actor, event.kind, event.reason)
        return (self.kind, self.key)


def events(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, _KNOWN)
    folder = settings.current().gates_folder
    found, following = newest_events(filters, limit=EVENTS_A_PAGE, gates_folder=folder)
    paged = filters.page(found, following=following)
    return page(
        request,
        "review/events.html",
        lambda: {
            "filters": filters,
            "facets": [
                filters.facet("what", "What", dict.fromkeys(_WHAT), labels=_WHAT.__getitem__),
                filters.facet(
                    "actor", "By", dict.fromkeys(_ACTORS), labels=lambda who: _ACTORS.get(who, who)
                ),
                filters.facet("to", "Job became", dict.fromkeys(JobStatus.values)),
                filters.facet("as", "Finding became", dict.fromkeys(DispositionState.values)),
            ],
            "paged": paged,
            "events": together(found),
        },
        document=lambda: _document(found, paged.next_document),
    )


def together(events: Iterable[EventRow]) -> list[list[EventRow]]:
    """Group events that one action made of many findings or pairs."""
    return [list(group) for _action, group in groupby(events, key=attrgetter("action"))]


def _document(found: Iterable[EventRow], following: str | None) -> EventListJson:
    of: dict[EventKind, list[Any]] = {kind: [] for kind in EventKind}
    for row in found:
        of[row.kind].append(row.event)
    return EventListJson(
        events=of[EventKind.JOB],
        dispositions=of[EventKind.FINDING],
        decisions=of[EventKind.REVIEW],
        acceptances=of[EventKind.ACCEPTANCE],
        next=following,
    )


def newest_events(
    filters: Filters, *, limit: int, gates_folder: str
) -> tuple[list[EventRow], Key | None]:
    """Return the events that match, newest first, and where the list continues; None at its end.

    Keys are assigned in the order of time, so every kind is read by its key alone.
    """
    keys = filters.place(*[int] * len(EventKind)) or (0,) * len(EventKind)
    # A key of each kind; 0 means its newest.
    cursor = dict(zip(EventKind, keys, strict=True))
    streams = [
        [
            (row.at, kind, row)
            for row in (rows.filter(pk__lt=cursor[kind]) if cursor[kind] else rows)[: limit + 1]
        ]
        for kind, rows in _streams(filters).items()
    ]
    by_time = heapq.merge(*streams, key=lambda found: found[0], reverse=True)
    merged = list(islice(by_time, limit + 1))
    found = merged[:limit]
    reported = _findings({row.fingerprint for _at, kind, row in found if kind is EventKind.FINDING})
    events = [
        EventRow(kind, row.pk, at, _event(kind, row, reported, gates_folder))
        for at, kind, row in found
    ]
    cursor |= {row.kind: row.key for row in events}
    return events, tuple(cursor.values()) if len(merged) > limit else None


def _streams(filters: Filters) -> dict[EventKind, QuerySet[Any]]:
    """Statuses and a job select events of jobs only, and states dispositions only."""
    conditions: dict[EventKind, dict[str, Any]] = {
        EventKind.JOB: {"to_status__in": filters.all("to"), "job_id": filters.key("job")},
        EventKind.FINDING: {"state__in": filters.all("as")},
    }
    given = {
        kind: {name: value for name, value in found.items() if value not in ((), None)}
        for kind, found in conditions.items()
    }
    selected = [kind for kind, found in given.items() if found] or list(EventKind)
    streams: dict[EventKind, QuerySet[Any]] = {
        EventKind.JOB: JobEvent.objects.all(),
        EventKind.FINDING: Disposition.objects.all(),
        EventKind.REVIEW: DecisionEvent.objects.select_related("pair__note", "pair__gate"),
        # The acceptance of a review itself is shown by the event of its job.
        EventKind.ACCEPTANCE: Acceptance.objects.exclude(kind=AcceptanceKind.FULL_REVIEW)
        .select_related("note", "gate", "model_partition")
        .annotate(at=F("accepted_at")),
    }
    by_actor = Q()
    for actor in filters.all("actor"):
        # One that ends in `:` matches all of its kind.
        by_actor |= Q(actor__startswith=actor) if actor.endswith(":") else Q(actor=actor)
    return {
        kind: rows.filter(by_actor, **given.get(kind, {})).order_by("-pk")
        for kind, rows in streams.items()
        if filters.accepts(what=kind) and kind in selected
    }


def _event(kind: EventKind, row: Any, reported: dict[str, Finding], folder: str) -> Document:
    if kind is EventKind.JOB:
        return show_event(row)
    finding = reported.get(row.fingerprint) if kind is EventKind.FINDING else None
    pair = row if kind is EventKind.ACCEPTANCE else getattr(finding or row, "pair", None)
    named = {
        "note_path": pair and pair.note.path,
        "gate_id": pair and gate_label(pair.gate.path, folder),
    }
    if kind is EventKind.FINDING:
        return from_row(DispositionEventJson, row, text=finding and finding.text, **named)
    if kind is EventKind.REVIEW:
        return from_row(DecisionEventJson, row, review_pair_id=row.pair_id, **named)
    return from_row(AcceptanceEventJson, row, model_partition=row.model_partition.name, **named)


def _findings(fingerprints: Iterable[str]) -> dict[str, Finding]:
    """The latest report of each finding, by fingerprint."""
    return latest_of(Finding.objects.select_related("pair__note", "pair__gate"), fingerprints)
