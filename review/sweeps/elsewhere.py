"""Has jobs run by workers of other machines, and reads what became of them from the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from review.errors import TryAgain
from review.jobs.board import require_job
from review.models import ReviewJob
from review.protocol.telemetry import read_usage
from review.recovery.fail import closed_job
from review.runners.outcome import RunnerFailure
from review.store.retry import retry_while_busy
from review.sweeps.progress import JobRun, JobUpdate, started
from review.sweeps.run_job import TakenJob, Worker
from review.vocabulary import FailureCode, JobStatus

_POLL = 0.5
# A worker hears with its next beat that its run is to end, and needs some seconds for that.
_LEASES_TO_END = 0.5
_SECONDS_TO_END = 10.0
_WORTH_ANOTHER_JOB = (FailureCode.INTERRUPTED, FailureCode.RATE_LIMITED)


@dataclass
class Elsewhere:
    """Sends jobs away, by their ids; the store shows when they start and end.

    When `worker.stop` is set, jobs that no worker has claimed fail, and the others are stopped.
    """

    worker: Worker
    send: Callable[[int], None]
    _under_way: dict[int, str] = field(default_factory=dict)
    _recalled_at: float | None = None

    def start(self, job: int | TakenJob) -> None:
        """Send a job; TryAgain is raised where it is the first, and cannot be sent."""
        job_id = job if isinstance(job, int) else job.job.pk
        try:
            self.send(job_id)
        except TryAgain:
            # Later ones stay queued, and what looks for forgotten jobs sends them again.
            if not self._under_way:
                raise
        self._under_way[job_id] = JobStatus.QUEUED

    def updates(self, timeout: float | None) -> Iterable[JobUpdate]:
        del timeout
        time.sleep(_POLL)
        if self.worker.stop.is_set():
            self._recall()
        return retry_while_busy(self._look, stop=self.worker.stop)

    def close(self) -> None:
        """Nothing runs here."""

    def _look(self) -> list[JobUpdate]:
        """Return what happened to the jobs under way since the last look."""
        updates: list[JobUpdate] = []
        rows = ReviewJob.objects.filter(pk__in=self._under_way).order_by("pk")
        known = dict(self._under_way)
        for job_id, status in rows.values_list("pk", "status"):
            if status == known[job_id]:
                continue
            job = require_job(job_id)
            if known[job_id] == JobStatus.QUEUED:
                updates.append(started(job))
            known[job_id] = status
            if status != JobStatus.RUNNING:
                updates.append(self._run(job))
                del known[job_id]
        self._under_way = known
        return updates

    def _recall(self) -> None:
        """Ask all to end; close those that do not within their time."""
        if self._recalled_at is None:
            self._recalled_at = time.monotonic()
            self._fail(JobStatus.QUEUED, "not started: the sweep was interrupted")
            # Its worker finds that its lease cannot be extended, and stores what there is.
            running = ReviewJob.objects.filter(pk__in=self._under_way, status=JobStatus.RUNNING)
            running.update(leased_until=None)
        patience = _LEASES_TO_END * self.worker.beats.length.total_seconds() + _SECONDS_TO_END
        if time.monotonic() > self._recalled_at + patience:
            why = "its worker did not end it when the sweep was interrupted"
            self._fail(JobStatus.RUNNING, why)

    def _fail(self, leaving: JobStatus, why: str) -> None:
        for job_id in self._under_way:
            self.worker.give_up(job_id, why, leaving=leaving)

    def _run(self, job: ReviewJob) -> JobRun:
        """A closed job, as the worker that ran it would report it."""
        failure = None
        if job.status == JobStatus.FAILED:
            code = FailureCode(job.failure_code)
            failure = RunnerFailure(
                code,
                job.failure_reason,
                retryable=code in _WORTH_ANOTHER_JOB,
                exhausted=code is FailureCode.ACCOUNT_EXHAUSTED,
            )
        seconds = 0.0
        if job.started_at is not None and job.completed_at is not None:
            seconds = (job.completed_at - job.started_at).total_seconds()
        document = closed_job(job.pk, config=self.worker.config)
        return JobRun(document, read_usage(job.telemetry), 1, seconds, failure)
