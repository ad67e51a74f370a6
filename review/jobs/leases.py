"""Leases of running jobs: jobs are taken over from workers that are gone, whose results are refused."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.db import transaction

from review.domain.processes import Parent
from review.errors import Conflict
from review.jobs.abandonment import parent_is_alive
from review.models import DatabaseClock, JobEvent, JobMove, Lease, ReviewJob
from review.runners.process.table import Processes
from review.vocabulary import JobNote, JobStatus

_MOST_AT_ONCE = 500


class LeaseLost(Conflict):
    """The claim's lease ran out, and the job is another worker's or closed by now."""


def new_lease(length: timedelta) -> Lease:
    return Lease(secrets.token_hex(16), length)


def may_take_over(job: ReviewJob, *, processes: Processes) -> bool:
    """Return whether the worker of a job with a lease is gone: its process, or its lease."""
    return bool(
        job.status == JobStatus.RUNNING
        and job.claim_token
        and parent_is_alive(job, processes=processes) is False
    )


def take_over(
    job: ReviewJob, *, actor: str, parent: Parent, lease: Lease, now: datetime
) -> int | None:
    """Take over a job that `may_take_over` allows; how often it has been by now.

    None where its worker has shown a sign of life since, or another was quicker.
    """
    with transaction.atomic():
        jobs = ReviewJob.objects.all()
        if job.parent_host != parent.host:
            jobs = jobs.lapsed()
        if not jobs.take_over(job, claimed_by=actor, parent=parent, lease=lease, now=now):
            return None
        move = JobMove(job.pk, JobStatus.RUNNING, JobStatus.RUNNING, JobNote.TAKEN_OVER)
        JobEvent.objects.record([move], actor=actor, now=now)
        return job.events.filter(note=JobNote.TAKEN_OVER).count()


def forgotten_jobs(partition: str, *, queued_for: timedelta | None) -> list[int]:
    """Return the partition's jobs whose lease has expired, oldest first.

    :param queued_for: also those that have been queued for so long; None: none of them.
    """
    jobs = ReviewJob.objects.reviews().of_partition(partition)
    found = list(jobs.lapsed().values_list("pk", flat=True))
    if queued_for is not None:
        waiting = jobs.filter(status=JobStatus.QUEUED, created_at__lt=DatabaseClock() - queued_for)
        found += waiting.order_by("pk").values_list("pk", flat=True)[:_MOST_AT_ONCE]
    return sorted(found)


def is_running(job_id: int) -> bool:
    return ReviewJob.objects.filter(pk=job_id, status=JobStatus.RUNNING).exists()


def require_lease(job_id: int, lease: Lease) -> bool:
    """Refuse a result whose claim does not hold the job any more; True: the claim completed it.

    :raises LeaseLost: says who has the job, or that it is closed.
    """
    job = ReviewJob.objects.get(pk=job_id)
    if job.claim_token == lease.token and job.status in (JobStatus.RUNNING, JobStatus.COMPLETED):
        return job.status == JobStatus.COMPLETED
    now = job.status if job.claim_token == lease.token else f"taken over by {job.claimed_by}"
    raise LeaseLost(
        f"the lease of job {job_id} ran out: it is {now}; this result comes too late",
        hint="nothing was stored; a worker keeps its lease while it runs and reaches the store",
    )


def give_up_lease(job_id: int, lease: Lease) -> None:
    """Let another worker take the job over at once."""
    held = ReviewJob.objects.held_by(lease).filter(pk=job_id, status=JobStatus.RUNNING)
    held.update(leased_until=DatabaseClock() - lease.length)
