"""Runs one queued job: claims it, has it judged, as often as that can help, and takes the output in."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Any

from review.artifacts import ArtifactStore
from review.conf import Config
from review.contracts.jobs import IngestedJobJson
from review.domain.parents import Parent
from review.models import Provenance, ReviewJob
from review.orchestration.claiming import ClaimRequest, JobNotClaimable, claim
from review.orchestration.execution import CannotRun, Execution, Executor
from review.orchestration.failing import FailRequest, closed_job, fail_job
from review.orchestration.finalization import ingest_job
from review.orchestration.ingest_request import (
    IngestRequest,
    JobAlreadyCompleted,
    JobMoved,
    NoBlocks,
    NoOutput,
    NothingMissing,
    RunFailed,
)
from review.orchestration.news import JobRun, JobStarted, LeftQueued, News, RunAgain
from review.orchestration.output_reading import OutputReader
from review.orchestration.patience import retry_while_busy
from review.orchestration.retries import RetryPolicy
from review.protocol.telemetry import merge_runs, read_usage
from review.queries.job_board import require_job
from review.runners.outcome import RunnerFailure, RunnerOutcome
from review.vocabulary import FailureCode, JobStatus

_STOPPED = "stopped before it could run"
_CUT_OFF = (
    "where the model reached its output limit, give it less at once (--batch-size, or"
    " max_prompt_tokens in kb/review.toml)"
)


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
    tell: Callable[[News], None],
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
    tell(JobStarted(job_id, job.lens, job.pair_count))
    runs = _run(job_id, execution, worker=worker, stop=stop, tell=tell)
    document = _close(job, runs, worker, stop)
    if runs.failure is None:
        execution.forget(len(runs.outcomes))
    return JobRun(
        document=document,
        usage=read_usage(runs.telemetry),
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

    outcomes: tuple[RunnerOutcome, ...]
    failure: RunnerFailure | None

    @property
    def telemetry(self) -> dict[str, Any] | None:
        return merge_runs([outcome.telemetry for outcome in self.outcomes])


def _run(
    job_id: int,
    execution: Execution,
    *,
    worker: Worker,
    stop: threading.Event,
    tell: Callable[[News], None],
) -> _Runs:
    outcomes: list[RunnerOutcome] = []
    while not stop.is_set():
        outcome = execution.run(len(outcomes) + 1, stop=stop)
        outcomes.append(outcome)
        if outcome.failure is None:
            return _Runs(tuple(outcomes), None)
        pause = worker.retry.pause_after(len(outcomes), outcome.failure)
        if pause is None:
            return _Runs(tuple(outcomes), outcome.failure)
        tell(RunAgain(job_id, outcome.failure.reason, pause))
        stop.wait(pause.total_seconds())
    before = outcomes[-1].failure if outcomes else None
    why = f"{_STOPPED}; the run before it: {before.reason}" if before else _STOPPED
    return _Runs(tuple(outcomes), RunnerFailure(FailureCode.INTERRUPTED, why))


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
    text = _best_text(job, runs, worker.config)
    failure = None if runs.failure is None else RunFailed(runs.failure.code, runs.failure.reason)
    if text is not None:
        ArtifactStore(worker.config).keep_input(job.bundle_output_path, text)
        request = IngestRequest(actor=worker.actor, telemetry=runs.telemetry, failure=failure)
        try:
            return ingest_job(job.pk, request=request, config=worker.config, now=worker.clock())
        except (NoOutput, NoBlocks) as refused:
            failure = failure or _nothing_whole(job, text, refused, worker.config)
    return fail_job(
        job.pk,
        request=FailRequest(
            failure=failure or RunFailed(FailureCode.NO_OUTPUT, "the worker produced no output"),
            actor=worker.actor,
            telemetry=runs.telemetry,
            raw=text,
        ),
        config=worker.config,
        now=worker.clock(),
    )


def _nothing_whole(
    job: ReviewJob, text: bytes, refused: NoOutput | NoBlocks, config: Config
) -> RunFailed:
    """An answer that stops in its first block is an output, of which every pair is missing."""
    if not OutputReader(job, config=config).read(text).is_begun:
        return RunFailed(FailureCode.NO_OUTPUT, refused.message)
    return RunFailed(FailureCode.PAIRS_MISSING, f"{refused.message}; {_CUT_OFF}")


def _best_text(job: ReviewJob, runs: _Runs, config: Config) -> bytes | None:
    """The output to take in: of the run that succeeded, else that with the most complete blocks."""
    if runs.failure is None:
        return runs.outcomes[-1].text
    texts = [outcome.text for outcome in runs.outcomes if outcome.text is not None]
    if len(texts) < 2:
        return texts[0] if texts else None
    reader = OutputReader(job, config=config)
    return max(reversed(texts), key=lambda text: len(reader.read(text).blocks))
