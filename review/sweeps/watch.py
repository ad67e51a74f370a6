"""Takes the queued jobs of a partition as they come, and those of workers that are gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import QuerySet

from review.ingest.ingest import RefusedJob
from review.jobs.claim import JobNotClaimable
from review.jobs.leases import may_take_over, new_lease
from review.models import ReviewJob
from review.store.retry import retry_while_busy
from review.sweeps.executors import CannotRun
from review.sweeps.progress import JobRun, JobUpdate, SweepEvent, event_of
from review.sweeps.run_job import TakenJob, Worker, take_job
from review.sweeps.run_jobs import RunResult, drive
from review.vocabulary import JobStatus

_POLL = 1.0
# What this worker could not run is looked at again: a checkout or a prompt may have come.
_LOOKS_AGAIN_AFTER = 60.0
_ORPHAN_LOOKS_A_LEASE = 8


def watch_jobs(
    partition: str, *, worker: Worker, on_event: Callable[[SweepEvent], None]
) -> RunResult:
    """Run jobs as they are queued, until asked to stop, or one shows that none will succeed.

    The documents of the jobs are not kept: there is no end to them.
    """
    result, watch = RunResult(), _Watch(partition, worker)

    def on_update(update: JobUpdate) -> None:
        on_event(event_of(update))
        if isinstance(update, JobRun):
            result.counts[update.document.status] += 1
            if update.failure is not None and update.failure.concerns_all:
                result.stopped_because = update.failure.reason
        elif isinstance(update, RefusedJob):
            result.counts["refused"] += 1

    drive(
        lambda: retry_while_busy(watch.take_next, stop=worker.stop),
        worker,
        may_start=lambda _under_way: not worker.stop.is_set() and result.stopped_because is None,
        on_update=on_update,
        poll=_POLL,
    )
    return result


@dataclass
class _Watch:
    partition: str
    worker: Worker
    _left: set[int] = field(default_factory=set)
    _forgets_at: float = 0.0
    _looks_for_orphans_at: float = 0.0

    def take_next(self) -> TakenJob | None:
        """Take the oldest job that this worker can run; None when there is none now."""
        if time.monotonic() > self._forgets_at:
            self._forgets_at = time.monotonic() + _LOOKS_AGAIN_AFTER
            self._left.clear()
        taken = self._take_orphan()
        while taken is None:
            job_id = None
            try:
                queued = self._jobs(JobStatus.QUEUED)
                if not queued.exists():
                    return None
                with transaction.atomic():
                    # On a server two workers look at two jobs; on SQLite one waits for the other.
                    mine = queued.select_for_update(skip_locked=True, of=("self",))
                    job_id = mine.values_list("pk", flat=True).first()
                    return None if job_id is None else self._take(job_id)
            except CannotRun:
                self._left.add(job_id or 0)
        return taken

    def _take_orphan(self) -> TakenJob | None:
        if time.monotonic() < self._looks_for_orphans_at:
            return None
        for job in self._jobs(JobStatus.RUNNING).exclude(claim_token=""):
            if may_take_over(job, processes=self.worker.processes):
                try:
                    return self._take(job.pk)
                except CannotRun:
                    self._left.add(job.pk)
                except JobNotClaimable:
                    continue
        pause = self.worker.beats.length.total_seconds() / _ORPHAN_LOOKS_A_LEASE
        self._looks_for_orphans_at = time.monotonic() + pause
        return None

    def _take(self, job_id: int) -> TakenJob:
        return take_job(job_id, new_lease(self.worker.beats.length), worker=self.worker)

    def _jobs(self, status: JobStatus) -> QuerySet[ReviewJob]:
        jobs = ReviewJob.objects.reviews().of_partition(self.partition).filter(status=status)
        return jobs.exclude(pk__in=self._left).order_by("pk")
