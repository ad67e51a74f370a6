"""Runs one queued job: claims it, runs it as often as that can help, and takes the output in."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from review.domain.processes import Parent
from review.ingest.parse import read_output
from review.jobs.board import require_job
from review.jobs.claim import ClaimRequest, JobNotClaimable, claim
from review.jobs.job_documents import IngestedJobJson, LeftQueuedJson
from review.jobs.leases import give_up_lease, may_take_over, new_lease, require_lease, take_over
from review.jobs.left_runs import run_folder, run_folders
from review.models import Lease, Provenance, ReviewJob
from review.protocol.telemetry import read_usage
from review.recovery.fail import close_job, closed_job
from review.recovery.recover import collect_output
from review.runners.cli.reset_times import read_reset_time
from review.runners.outcome import RunnerFailure, RunnerOutcome, telemetry_of
from review.runners.process.table import Processes, ProcessTable
from review.settings.config import Config
from review.store.retry import retry_while_busy
from review.sweeps.beats import Beats
from review.sweeps.executors import CannotRun, Execution
from review.sweeps.progress import JobRun, JobStarted, JobUpdate, RunAgain
from review.vocabulary import FailureCode, JobStatus

_GROWTH = 3
_MOST_GROWTH = 1000
_AFTER_RESET = timedelta(minutes=1)
_AFTER_LIMIT = timedelta(seconds=1)
# A job that ends its workers is not to end them all.
_MOST_TAKEOVERS = 5


@dataclass(frozen=True)
class RetryPolicy:
    """Number of runs of a job, and the pauses between them.

    :param runs: 1 never tries again.
    :param first_pause: before the second run; each later pause is three times as long.
    :param wait_for_reset: wait for an account until the time that the CLI reports.
    """

    runs: int = 3
    first_pause: timedelta = timedelta(seconds=20)
    longest_pause: timedelta = timedelta(minutes=5)
    wait_for_reset: bool = False

    def pause_after(self, failures: Sequence[RunnerFailure], *, now: datetime) -> timedelta | None:
        """The pause before the next run, after those that failed; None: there is none.

        Not tried again is what would fail in the same way, and what concerns every other job too.
        """
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
        reset = read_reset_time(failure.reason, now=now)
        if failure.retry_after is not None:
            reset = now + timedelta(seconds=failure.retry_after)
        margin = _AFTER_RESET if failure.exhausted else _AFTER_LIMIT
        return None if reset is None else max(reset - now, timedelta()) + margin


@dataclass(frozen=True)
class Worker:
    """Runs jobs, and what it says of itself when it claims them.

    :param prepare: makes a queued job ready, before it is claimed.
    :param in_process: a run takes this process's own time, so that two at once are no faster.
    :param parent: the process that stays until the jobs are closed.
    :param clock: read when something happens: jobs take time.
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
    processes: Processes = field(default_factory=ProcessTable)
    beats: Beats = field(default_factory=Beats)


@dataclass(frozen=True)
class TakenJob:
    """A job that is ours.

    :param lost: how many workers it was taken over from.
    :param runs_before: the number of the last run that a worker before has left on this host.
    """

    job: ReviewJob
    execution: Execution
    lease: Lease
    lost: int = 0
    runs_before: int = 0


def run_job(
    job_id: int, *, worker: Worker, on_update: Callable[[JobUpdate], None]
) -> JobRun | LeftQueuedJson:
    """Run a queued job to its end; when `stop` is set, what is complete is kept and the job fails.

    A job whose worker is gone is taken over: what it has left is ingested, or it runs again.

    :raises UnknownJob, JobNotClaimable, PartitionMismatch: it is not ours to run; nothing moved.
    :raises LeaseLost, JobMoved, JobReplaced: it was taken from us meanwhile.
    """
    lease = new_lease(worker.beats.length)
    try:
        taken = retry_while_busy(lambda: take_job(job_id, lease, worker=worker), stop=worker.stop)
    except CannotRun as refused:
        return LeftQueuedJson(review_job_id=job_id, reason=refused.message)
    return run_taken(taken, worker=worker, on_update=on_update)


def take_job(job_id: int, lease: Lease, *, worker: Worker) -> TakenJob:
    """Claim a queued job, or take a running one over whose worker is gone.

    :raises CannotRun: this worker cannot run it; nothing moved.
    :raises UnknownJob, JobNotClaimable, PartitionMismatch: it is not ours to run; nothing moved.
    """
    job = require_job(job_id)
    if job.claim_token == lease.token:  # by a try whose answer was lost
        return TakenJob(job, worker.prepare(job), lease)
    is_orphan = may_take_over(job, processes=worker.processes)
    if job.status != JobStatus.QUEUED and not is_orphan:
        raise JobNotClaimable(f"job {job.pk} is {job.status}, not queued")
    execution = worker.prepare(job)
    if not is_orphan:
        request = ClaimRequest(
            worker.actor, worker.provenance, job_id=job_id, parent=worker.parent, lease=lease
        )
        claim(request, config=worker.config, now=worker.clock())
        return TakenJob(job, execution, lease)
    lost = take_over(job, actor=worker.actor, parent=worker.parent, lease=lease, now=worker.clock())
    if lost is None:
        raise JobNotClaimable(f"job {job.pk} is {job.claimed_by}'s still, or another worker's")
    folders = run_folders(job, config=worker.config)
    runs_before = int(folders[-1].name.rpartition("-")[2]) if folders else 0
    return TakenJob(job, execution, lease, lost, runs_before)


def run_taken(
    taken: TakenJob, *, worker: Worker, on_update: Callable[[JobUpdate], None]
) -> JobRun | LeftQueuedJson:
    """Run a job that is ours to its end; raises as `run_job` does."""
    job, began = taken.job, worker.clock()
    on_update(JobStarted(job.pk, job.lens, job.pair_count))
    with worker.beats.keep(job.pk, taken.lease, stop=worker.stop) as stop:
        outcomes, failure = _left_runs(taken, worker)
        runs = 0
        if not outcomes:
            outcomes, failure = _run(taken, worker=worker, stop=stop, on_update=on_update)
            runs = len(outcomes)
        if worker.hands_on and failure is not None and failure.code is FailureCode.INTERRUPTED:
            text = outcomes[-1].text if outcomes else None
            found = read_output(job, text or b"", config=worker.config)
            if worker.stop.is_set() and not found.has_own_blocks:
                give_up_lease(job.pk, taken.lease)
                return LeftQueuedJson(review_job_id=job.pk, reason="its worker was stopped")
            if found.has_own_blocks and not found.missing:
                failure = None  # the stop came when all was said
        document = retry_while_busy(
            lambda: _close(taken, outcomes, failure, worker), stop=worker.stop
        )
    if failure is None:
        # What the last run's folder holds was taken in, and stands in the job's output too.
        folder = run_folder(job, taken.runs_before + runs, config=worker.config)
        shutil.rmtree(folder, ignore_errors=True)
    return JobRun(
        document=document,
        usage=read_usage(telemetry_of(outcomes)),
        runs=len(outcomes),
        seconds=(worker.clock() - began).total_seconds(),
        failure=failure,
    )


def _left_runs(taken: TakenJob, worker: Worker) -> tuple[list[RunnerOutcome], RunnerFailure | None]:
    """Return the previous worker's runs on this host, if they complete the job; else none."""
    job, text, telemetry = taken.job, None, None
    if taken.lost and job.parent_host == worker.parent.host:
        left = collect_output(job, config=worker.config)
        text, telemetry = left.text, left.telemetry
        if left.is_complete:
            return [RunnerOutcome(text=text, telemetry=telemetry)], None
    if text is None and taken.lost <= _MOST_TAKEOVERS:
        return [], None
    times = f" ({taken.lost} workers were)" if taken.lost > 1 else ""
    reason = f"its worker {job.claimed_by} was gone before it ended{times}"
    failure = RunnerFailure(FailureCode.INTERRUPTED, reason, retryable=True)
    return [RunnerOutcome(text=text, failure=failure, telemetry=telemetry)], failure


def _run(
    taken: TakenJob,
    *,
    worker: Worker,
    stop: threading.Event,
    on_update: Callable[[JobUpdate], None],
) -> tuple[list[RunnerOutcome], RunnerFailure | None]:
    """Every run of a job, in order, and why the job fails; None: the last run succeeded."""
    job, outcomes = taken.job, list[RunnerOutcome]()
    failures: list[RunnerFailure] = []
    while not stop.is_set():
        outcome = taken.execution(taken.runs_before + len(outcomes) + 1, stop)
        outcomes.append(outcome)
        failure, now = outcome.failure, worker.clock()
        if failure is None:
            return outcomes, None
        if worker.retry.is_over(failure, now=now):
            failure = replace(failure, code=FailureCode.ACCOUNT_EXHAUSTED, exhausted=True)
        failures.append(failure)
        pause = worker.retry.pause_after(failures, now=now)
        if outcome.text is not None and failure.retryable:
            missing = read_output(job, outcome.text, config=worker.config).missing
            if len(missing) < job.pair_count:
                # Whole reviews were paid for, and are not run again. What is missing runs in a job
                # of its own, which waits for the account where that is asked for.
                waits = failure.exhausted and pause is not None
                failure = replace(failure, exhausted=failure.exhausted and not waits)
                return outcomes, failure if missing else None
        if pause is None:
            return outcomes, failure
        on_update(RunAgain(job.pk, failure.reason, pause))
        worker.stop.wait(pause.total_seconds())
    before = f"; the run before it: {failures[-1].reason}" if failures else ""
    reason = f"stopped before it could run{before}"
    return outcomes, RunnerFailure(FailureCode.INTERRUPTED, reason)


def _close(
    taken: TakenJob,
    outcomes: Sequence[RunnerOutcome],
    failure: RunnerFailure | None,
    worker: Worker,
) -> IngestedJobJson:
    job, lease = taken.job, taken.lease
    if ReviewJob.objects.held_by(lease).filter(pk=job.pk, status=JobStatus.COMPLETED):
        return closed_job(job.pk, config=worker.config)  # by a try whose answer was lost
    require_lease(job.pk, lease)
    # Runs before the last one have left no whole review, or there would be no other run.
    last = outcomes[-1] if outcomes else RunnerOutcome()
    outcome = replace(last, failure=failure, telemetry=telemetry_of(outcomes))
    return close_job(
        job,
        outcome,
        actor=worker.actor,
        lease=lease,
        config=worker.config,
        now=worker.clock(),
    )
