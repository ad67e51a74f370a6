"""Leases of running jobs, the processes that hold them, and jobs that are abandoned."""

from __future__ import annotations

import os
import secrets
import socket
from datetime import UTC, datetime, timedelta
from functools import partial

import psutil
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from review.documents.base import timestamp
from review.errors import Conflict
from review.models import (
    CurrentAcceptance,
    DatabaseClock,
    JobEvent,
    JobMove,
    Lease,
    Parent,
    ReviewJob,
    ReviewPair,
    ReviewPairQuerySet,
)
from review.vocabulary import OPEN_JOB_STATUSES, JobNote, JobStatus, PairStatus

# Start times are counted from the boot, whose time moves when the clock is set. A number that is
# given out again within this time of its first owner's start would need millions of others.
_TOLERANCE = timedelta(minutes=1)


class Processes:
    def __init__(self) -> None:
        self.host = socket.gethostname()

    def me(self) -> Parent:
        return Parent(self.host, os.getpid(), _started_at(psutil.Process()))

    def is_alive(self, pid: int, *, started_at: datetime | None) -> bool:
        """Return False if the process is gone, or has its number from a later start."""
        try:
            process = psutil.Process(pid)
            if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                return False
            started = _started_at(process)
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True
        return started_at is None or abs(started - started_at) <= _TOLERANCE


def _started_at(process: psutil.Process) -> datetime:
    return datetime.fromtimestamp(process.create_time(), UTC)


def abandoned_jobs(*, older_than: timedelta, processes: Processes, now: datetime) -> dict[int, str]:
    """Return running jobs that started too long ago or whose parent here is gone, each with why."""
    running = ReviewJob.objects.filter(status=JobStatus.RUNNING).order_by("pk")
    why = partial(abandonment, older_than=older_than, processes=processes, now=now)
    found = {job.pk: why(job) for job in running}
    return {job_id: because for job_id, because in found.items() if because}


def abandonment(
    job: ReviewJob, *, older_than: timedelta, processes: Processes, now: datetime
) -> str:
    """Return why a running job seems abandoned; empty when it does not."""
    if job.batch_until is not None:
        why = f"its batch {job.batch_id or '(not recorded)'} had until {timestamp(job.batch_until)}"
        return why if now > job.batch_until else ""
    alive = parent_is_alive(job, processes=processes)
    if alive is False and job.parent_host == processes.host:
        return f"its parent, process {job.parent_pid}, is gone"
    if alive is False:
        return f"its lease ran out at {timestamp(job.leased_until)}, and {job.claimed_by} had it"
    if alive or job.started_at is None or job.started_at >= now - older_than:
        return ""
    return f"it has been running since {timestamp(job.started_at)}"


def parent_is_alive(job: ReviewJob, *, processes: Processes) -> bool | None:
    """Return whether the process that took the job still runs; None: this host cannot know.

    Its own host knows at once; elsewhere, or where the process stands still, the lease says so.
    """
    is_here = job.parent_host == processes.host
    if job.parent_pid is not None and is_here:
        if not processes.is_alive(job.parent_pid, started_at=job.parent_started_at):
            return False
        if job.leased_until is None:
            return True
    has_lapsed = ReviewJob.objects.lapsed().filter(pk=job.pk)
    return None if job.leased_until is None else not has_lapsed.exists()


def unanswered_pairs() -> ReviewPairQuerySet:
    """Return pairs that failed reviews left without a review, and that nobody has seen to since."""
    same = {"note_id": OuterRef("note_id"), "gate_id": OuterRef("gate_id")}
    partition, failed_at = OuterRef("job__model_partition_id"), OuterRef("job__completed_at")
    since = Q(status=PairStatus.COMPLETED, reviewed_at__gt=failed_at)
    asked = Q(job_id__gt=OuterRef("job_id")) | Q(job__status__in=OPEN_JOB_STATUSES)
    answers = ReviewPair.objects.filter(since | asked, **same, job__model_partition_id=partition)
    accepted = CurrentAcceptance.objects.filter(
        **same, model_partition_id=partition, event__accepted_at__gt=failed_at
    )
    failed = ReviewJob.objects.reviews().filter(status=JobStatus.FAILED, replaced_by=None)
    missing = ReviewPair.objects.filter(job__in=failed, status=PairStatus.MISSING)
    return missing.exclude(Exists(answers)).exclude(Exists(accepted))


class JobNotClaimable(Conflict):
    """The job is not queued: another process has it, or it is closed."""


class LeaseLost(Conflict):
    """The claim's lease ran out, and the job is another worker's or closed by now."""


def new_lease(length: timedelta) -> Lease:
    return Lease(secrets.token_hex(16), length)


def may_take_over(job: ReviewJob, *, processes: Processes) -> bool:
    """Return whether the worker of a job with a lease is gone: its process, or its lease."""
    is_held = job.status == JobStatus.RUNNING and bool(job.claim_token)
    return is_held and parent_is_alive(job, processes=processes) is False


def take_over(
    job: ReviewJob, *, actor: str, parent: Parent, lease: Lease, now: datetime
) -> int | None:
    """Take over a job that `may_take_over` allows; how often by now, or None: it is alive."""
    with transaction.atomic():
        is_here = job.parent_host == parent.host
        jobs = ReviewJob.objects.all() if is_here else ReviewJob.objects.lapsed()
        if not jobs.take_over(job, claimed_by=actor, parent=parent, lease=lease, now=now):
            return None
        move = JobMove(job.pk, JobStatus.RUNNING, JobStatus.RUNNING, JobNote.TAKEN_OVER)
        JobEvent.objects.record([move], actor=actor, now=now)
        return job.events.filter(note=JobNote.TAKEN_OVER).count()


def forgotten_jobs(partition: str, *, queued_for: timedelta | None) -> list[int]:
    """Return the partition's jobs whose lease has expired, or that are queued for so long."""
    jobs = ReviewJob.objects.reviews().of_partition(partition)
    found = list(jobs.lapsed().values_list("pk", flat=True))
    if queued_for is not None:
        waiting = jobs.filter(status=JobStatus.QUEUED, created_at__lt=DatabaseClock() - queued_for)
        found += waiting.order_by("pk").values_list("pk", flat=True)[:500]
    return sorted(found)


def is_running(job_id: int) -> bool:
    return ReviewJob.objects.filter(pk=job_id, status=JobStatus.RUNNING).exists()


def give_up_lease(job_id: int, lease: Lease) -> None:
    """Let another worker take the job over at once."""
    ReviewJob.objects.held_by(lease).filter(pk=job_id, status=JobStatus.RUNNING).update(
        leased_until=DatabaseClock() - lease.length
    )
