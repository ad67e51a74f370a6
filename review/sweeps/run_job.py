"""Runs one queued job: claims it, runs it as often as that can help, and takes the output in."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count

from review.domain.processes import Parent
from review.ingest.ingest import ingest_job
from review.ingest.parse import OutputReader
from review.ingest.request import (
    IngestRequest,
    JobAlreadyCompleted,
    JobMoved,
    NoBlocks,
    NoOutput,
    NothingMissing,
    RunFailed,
)
from review.job_files import ArtifactStore
from review.jobs.board import require_job
from review.jobs.claim import ClaimRequest, JobNotClaimable, claim
from review.jobs.job_documents import IngestedJobJson
from review.jobs.left_runs import run_folder
from review.models import Provenance, ReviewJob
from review.protocol.telemetry import read_usage
from review.recovery.fail import FailRequest, closed_job, fail_job
from review.runners.cli.reset_times import told_reset
from review.runners.outcome import RunnerFailure, RunnerOutcome, telemetry_of
from review.settings.config import Config
from review.store.retry import retry_while_busy
from review.sweeps.executors import CannotRun, Execution, Executor
from review.sweeps.job_updates import JobRun, JobStarted, JobUpdate, LeftQueued, RunAgain
from review.vocabulary import FailureCode, JobStatus

_STOPPED = "stopped before it could run"
_CUT_OFF = (
    "where the model reached its output limit, give it less at once (--batch-size, or"
    " max_prompt_tokens in kb/review.toml)"
)


_GROWTH = 3
_GROWN_ENOUGH = 10
_AFTER_RESET = timedelta(minutes=1)
_AFTER_LIMIT = timedelta(seconds=1)


@dataclass(frozen=True)
class RetryPolicy:
    """How often a job is run at most, and how long the pauses are.

    :param runs: 1 never tries again.
    :param first_pause: before the second run; each later pause is three times as long.
    :param wait_for_reset: wait for an account until the time that the CLI tells.
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
        told = self._told_pause(failure, now=now)
        if failure.exhausted:
            return told if self.wait_for_reset else None
        if failure.misread:
            return self.first_pause if sum(item.misread for item in failures) == 1 else None
        tried = sum(not (item.misread or item.exhausted) for item in failures)
        if tried >= self.runs or not failure.retryable or failure.unusable:
            return None
        grown: int = _GROWTH ** min(tried - 1, _GROWN_ENOUGH)
        return told or min(self.first_pause * grown, self.longest_pause)

    def is_over(self, failure: RunnerFailure, *, now: datetime) -> bool:
        """Whether a limit lasts longer than any pause: then no other job will succeed either."""
        told = self._told_pause(failure, now=now)
        return told is not None and told > self.longest_pause

    def waits_for(self, failure: RunnerFailure, *, now: datetime) -> bool:
        """Whether the account may be used again at a time that is waited for."""
        waits = self.wait_for_reset and failure.exhausted
        return waits and self._told_pause(failure, now=now) is not None

    def _told_pause(self, failure: RunnerFailure, *, now: datetime) -> timedelta | None:
        if failure.code not in (FailureCode.ACCOUNT_EXHAUSTED, FailureCode.RATE_LIMITED):
            return None
        reset = told_reset(failure.reason, now=now)
        margin = _AFTER_RESET if failure.exhausted else _AFTER_LIMIT
        return None if reset is None else max(reset - now, timedelta()) + margin


@dataclass(frozen=True)
class Worker:
    """Whoever runs jobs: by what means, and what it says of itself when it claims them.

    :param parent: the process that sees to the jobs until they are closed.
    :param clock: read when something happens: jobs take time.
    """

    executor: Executor
    actor: str
    parent: Parent
    provenance: Provenance
    retry: RetryPolicy
    config: Config
    clock: Callable[[], datetime]


def run_job(
    job_id: int,
    *,
    worker: Worker,
    stop: threading.Event,
    on_update: Callable[[JobUpdate], None],
) -> JobRun | LeftQueued:
    """Run a queued job to its end; when `stop` is set, what is complete is kept and the job fails.

    :raises UnknownJob, JobNotClaimable, PartitionMismatch: it is not ours to run; nothing moved.
    :raises JobMoved, JobReplaced: it was taken from us meanwhile.
    """
    job = require_job(job_id)
    if job.status != JobStatus.QUEUED:
        raise JobNotClaimable(f"job {job.pk} is {job.status}, not queued")
    try:
        execution = worker.executor.prepare(job)
    except CannotRun as refused:
        return LeftQueued(job_id, refused.message)
    _claim(job, worker, stop)
    began = worker.clock()
    on_update(JobStarted(job_id, job.lens, job.pair_count))
    runs = _run(job, execution, worker=worker, stop=stop, on_update=on_update)
    document = _close(job, runs, worker, stop)
    if runs.failure is None:
        # What the last run's folder holds was taken in, and stands in the job's output too.
        folder = run_folder(job, len(runs.outcomes), config=worker.config)
        shutil.rmtree(folder, ignore_errors=True)
    return JobRun(
        document=document,
        usage=read_usage(telemetry_of(runs.outcomes)),
        runs=len(runs.outcomes),
        seconds=(worker.clock() - began).total_seconds(),
        failure=runs.failure,
    )


def _claim(job: ReviewJob, worker: Worker, stop: threading.Event) -> None:
    request = ClaimRequest(
        actor=worker.actor,
        provenance=worker.provenance,
        job_id=job.pk,
        parent=worker.parent,
    )
    tries = count()

    def take() -> None:
        try_number = next(tries)
        try:
            claim(request, config=worker.config, now=worker.clock())
        except JobNotClaimable:
            # A connection that breaks after the commit fails a try that has claimed the job.
            if not try_number or not _is_ours(job.pk, worker):
                raise

    retry_while_busy(take, stop=stop)


def _is_ours(job_id: int, worker: Worker) -> bool:
    return ReviewJob.objects.filter(
        pk=job_id,
        status=JobStatus.RUNNING,
        claimed_by=worker.actor,
        parent_host=worker.parent.host,
        parent_pid=worker.parent.pid,
    ).exists()


@dataclass(frozen=True)
class _Runs:
    """Every run of a job, in order, and what the job fails for; None: the last run succeeded."""

    outcomes: Sequence[RunnerOutcome]
    failure: RunnerFailure | None


def _run(
    job: ReviewJob,
    execution: Execution,
    *,
    worker: Worker,
    stop: threading.Event,
    on_update: Callable[[JobUpdate], None],
) -> _Runs:
    outcomes: list[RunnerOutcome] = []
    failures: list[RunnerFailure] = []
    while not stop.is_set():
        outcome = execution(len(outcomes) + 1, stop)
        outcomes.append(outcome)
        failure = outcome.failure
        if failure is None:
            return _Runs(outcomes, None)
        if worker.retry.is_over(failure, now=worker.clock()):
            failure = replace(failure, code=FailureCode.ACCOUNT_EXHAUSTED, exhausted=True)
        failures.append(failure)
        if outcome.text is not None and failure.retryable:
            missing = OutputReader(job, config=worker.config).read(outcome.text).missing
            if len(missing) < job.pair_count:
                return _Runs(outcomes, _failure_of_the_rest(failure, missing, worker))
        pause = worker.retry.pause_after(failures, now=worker.clock())
        if pause is None:
            return _Runs(outcomes, failure)
        on_update(RunAgain(job.pk, failure.reason, pause))
        stop.wait(pause.total_seconds())
    before = f"; the run before it: {failures[-1].reason}" if failures else ""
    return _Runs(outcomes, RunnerFailure(FailureCode.INTERRUPTED, _STOPPED + before))


def _failure_of_the_rest(
    failure: RunnerFailure, missing: Sized, worker: Worker
) -> RunnerFailure | None:
    """What a run failed for that left whole reviews: they were paid for, and are not run again.

    None: there is one for every pair. What is missing runs again in a job of its own, which waits
    for the account where that is asked for.
    """
    if worker.retry.waits_for(failure, now=worker.clock()):
        failure = replace(failure, exhausted=False)
    return failure if missing else None


def _close(job: ReviewJob, runs: _Runs, worker: Worker, stop: threading.Event) -> IngestedJobJson:
    tries = count()

    def take_in() -> IngestedJobJson:
        try_number = next(tries)
        try:
            return _take_in(job, runs, worker)
        except (JobAlreadyCompleted, NothingMissing, JobMoved):
            # As for a claim: the try before may have closed the job, and could not tell.
            if not try_number:
                raise
            return closed_job(job.pk, config=worker.config)

    return retry_while_busy(take_in, stop=stop)


def _take_in(job: ReviewJob, runs: _Runs, worker: Worker) -> IngestedJobJson:
    # Runs before the last one have left no whole review, or there would be no other run.
    last = runs.outcomes[-1] if runs.outcomes else RunnerOutcome()
    text = last.text
    telemetry = telemetry_of(runs.outcomes)
    failure = None if runs.failure is None else RunFailed(runs.failure.code, runs.failure.reason)
    if text is not None:
        ArtifactStore(worker.config).keep_input(job.bundle_output_path, text)
        request = IngestRequest(
            actor=worker.actor, telemetry=telemetry, failure=failure, typed=last.typed
        )
        try:
            return ingest_job(job.pk, request=request, config=worker.config, now=worker.clock())
        except (NoOutput, NoBlocks) as refused:
            failure = failure or _nothing_whole(job, text, refused, worker.config)
    to_fail = FailRequest(
        failure=failure or RunFailed(FailureCode.NO_OUTPUT, "the worker produced no output"),
        actor=worker.actor,
        telemetry=telemetry,
        raw=text,
    )
    return fail_job(job.pk, request=to_fail, config=worker.config, now=worker.clock())


def _nothing_whole(
    job: ReviewJob, text: bytes, refused: NoOutput | NoBlocks, config: Config
) -> RunFailed:
    """An answer that stops in its first block is an output, of which every pair is missing."""
    if not OutputReader(job, config=config).read(text).is_begun:
        return RunFailed(FailureCode.NO_OUTPUT, refused.message)
    return RunFailed(FailureCode.PAIRS_MISSING, f"{refused.message}; {_CUT_OFF}")
