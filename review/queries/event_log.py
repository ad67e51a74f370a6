"""The log of jobs: every move, who made it and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from review.contracts.base import timestamp
from review.contracts.job_pages import JobEventJson
from review.models import JobEvent
from review.vocabulary import JobStatus


@dataclass(frozen=True)
class EventFilter:
    """Which moves to give; an empty filter keeps all.

    :param actors: whole names; one that ends in `:` stands for all of its kind, such as `human:`.
    """

    to_statuses: tuple[JobStatus, ...] = ()
    actors: tuple[str, ...] = ()
    job_id: int | None = None


def newest_events(wanted: EventFilter, *, before: int | None, limit: int) -> list[JobEventJson]:
    """The moves that match, newest first, below the id `before`."""
    events = JobEvent.objects.order_by("-pk")
    if before is not None:
        events = events.filter(pk__lt=before)
    if wanted.job_id is not None:
        events = events.filter(job_id=wanted.job_id)
    if wanted.to_statuses:
        events = events.filter(to_status__in=wanted.to_statuses)
    if wanted.actors:
        events = events.filter(_by(wanted.actors))
    return [show_event(event) for event in events[:limit]]


def events_of_job(job_id: int) -> list[JobEventJson]:
    """Every move of one job, oldest first."""
    return [show_event(event) for event in JobEvent.objects.filter(job_id=job_id).order_by("pk")]


def show_event(event: JobEvent) -> JobEventJson:
    """A move as documents show it."""
    return JobEventJson(
        review_job_event_id=event.pk,
        review_job_id=event.job_id,
        from_status=event.from_status or None,
        to_status=event.to_status,
        actor=event.actor,
        note=event.note,
        at=timestamp(event.at),
    )


def _by(actors: Iterable[str]) -> Q:
    found = Q()
    for actor in actors:
        found |= Q(actor__startswith=actor) if actor.endswith(":") else Q(actor=actor)
    return found
