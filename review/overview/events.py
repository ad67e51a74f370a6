"""Events of jobs, dispositions, decisions of people, acks and overrides, newest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from operator import attrgetter
from typing import Any, TypeAlias

from django.db.models import F, Max, Q, QuerySet

from review.documents.base import from_row, timestamp
from review.jobs.board import show_event
from review.jobs.pages_documents import (
    AcceptanceEventJson,
    DecisionEventJson,
    DispositionEventJson,
    JobEventJson,
)
from review.models import Acceptance, DecisionEvent, Disposition, Finding, JobEvent
from review.selection.path_filters import gate_label
from review.vocabulary import AcceptanceKind, DispositionState, JobStatus

EventJson: TypeAlias = JobEventJson | DispositionEventJson | DecisionEventJson | AcceptanceEventJson


class EventKind(StrEnum):
    JOB = "job"
    FINDING = "finding"
    REVIEW = "review"
    ACCEPTANCE = "acceptance"


# The key below which each kind continues; a kind that is missing starts with its newest event.
EventCursor: TypeAlias = Mapping[EventKind, int]


@dataclass(frozen=True)
class EventFilter:
    """A filter of events; an empty one keeps all.

    Statuses and a job select events of jobs only, and states dispositions only.

    :param actors: whole names; one that ends in `:` matches all of its kind, such as `human:`.
    """

    kinds: tuple[EventKind, ...] = ()
    to_statuses: tuple[JobStatus, ...] = ()
    states: tuple[DispositionState, ...] = ()
    actors: tuple[str, ...] = ()
    job_id: int | None = None


@dataclass(frozen=True)
class EventRow:
    """One event, and its key among those of its kind."""

    kind: EventKind
    key: int
    at: datetime
    event: EventJson


def newest_events(
    wanted: EventFilter, *, cursor: EventCursor, limit: int, gates_folder: str
) -> tuple[list[EventRow], EventCursor | None]:
    """Return the events that match, newest first, and where the list continues; None at its end.

    Keys are assigned in the order of time, so every kind is read by its key alone.
    """
    streams = [
        list((rows.filter(pk__lt=cursor[kind]) if kind in cursor else rows)[: limit + 1])
        for kind, rows in _streams(wanted).items()
    ]
    merged = [*islice(heapq.merge(*streams, key=attrgetter("at"), reverse=True), limit + 1)]
    events = list(_event_rows(merged[:limit], gates_folder))
    has_more = len(merged) > limit
    return events, {**cursor, **{row.kind: row.key for row in events}} if has_more else None


def _streams(wanted: EventFilter) -> dict[EventKind, QuerySet[Any]]:
    streams: dict[EventKind, QuerySet[Any]] = {
        EventKind.JOB: JobEvent.objects.all(),
        EventKind.FINDING: Disposition.objects.all(),
        EventKind.REVIEW: DecisionEvent.objects.select_related("pair__note", "pair__gate"),
        # The acceptance of a review itself is shown by the event of its job.
        EventKind.ACCEPTANCE: Acceptance.objects.exclude(kind=AcceptanceKind.FULL_REVIEW)
        .select_related("note", "gate", "model_partition")
        .annotate(at=F("accepted_at")),
    }
    conditions = (
        (EventKind.JOB, wanted.to_statuses, {"to_status__in": wanted.to_statuses}),
        (EventKind.JOB, wanted.job_id is not None, {"job_id": wanted.job_id}),
        (EventKind.FINDING, wanted.states, {"state__in": wanted.states}),
    )
    selected = {kind for kind, is_set, _condition in conditions if is_set} or set(EventKind)
    for kind, is_set, condition in conditions:
        if is_set:
            streams[kind] = streams[kind].filter(**condition)
    by_actor = _by_actors(wanted.actors)
    return {
        kind: streams[kind].filter(by_actor).order_by("-pk")
        for kind in wanted.kinds or EventKind
        if kind in selected
    }


def _by_actors(actors: Iterable[str]) -> Q:
    found = Q()
    for actor in actors:
        found |= Q(actor__startswith=actor) if actor.endswith(":") else Q(actor=actor)
    return found


def _event_rows(rows: Sequence[Any], gates_folder: str) -> Iterator[EventRow]:
    reported = _findings([row.fingerprint for row in rows if isinstance(row, Disposition)])
    for row in rows:
        if isinstance(row, JobEvent):
            yield EventRow(EventKind.JOB, row.pk, row.at, show_event(row))
        elif isinstance(row, Disposition):
            event = _disposition(row, reported.get(row.fingerprint), gates_folder)
            yield EventRow(EventKind.FINDING, row.pk, row.at, event)
        elif isinstance(row, DecisionEvent):
            yield EventRow(EventKind.REVIEW, row.pk, row.at, _decision(row, gates_folder))
        else:
            yield EventRow(EventKind.ACCEPTANCE, row.pk, row.at, _acceptance(row, gates_folder))


def _findings(fingerprints: Sequence[str]) -> dict[str, Finding]:
    """The latest report of each finding, by fingerprint."""
    latest = (
        Finding.objects.filter(fingerprint__in=set(fingerprints))
        .values("fingerprint")
        .annotate(last=Max("pk"))
        .values("last")
    )
    rows = Finding.objects.filter(pk__in=latest).select_related("pair__note", "pair__gate")
    return {row.fingerprint: row for row in rows}


def _disposition(
    row: Disposition, finding: Finding | None, gates_folder: str
) -> DispositionEventJson:
    return from_row(
        DispositionEventJson,
        row,
        text=finding.text if finding else None,
        note_path=finding.pair.note.path if finding else None,
        gate_id=gate_label(finding.pair.gate.path, gates_folder) if finding else None,
    )


def _decision(row: DecisionEvent, gates_folder: str) -> DecisionEventJson:
    return from_row(
        DecisionEventJson,
        row,
        review_pair_id=row.pair_id,
        note_path=row.pair.note.path,
        gate_id=gate_label(row.pair.gate.path, gates_folder),
    )


def _acceptance(row: Acceptance, gates_folder: str) -> AcceptanceEventJson:
    return from_row(
        AcceptanceEventJson,
        row,
        note_path=row.note.path,
        gate_id=gate_label(row.gate.path, gates_folder),
        model_partition=row.model_partition.name,
        at=timestamp(row.accepted_at),
    )
