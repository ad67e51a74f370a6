"""Runs queued jobs: those of a sweep, those that are named, or all of a partition; here or elsewhere."""

from __future__ import annotations

import queue
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from django.db import connection, transaction
from django.db.models import QuerySet

from review.errors import ReviewError, TryAgain, UsageRefused
from review.jobs.board import require_job
from review.jobs.files import finish_job_files
from review.jobs.job_documents import LeftQueuedJson, RanJson, RefusalJson, RefusedJob
from review.jobs.leases import JobNotClaimable, may_take_over, new_lease
from review.models import ReviewJob
from review.protocol.telemetry import read_usage
from review.recovery.close import closed_job
from review.runners.outcome import RunnerFailure
from review.settings import Config
from review.store.errors import retry_while_busy, translate_db_errors
from review.sweeps.progress import JobOutcome, JobRun, JobUpdate, SweepEvent, event_of, started
from review.sweeps.run_job import CannotRun, TakenJob, Worker, run_job, take_job
from review.vocabulary import FailureCode, JobStatus

_LOOK = 0.5
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
        time.sleep(_LOOK)
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
        if self._recalled_at is None:
            self._recalled_at = time.monotonic()
            self._fail(JobStatus.QUEUED, "not started: the sweep was interrupted")
            # Its worker finds that its lease cannot be extended, and stores what there is.
            ReviewJob.objects.filter(pk__in=self._under_way, status=JobStatus.RUNNING).update(
                leased_until=None
            )
        patience = _LEASES_TO_END * self.worker.config.lease.total_seconds() + _SECONDS_TO_END
        if time.monotonic() > self._recalled_at + patience:
            self._fail(
                JobStatus.RUNNING, "its worker did not end it when the sweep was interrupted"
            )

    def _fail(self, leaving: JobStatus, why: str) -> None:
        for job_id in self._under_way:
            self.worker.give_up(job_id, why, leaving=leaving)

    def _run(self, job: ReviewJob) -> JobRun:
        """A closed job, as the worker that ran it would report it."""
        failure = None
        if job.status == JobStatus.FAILED:
            code = FailureCode(job.failure_code)
            is_passing, is_out = code in _WORTH_ANOTHER_JOB, code is FailureCode.ACCOUNT_EXHAUSTED
            failure = RunnerFailure(
                code, job.failure_reason, retryable=is_passing, exhausted=is_out
            )
        ended = job.completed_at or job.created_at
        seconds = (ended - (job.started_at or ended)).total_seconds()
        document = closed_job(job.pk, config=self.worker.config)
        return JobRun(document, read_usage(job.telemetry), 1, seconds, failure)


_POLL = 1.0
# What this worker could not run is looked at again: a checkout or a prompt may have come.
_LOOKS_AGAIN_AFTER = 60.0
_ORPHAN_LOOKS_A_LEASE = 8
# Takes the jobs of a sweep until none is left or may start: called as `drive` is.
Dispatch = Callable[..., None]


def drive(
    next_job: Callable[[], int | TakenJob | None],
    worker: Worker,
    *,
    may_start: Callable[[int], bool],
    on_update: Callable[[JobUpdate], None],
    crew: Elsewhere | None = None,
    poll: float | None = None,
) -> None:
    """Run jobs, up to `worker.slots` at once, until none is left and none is under way.

    A fault of a worker is raised when the others have ended.

    :param next_job: returns None when there is none now; it is called again when a job has ended.
    :param may_start: called before each job with the number of those under way.
    :param on_update: receives all updates, one at a time, in the thread that calls this.
    :param poll: seconds until `next_job` is called in any case, as long as another job may start.
    """
    runs: Elsewhere | _Threads = crew or _Threads(worker)
    under_way = 0
    try:
        while True:
            while under_way < worker.slots and may_start(under_way):
                if worker.closings.waiting:
                    break  # they are paid for, and the next update is theirs
                job = next_job()
                if job is None:
                    break
                under_way += 1
                runs.start(job)
            if not under_way and (poll is None or not may_start(0)):
                break
            for update in runs.updates(poll):
                under_way -= isinstance(update, JobOutcome)
                on_update(update)
    except BaseException:
        worker.stop.set()
        raise
    finally:
        runs.close()


class _Threads:
    """Threads of this process; what takes its own time runs at once, in the thread that calls."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._pool = ThreadPoolExecutor(worker.slots)
        self._updates: queue.SimpleQueue[JobUpdate | Exception] = queue.SimpleQueue()

    def start(self, job: int | TakenJob) -> None:
        if self._worker.in_process:
            self._run(job)
        else:
            self._pool.submit(self._run, job)

    def updates(self, timeout: float | None) -> Iterable[JobUpdate]:
        try:
            update = self._updates.get(timeout=timeout)
        except queue.Empty:
            return
        if isinstance(update, Exception):
            raise update
        yield update

    def close(self) -> None:
        self._pool.shutdown()

    def _run(self, job: int | TakenJob) -> None:
        """Run a job; the last of its updates is a `JobOutcome`, or the fault that ended it."""
        outcome: JobOutcome | Exception
        try:
            with translate_db_errors():
                outcome = run_job(job, worker=self._worker, on_update=self._updates.put)
        except ReviewError as refused:
            outcome = RefusedJob(job if isinstance(job, int) else job.job.pk, refused)
        except Exception as error:  # noqa: BLE001  # a worker must answer, or `drive` waits for ever
            outcome = error
        if not self._worker.in_process:
            connection.close()
        self._updates.put(outcome)


def _note(result: RanJson, update: JobUpdate) -> None:
    """Keep what became of a job; where they are watched, count it by its ending."""
    if isinstance(update, JobRun) and update.failure and update.failure.concerns_all:
        result.stopped_because = update.failure.reason
    match update:
        case JobRun() | RefusedJob() if result.watched is not None:
            ending = update.document.status if isinstance(update, JobRun) else "refused"
            result.watched[ending] = result.watched.get(ending, 0) + 1
        case JobRun():
            result.jobs.append(update.document)
        case LeftQueuedJson() if result.watched is None:
            result.left_queued.append(update)
        case RefusedJob(job_id, error):
            result.refused.append(RefusalJson.of(job_id, error))


def partition_of_jobs(job_ids: Sequence[int], *, model: str | None, config: Config) -> str | None:
    """Return the partition of the named jobs, or of all queued ones, which `model` may say."""
    if not job_ids and model is not None:
        return config.canonical_partition(model)
    queued = ReviewJob.objects.reviews().filter(status=JobStatus.QUEUED)
    jobs = ReviewJob.objects.filter(pk__in=job_ids) if job_ids else queued
    names = sorted(set(jobs.values_list("model_partition__name", flat=True)))
    if len(names) > 1:
        hint = f"run one partition after the other: --model-partition {shlex.quote(names[0])}"
        raise UsageRefused(f"these jobs are for several partitions: {', '.join(names)}", hint=hint)
    if job_ids and not names:
        require_job(job_ids[0])
    return names[0] if names else None


def run_jobs(job_ids: Iterable[int], *, worker: Worker) -> RanJson:
    """Run the jobs until asked to stop, or none will succeed; those not started stay queued."""
    waiting = iter(job_ids)
    return _run(lambda: next(waiting, None), worker, RanJson())


def watch_jobs(
    partition: str, *, worker: Worker, on_event: Callable[[SweepEvent], None]
) -> RanJson:
    """Run jobs as they are queued, and of workers that are gone, until asked to stop."""
    take_next = partial(retry_while_busy, _Watch(partition, worker).take_next, stop=worker.stop)
    return _run(take_next, worker, RanJson(watched={}), on_event=on_event, poll=_POLL)


def _run(
    next_job: Callable[[], int | TakenJob | None],
    worker: Worker,
    result: RanJson,
    *,
    on_event: Callable[[SweepEvent], None] | None = None,
    poll: float | None = None,
) -> RanJson:
    def note(update: JobUpdate) -> None:
        if on_event is not None:
            on_event(event_of(update))
        _note(result, update)

    finish_job_files(config=worker.config)
    drive(
        next_job,
        worker,
        may_start=lambda _under_way: not worker.stop.is_set() and result.stopped_because is None,
        on_update=note,
        poll=poll,
    )
    result.jobs.sort(key=lambda job: job.review_job_id)
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
            finish_job_files(config=self.worker.config)
        orphans = self._orphans()
        while orphans or self._jobs(JobStatus.QUEUED).exists():
            with transaction.atomic():
                # On a server two workers look at two jobs; on SQLite one waits for the other.
                queued = self._jobs(JobStatus.QUEUED).select_for_update(
                    skip_locked=True, of=("self",)
                )
                job = orphans.pop() if orphans else queued.first()
                if job is None:
                    return None
                try:
                    return take_job(job.pk, new_lease(self.worker.config.lease), worker=self.worker)
                except CannotRun:
                    self._left.add(job.pk)
                except JobNotClaimable:  # an orphan that another worker was quicker to take
                    continue
        return None

    def _orphans(self) -> list[ReviewJob]:
        if time.monotonic() < self._looks_for_orphans_at:
            return []
        running = self._jobs(JobStatus.RUNNING).exclude(claim_token="").reverse()
        found = [job for job in running if may_take_over(job, processes=self.worker.processes)]
        if not found:
            pause = self.worker.config.lease / _ORPHAN_LOOKS_A_LEASE
            self._looks_for_orphans_at = time.monotonic() + pause.total_seconds()
        return found

    def _jobs(self, status: JobStatus) -> QuerySet[ReviewJob]:
        jobs = ReviewJob.objects.reviews().of_partition(self.partition).filter(status=status)
        return jobs.exclude(pk__in=self._left).order_by("pk")
