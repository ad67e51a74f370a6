"""Closes a job by the output of its runs: complete reviews are kept; without any, it fails."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Q

from review.errors import ReviewError
from review.ingest.ingest import ingest_each, keep_raw
from review.ingest.load import (
    IngestRequest,
    JobAlreadyCompleted,
    JobMoved,
    NoBlocks,
    NoOutput,
    require_lease,
)
from review.ingest.parse import names_of, read_output
from review.job_files import ArtifactStore
from review.jobs.board import require_job, show_ingested
from review.jobs.files import left_outcomes, rewrite_job_files, run_folders
from review.jobs.job_documents import IngestedJobJson
from review.jobs.leases import Processes, new_lease, parent_is_alive
from review.models import Ending, JobEvent, JobMove, Lease, Parent, ReviewJob, ReviewPair
from review.runners.outcome import RunnerFailure, RunnerOutcome, telemetry_of
from review.runners.run import end_left_over, forget_run
from review.settings import Config
from review.vocabulary import FailureCode, JobStatus

_CUT_OFF = (
    "where the model reached its output limit, give it less at once (--batch-size, or"
    " max_prompt_tokens in kb/review.toml)"
)


class Closing(NamedTuple):
    """A job whose runs have ended; the outcome is the last one's, with the telemetry of all."""

    job: ReviewJob
    outcome: RunnerOutcome
    lease: Lease | None = None

    def request(self, actor: str) -> IngestRequest:
        """Return the request to ingest the text of the last run."""
        run = self.outcome
        return IngestRequest(
            actor,
            output=run.text,
            telemetry=run.telemetry,
            failure=run.failure,
            typed=run.typed,
            lease=self.lease,
        )


def close_job(
    closing: Closing,
    *,
    told: IngestedJobJson | ReviewError | None = None,
    actor: str,
    config: Config,
    now: datetime,
) -> IngestedJobJson:
    """Ingest the text of a job's last run, unless that has `told` already; without a review, fail.

    :raises JobMoved, JobReplaced, LeaseLost: it was taken from us meanwhile.
    """
    (job, outcome, lease), missing = closing, dict[int, str]()
    text, no_output = outcome.text, FailureCode.NO_OUTPUT
    failure = outcome.failure or RunnerFailure(no_output, "the worker produced no output")
    if text is not None:
        if told is None:
            request = closing.request(actor)
            told = ingest_each([job.pk], lambda _job_id: request, config=config, now=now)[job.pk]
        if isinstance(told, IngestedJobJson):
            return told
        if isinstance(told, JobAlreadyCompleted) and lease is not None:
            return closed_job(job.pk, config=config)  # by a try whose answer was lost
        if not isinstance(told, NoOutput | NoBlocks):
            raise told
        ArtifactStore(config).keep_input(job.bundle_output_path, text)
        # An answer that stops in its first block is an output, of which every pair is missing.
        found = read_output(job, text, names_of(job, config))
        missing = dict(found.missing)
        begun = RunnerFailure(FailureCode.PAIRS_MISSING, f"{told.message}; {_CUT_OFF}")
        refused = begun if found.is_begun else RunnerFailure(no_output, told.message)
        failure = outcome.failure or refused
    require_lease(require_job(job.pk), lease)
    with transaction.atomic():
        move_to_failed(job, failure, actor=actor, telemetry=outcome.telemetry, lease=lease, now=now)
        ReviewPair.objects.mark_missing(job.pk, reasons=missing)
        if text is not None and text.strip():
            keep_raw(job, text, now=now)
    return closed_job(job.pk, config=config)


def fail_job(
    job_id: int,
    failure: RunnerFailure,
    *,
    actor: str,
    leaving: JobStatus,
    config: Config,
    now: datetime,
) -> IngestedJobJson:
    """Fail a job of which nothing is known, if it is still in the state it is to leave."""
    job = require_job(job_id)
    job.status = leaving
    with transaction.atomic():
        move_to_failed(job, failure, actor=actor, now=now)
    return closed_job(job_id, config=config)


def move_to_failed(
    job: ReviewJob,
    failure: RunnerFailure,
    *,
    actor: str,
    telemetry: Mapping[str, Any] | None = None,
    lease: Lease | None = None,
    now: datetime,
) -> None:
    """Fail the job and mark its open pairs missing; call it inside a transaction.

    :raises JobMoved: it is no longer in the state that `job` has, or held by the lease.
    """
    leaving = JobStatus(job.status)
    # First, so that a job somebody else moved stops us before any other write.
    if not ReviewJob.objects.held_by(lease).close(
        [job],
        leaving=leaving,
        ending=Ending(JobStatus.FAILED, failure.code, failure.reason),
        telemetry=telemetry,
        now=now,
    ):
        raise JobMoved(f"job {job.pk} was moved by another process; look at it again")
    ReviewPair.objects.mark_missing(job.pk)
    JobEvent.objects.record(
        [JobMove(job.pk, leaving, JobStatus.FAILED, failure.reason)], actor=actor, now=now
    )


def closed_job(job_id: int, *, config: Config) -> IngestedJobJson:
    """Return a closed job as its ingest or its failure reports it, and write its files again."""
    job = require_job(job_id)
    problems = rewrite_job_files(job_id, config=config)
    pairs = list(job.pairs.with_names())
    return show_ingested(job, pairs, None, problems, config=config)


def orphaned_jobs(processes: Processes) -> list[int]:
    """Return running jobs whose parent here is gone or whose lease ran out, oldest first."""
    of_this_host = Q(parent_host=processes.host, batch_until=None) | Q(leased_until__isnull=False)
    return [
        job.pk
        for job in ReviewJob.objects.filter(of_this_host, status=JobStatus.RUNNING).order_by("pk")
        if parent_is_alive(job, processes=processes) is False
    ]


def salvage_job(
    job_id: int, *, actor: str, parent: Parent, config: Config, now: datetime
) -> IngestedJobJson:
    """Ingest what an orphaned job's runs have left, and close it; others may do so at once.

    Killed at any point, the next salvage finishes the work.
    """
    job = require_job(job_id)
    # So that no worker takes it over while what it left is ended and read.
    lease = new_lease(config.lease)
    if not ReviewJob.objects.take_over(
        job, claimed_by=job.claimed_by, parent=parent, lease=lease, now=job.started_at or now
    ):
        raise JobMoved(f"job {job_id} was moved by another process; look at it again")
    document = close_job(
        Closing(job, collect_output(job, config=config)), actor=actor, config=config, now=now
    )
    if document.status == JobStatus.COMPLETED:
        for folder in run_folders(job, config=config):
            shutil.rmtree(folder, ignore_errors=True)
    return document


def collect_output(job: ReviewJob, *, config: Config) -> RunnerOutcome:
    """End the job's remaining runs, and write the best of their texts to its output.

    Only for a job whose parent is gone. The outcome has the telemetry of all its runs, no text
    without any review, and no failure with all of them.
    """
    folders = run_folders(job, config=config)
    for folder in folders:
        end_left_over(folder)
    outcomes = left_outcomes(job, config=config)
    store = ArtifactStore(config)
    written = store.read_output(job.bundle_output_path)
    texts = (written, *(outcome.text for outcome in outcomes))
    read = [(text, read_output(job, text or b"", names_of(job, config))) for text in texts]
    own = [each for each in read if each[1].has_own_blocks]
    best, found = max(own, key=lambda each: len(each[1].blocks), default=(None, None))
    if best is not None and best != written:
        store.keep_input(job.bundle_output_path, best)
    for folder in folders:
        forget_run(folder)
    failure = outcomes[-1].failure if outcomes else None
    if failure is None or failure.code is FailureCode.INTERRUPTED:
        parent = f"its parent, process {job.parent_pid} on {job.parent_host}"
        reason = f"{parent}, was gone before it ended"
        failure = RunnerFailure(FailureCode.INTERRUPTED, reason, retryable=True)
    is_complete = found is not None and not found.missing
    return RunnerOutcome(best, None if is_complete else failure, telemetry_of(outcomes))
