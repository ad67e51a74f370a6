"""The moves of a job as documents show them."""

from __future__ import annotations

from review.documents.base import timestamp
from review.jobs.pages_documents import JobEventJson
from review.models import JobEvent


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
