"""Runs one queued job: claims it, keeps its lease, runs it as often as that helps, ingests."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from django.db import DatabaseError, connection

from review.errors import Conflict, ReviewError
from review.ingest.ingest import ingest_each
from review.ingest.load import IngestRequest, JobMoved
from review.ingest.parse import names_of, read_output
from review.jobs.board import require_job
from review.jobs.claim import ClaimRequest, claim_job
from review.jobs.files import run_folders
from review.jobs.job_documents import IngestedJobJson, LeftQueuedJson
from review.jobs.leases import (
    JobNotClaimable,
    Processes,
    give_up_lease,
    may_take_over,
    new_lease,
    take_over,
)
from review.models import Lease, Parent, Provenance, ReviewJob
from review.protocol.telemetry import read_usage
from review.recovery.close import Closing, close_job, collect_output, fail_job
from review.runners.cli.reset_times import read_reset_time
from review.runners.outcome import RunnerFailure, RunnerOutcome, telemetry_of
from review.settings import Config
from review.store.errors import retry_while_busy
from review.sweeps.progress import JobRun, JobUpdate, SweepEvent, started
from review.vocabulary import FailureCode, JobStatus


class CannotRun(Conflict):
    """This runner cannot judge the job; it stays queued for another one."""


# Runs a job that is ready. Ends early when the event is set.
Execution = Callable[[threading.Event], RunnerOutcome]


# Of a lease: so that three beats may be missed.
_BEATS = 4
_LOOKS_EVERY = 0.5


class JobStop(threading.Event):
    """Set when its own run is to end, or all are."""

    def __init__(self, every_run: threading.Event) -> None:
        super().__init__()
        self._every_run = every_run

    def is_set(self) -> bool:
        return super().is_set() or self._every_run.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        until = time.monotonic() + (threading.TIMEOUT_MAX if timeout is None else timeout)
        while not self.is_set() and (left := until - time.monotonic()) > 0:
            super().wait(min(left, _LOOKS_EVERY))
        return self.is_set()


@dataclass
class Leases:
    """The leases of the jobs that run in this process, all of one length, extended together."""

    # By the token of the claim: the job, and the event that ends its run.
    _held: dict[str, tuple[int, JobStop]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def keep(self, job_id: int, lease: Lease, *, stop: threading.Event) -> Iterator[JobStop]:
        """Extend the lease meanwhile; set the event with `stop`, or when the job is lost."""
        job_stop = JobStop(stop)
        with self._lock:
            if not self._held:
                self._ended = threading.Event()
                beat = partial(self._beat, lease.length, self._ended)
                threading.Thread(target=beat, daemon=True).start()
            self._held[lease.token] = (job_id, job_stop)
        try:
            yield job_stop
        finally:
            with self._lock:
                del self._held[lease.token]
                if not self._held:
                    self._ended.set()

    def _beat(self, length: timedelta, ended: threading.Event) -> None:
        while not ended.wait(length.total_seconds() / _BEATS):
            held = self._held.copy()
            # A server that is away is asked again by the next beat.
            with suppress(DatabaseError), closing(connection):
                job_ids = {token: job_id for token, (job_id, _stop) in held.items()}
                for token in held.keys() - ReviewJob.objects.extend(job_ids, length):
                    held[token][1].set()


@dataclass
class Closings:
    """The ended jobs of this process: outputs that wait for the store are ingested together."""

    waiting: dict[int, IngestRequest] = field(default_factory=dict)
    _answers: dict[int, IngestedJobJson | ReviewError] = field(default_factory=dict)

    def close(self, closing: Closing, *, worker: Worker) -> IngestedJobJson:
        """Close a job; raises as `close_job` does."""
        job_id = closing.job.pk
        if closing.outcome.text is not None:
            self.waiting[job_id] = closing.request(worker.actor)
        try:
            return retry_while_busy(lambda: self._close(closing, worker), stop=worker.stop)
        finally:
            self.waiting.pop(job_id, None)
            self._answers.pop(job_id, None)

    def _close(self, closing: Closing, worker: Worker) -> IngestedJobJson:
        job_id, config, now = closing.job.pk, worker.config, worker.clock()
        if job_id in self.waiting and job_id not in self._answers:
            waiting = {
                key: request
                for key, request in self.waiting.copy().items()
                if key not in self._answers
            }
            # What fails for another job's sake is tried alone.
            with suppress(DatabaseError):
                self._answers |= ingest_each(waiting, waiting.__getitem__, config=config, now=now)
        told = self._answers.get(job_id)
        return close_job(closing, told=told, actor=worker.actor, config=config, now=now)


_GROWTH = 3
_MOST_GROWTH = 1000
_AFTER_RESET = timedelta(minutes=1)
_AFTER_LIMIT = timedelta(seconds=1)
# A job that ends its workers is not to end them all.
_MOST_TAKEOVERS = 5


@dataclass(frozen=True)
class RetryPolicy:
    """Number of runs of a job, and pauses between them, each three times the one before."""

    runs: int = 3
    first_pause: timedelta = timedelta(seconds=20)
    longest_pause: timedelta = timedelta(minutes=5)
    wait_for_reset: bool = False

    def pause_after(self, failures: Sequence[RunnerFailure], *, now: datetime) -> timedelta | None:
        """The pause before the next run; None: it would fail alike, or all jobs would."""
        failure = failures[-1]
        announced = self._announced_pause(failure, now=now)
        if failure.exhausted:
            return announced if self.wait_for_reset else None
        if failure.misread:
            return self.first_pause if sum(item.misread for item in failures) == 1 else None
        tried = sum(not (item.misread or item.exhausted) for item in failures)
        if tried >= self.runs or not failure.retryable or failure.unusable:
            return None
        grown = self.first_pause * min(_GROWTH ** (tried - 1), _MOST_GROWTH)
        return announced or min(grown, self.longest_pause)

    def is_over(self, failure: RunnerFailure, *, now: datetime) -> bool:
        """Return whether a limit lasts longer than any pause: no other job will succeed then."""
        announced = self._announced_pause(failure, now=now)
        return announced is not None and announced > self.longest_pause

    def _announced_pause(self, failure: RunnerFailure, *, now: datetime) -> timedelta | None:
        if failure.code not in (FailureCode.ACCOUNT_EXHAUSTED, FailureCode.RATE_LIMITED):
            return None
        told = None if failure.retry_after is None else timedelta(seconds=failure.retry_after)
        reset = now + told if told is not None else read_reset_time(failure.reason, now=now)
        margin = _AFTER_RESET if failure.exhausted else _AFTER_LIMIT
        return None if reset is None else max(reset - now, timedelta()) + margin


@dataclass(frozen=True)
class Worker:
    """Runs jobs, and what it says of itself when it claims them.

    :param prepare: makes a queued job ready, before it is claimed.
    :param in_process: a run takes this process's own time, so that two at once are no faster.
    :param stop: ends the work when it is set: no new job, and the children of running ones ended.
    :param hands_on: a job that `stop` ended before it had a review is left to another worker.
    """

    prepare: Callable[[ReviewJob], Execution]
    in_process: bool
    slots: int
    actor: str
    parent: Parent
    provenance: Provenance
    retry: RetryPolicy
    config: Config
    clock: Callable[[], datetime]
    stop: threading.Event
    hands_on: bool = False
    processes: Processes = field(default_factory=Processes)
    closings: Closings = field(default_factory=Closings)
    leases: Leases = field(default_factory=Leases)

    def give_up(self, job_id: int, why: str, *, leaving: JobStatus) -> bool:
        """Fail a job that was not run to its end; False: it has left that state meanwhile."""
        failure, now = RunnerFailure(FailureCode.INTERRUPTED, why), self.clock()
        try:
            fail_job(
                job_id, failure, actor=self.actor, leaving=leaving, config=self.config, now=now
            )
        except JobMoved:
            return False
        return True


@dataclass(frozen=True)
class TakenJob:
    """A job that is ours; `lost` counts the workers that it was taken over from."""

    job: ReviewJob
    execution: Execution
    lease: Lease
    lost: int = 0


def run_job(
    taken: int | TakenJob, *, worker: Worker, on_update: Callable[[JobUpdate], None]
) -> JobRun | LeftQueuedJson:
    """Run a queued job, or one that is ours, to its end.

    When `stop` is set, what is complete is kept and the job fails. A job whose worker is gone is
    taken over: what it has left is ingested, or it runs again.
    """
    if isinstance(taken, int):
        job_id, lease = taken, new_lease(worker.config.lease)
        try:
            take = partial(take_job, job_id, lease, worker=worker)
            taken = retry_while_busy(take, stop=worker.stop)
        except CannotRun as refused:
            return LeftQueuedJson(review_job_id=job_id, reason=refused.message)
    job, began = taken.job, worker.clock()
    on_update(started(job))
    with worker.leases.keep(job.pk, taken.lease, stop=worker.stop) as stop:
        outcomes = _left_run(taken, worker) or _run(taken, worker, stop, on_update)
        last = outcomes[-1]
        is_stopped = last.failure is not None and last.failure.code is FailureCode.INTERRUPTED
        if worker.hands_on and worker.stop.is_set() and is_stopped and last.text is None:
            give_up_lease(job.pk, taken.lease)
            return LeftQueuedJson(review_job_id=job.pk, reason="its worker was stopped")
        # Runs before the last one have left no whole review, or there would be no other run.
        whole = replace(last, telemetry=telemetry_of(outcomes))
        document = worker.closings.close(Closing(job, whole, taken.lease), worker=worker)
    if last.failure is None:
        # What the last run's folder holds was taken in, and stands in the job's output too.
        for folder in run_folders(job, config=worker.config)[-1:]:
            shutil.rmtree(folder, ignore_errors=True)
    usage, seconds = read_usage(telemetry_of(outcomes)), (worker.clock() - began).total_seconds()
    return JobRun(document, usage, len(outcomes), seconds, last.failure)


def take_job(job_id: int, lease: Lease, *, worker: Worker) -> TakenJob:
    """Claim a queued job, or take a running one over whose worker is gone, or move nothing."""
    job = require_job(job_id)
    if job.claim_token == lease.token:  # by a try whose answer was lost
        return TakenJob(job, worker.prepare(job), lease)
    is_orphan = may_take_over(job, processes=worker.processes)
    if job.status != JobStatus.QUEUED and not is_orphan:
        raise JobNotClaimable(f"job {job.pk} is {job.status}, not queued")
    execution = worker.prepare(job)
    if not is_orphan:
        request = ClaimRequest(worker.actor, worker.provenance, parent=worker.parent, lease=lease)
        claim_job(job, request, config=worker.config, now=worker.clock())
        job.status = JobStatus.RUNNING
        return TakenJob(job, execution, lease)
    lost = take_over(job, actor=worker.actor, parent=worker.parent, lease=lease, now=worker.clock())
    if lost is None:
        raise JobNotClaimable(f"job {job.pk} is {job.claimed_by}'s still, or another worker's")
    return TakenJob(job, execution, lease, lost)


def _left_run(taken: TakenJob, worker: Worker) -> list[RunnerOutcome]:
    """What the previous worker's runs on this host came to, if the job is not to run again."""
    job, left = taken.job, RunnerOutcome()
    if taken.lost and job.parent_host == worker.parent.host:
        left = collect_output(job, config=worker.config)
        if left.text is not None and left.failure is None:
            return [left]
    if left.text is None and taken.lost <= _MOST_TAKEOVERS:
        return []
    times = f" ({taken.lost} workers were)" if taken.lost > 1 else ""
    reason = f"its worker {job.claimed_by} was gone before it ended{times}"
    return [replace(left, failure=RunnerFailure(FailureCode.INTERRUPTED, reason, retryable=True))]


def _run(
    taken: TakenJob, worker: Worker, stop: threading.Event, on_update: Callable[[JobUpdate], None]
) -> list[RunnerOutcome]:
    """Every run of a job, in order; the failure of the last one is that of the job."""
    outcomes, failures = list[RunnerOutcome](), list[RunnerFailure]()
    while True:
        outcome = taken.execution(stop)
        failure, now = outcome.failure, worker.clock()
        if failure is None:
            return [*outcomes, outcome]
        if worker.retry.is_over(failure, now=now):
            failure = replace(failure, code=FailureCode.ACCOUNT_EXHAUSTED, exhausted=True)
        failures.append(failure)
        pause = worker.retry.pause_after(failures, now=now)
        missing = _missing(taken.job, outcome, worker)
        if missing is not None:
            # Whole reviews were paid for, and are not run again. What is missing runs in a job
            # of its own, which waits for the account where that is asked for.
            waits = failure.exhausted and pause is not None
            failure = replace(failure, exhausted=failure.exhausted and not waits)
            return [*outcomes, replace(outcome, failure=failure if missing else None)]
        outcomes.append(replace(outcome, failure=failure))
        if pause is None:
            return outcomes
        fields = {"reason": failure.reason, "in_seconds": pause.total_seconds()}
        on_update(SweepEvent("run-again", {"review_job_id": taken.job.pk, **fields}))
        worker.stop.wait(pause.total_seconds())
        if stop.is_set():
            reason = f"stopped before it could run; the run before it: {failure.reason}"
            stopped = RunnerFailure(FailureCode.INTERRUPTED, reason, is_attempt=failure.is_attempt)
            return [*outcomes[:-1], replace(outcome, failure=stopped)]


def _missing(job: ReviewJob, outcome: RunnerOutcome, worker: Worker) -> Mapping[int, str] | None:
    """The pairs without a review, of a run that failed with others; None: it is run again as it is."""
    failure = outcome.failure
    if failure is None or outcome.text is None:
        return None
    missing = read_output(job, outcome.text, names_of(job, worker.config)).missing
    if missing and not failure.retryable and failure.code is not FailureCode.INTERRUPTED:
        return None
    return missing if len(missing) < job.pair_count else None
