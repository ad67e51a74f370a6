"""Runs one queued job: claims it, runs it as often as that can help, and takes the output in."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from review.domain.processes import Parent
from review.ingest.ingest import ingest_job
from review.ingest.parse import OutputReader
from review.ingest.request import IngestRequest, NoBlocks, NoOutput, RunFailed
from review.job_files import ArtifactStore
from review.jobs.board import require_job
from review.jobs.claim import ClaimRequest, JobNotClaimable, claim
from review.jobs.job_documents import IngestedJobJson, LeftQueuedJson
from review.jobs.left_runs import run_folder
from review.models import Provenance, ReviewJob
from review.protocol.telemetry import read_usage
from review.recovery.fail import FailRequest, fail_job
from review.runners.cli.reset_times import read_reset_time
from review.runners.outcome import RunnerFailure, RunnerOutcome, telemetry_of
from review.settings.config import Config
from review.store.retry import retry_while_busy
from review.sweeps.executors import CannotRun, Execution
from review.sweeps.progress import JobRun, JobStarted, JobUpdate, RunAgain
from review.vocabulary import FailureCode, JobStatus

_CUT_OFF = (
    "where the model reached its output limit, give it less at once (--batch-size, or"
    " max_prompt_tokens in kb/review.toml)"
)
_GROWTH = 3
_MOST_GROWTH = 1000
_AFTER_RESET = timedelta(minutes=1)
_AFTER_LIMIT = timedelta(seconds=1)


@dataclass(frozen=True)
class RetryPolicy:
    """Number of runs of a job, and the pauses between them.

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


def run_job(
    job_id: int, *, worker: Worker, on_update: Callable[[JobUpdate], None]
) -> JobRun | LeftQueuedJson:
    """Run a queued job to its end; when `stop` is set, what is complete is kept and the job fails.

    :raises UnknownJob, JobNotClaimable, PartitionMismatch: it is not ours to run; nothing moved.
    :raises JobMoved, JobReplaced: it was taken from us meanwhile.
    """
    job = require_job(job_id)
    if job.status != JobStatus.QUEUED:
        raise JobNotClaimable(f"job {job.pk} is {job.status}, not queued")
    try:
        execution = worker.prepare(job)
    except CannotRun as refused:
        return LeftQueuedJson(review_job_id=job_id, reason=refused.message)
    request = ClaimRequest(worker.actor, worker.provenance, job_id=job_id, parent=worker.parent)
    retry_while_busy(
        lambda: claim(request, config=worker.config, now=worker.clock()), stop=worker.stop
    )
    began = worker.clock()
    on_update(JobStarted(job_id, job.lens, job.pair_count))
    outcomes, failure = _run(job, execution, worker=worker, on_update=on_update)
    document = retry_while_busy(lambda: _close(job, outcomes, failure, worker), stop=worker.stop)
    if failure is None:
        # What the last run's folder holds was taken in, and stands in the job's output too.
        folder = run_folder(job, len(outcomes), config=worker.config)
        shutil.rmtree(folder, ignore_errors=True)
    return JobRun(
        document=document,
        usage=read_usage(telemetry_of(outcomes)),
        runs=len(outcomes),
        seconds=(worker.clock() - began).total_seconds(),
        failure=failure,
    )


def _run(
    job: ReviewJob,
    execution: Execution,
    *,
    worker: Worker,
    on_update: Callable[[JobUpdate], None],
) -> tuple[list[RunnerOutcome], RunnerFailure | None]:
    """Every run of a job, in order, and why the job fails; None: the last run succeeded."""
    outcomes: list[RunnerOutcome] = []
    failures: list[RunnerFailure] = []
    while not worker.stop.is_set():
        outcome = execution(len(outcomes) + 1, worker.stop)
        outcomes.append(outcome)
        failure, now = outcome.failure, worker.clock()
        if failure is None:
            return outcomes, None
        if worker.retry.is_over(failure, now=now):
            failure = replace(failure, code=FailureCode.ACCOUNT_EXHAUSTED, exhausted=True)
        failures.append(failure)
        pause = worker.retry.pause_after(failures, now=now)
        if outcome.text is not None and failure.retryable:
            missing = OutputReader(job, config=worker.config).read(outcome.text).missing
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
    job: ReviewJob,
    outcomes: Sequence[RunnerOutcome],
    failed: RunnerFailure | None,
    worker: Worker,
) -> IngestedJobJson:
    # Runs before the last one have left no whole review, or there would be no other run.
    last = outcomes[-1] if outcomes else RunnerOutcome()
    text, telemetry, now = last.text, telemetry_of(outcomes), worker.clock()
    failure = None if failed is None else RunFailed(failed.code, failed.reason)
    if text is not None:
        ArtifactStore(worker.config).keep_input(job.bundle_output_path, text)
        request = IngestRequest(
            actor=worker.actor, telemetry=telemetry, failure=failure, typed=last.typed
        )
        try:
            return ingest_job(job.pk, request=request, config=worker.config, now=now)
        except (NoOutput, NoBlocks) as refused:
            failure = failure or _nothing_whole(job, text, refused, worker.config)
    to_fail = FailRequest(
        failure=failure or RunFailed(FailureCode.NO_OUTPUT, "the worker produced no output"),
        actor=worker.actor,
        telemetry=telemetry,
        raw=text,
    )
    return fail_job(job.pk, request=to_fail, config=worker.config, now=now)


def _nothing_whole(
    job: ReviewJob, text: bytes, refused: NoOutput | NoBlocks, config: Config
) -> RunFailed:
    """An answer that stops in its first block is an output, of which every pair is missing."""
    if not OutputReader(job, config=config).read(text).is_begun:
        return RunFailed(FailureCode.NO_OUTPUT, refused.message)
    return RunFailed(FailureCode.PAIRS_MISSING, f"{refused.message}; {_CUT_OFF}")
