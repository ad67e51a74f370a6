"""Finds running jobs that seem abandoned, and failed ones that still miss a review."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, QuerySet

from review.documents.base import timestamp
from review.models import ReviewJob, ReviewPair
from review.runners.process.table import Processes
from review.vocabulary import JobStatus, PairStatus


def abandoned_jobs(*, older_than: timedelta, processes: Processes, now: datetime) -> dict[int, str]:
    """Return running jobs that started too long ago or whose parent here is gone, each with why.

    A job whose parent is alive on this host is none, however long it takes.
    """
    running = ReviewJob.objects.filter(status=JobStatus.RUNNING).order_by("pk")
    found = {
        job.pk: abandonment(job, older_than=older_than, processes=processes, now=now)
        for job in running
    }
    return {job_id: because for job_id, because in found.items() if because}


def abandonment(
    job: ReviewJob, *, older_than: timedelta, processes: Processes, now: datetime
) -> str:
    """Return why the job seems abandoned; empty when it does not."""
    if job.batch_until is not None and job.status == JobStatus.RUNNING:
        why = f"its batch {job.batch_id or '(not recorded)'} had until {timestamp(job.batch_until)}"
        return why if now > job.batch_until else ""
    alive = parent_is_alive(job, processes=processes)
    if job.status != JobStatus.RUNNING or alive:
        return ""
    if alive is not None and job.parent_host == processes.host:
        return f"its parent, process {job.parent_pid}, is gone"
    if alive is not None:
        return f"its lease ran out at {timestamp(job.leased_until)}, and {job.claimed_by} had it"
    if job.started_at is None or job.started_at >= now - older_than:
        return ""
    return f"it has been running since {timestamp(job.started_at)}"


def parent_is_alive(job: ReviewJob, *, processes: Processes) -> bool | None:
    """Return whether the process that took the job still runs; None: this host cannot know.

    On its own host a process that is gone is known at once; else its lease says so, and that of a
    process that stands still.
    """
    is_here = job.parent_host == processes.host
    if job.parent_pid is not None and is_here:
        if not processes.is_alive(job.parent_pid, started_at=job.parent_started_at):
            return False
        if job.leased_until is None:
            return True
    if job.leased_until is None:
        return None
    return not ReviewJob.objects.lapsed().filter(pk=job.pk).exists()


def unanswered_jobs() -> QuerySet[ReviewJob]:
    """Return failed reviews without replacement, with a missing pair not reviewed since."""
    answers = ReviewPair.objects.completed().filter(
        note_id=OuterRef("note_id"),
        gate_id=OuterRef("gate_id"),
        job__model_partition_id=OuterRef("job__model_partition_id"),
        reviewed_at__gt=OuterRef("job__completed_at"),
    )
    missing = ReviewPair.objects.filter(job_id=OuterRef("pk"), status=PairStatus.MISSING)
    failed = ReviewJob.objects.reviews().filter(status=JobStatus.FAILED, replaced_by=None)
    return failed.filter(Exists(missing.exclude(Exists(answers))))
