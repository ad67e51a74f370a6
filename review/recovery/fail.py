"""Closes a job by the output of its runs: complete reviews are kept; without any, it fails."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from review.ingest.ingest import ingest_job, show_ingested
from review.ingest.parse import read_output
from review.ingest.request import IngestRequest, JobMoved, NoBlocks, NoOutput
from review.ingest.store import keep_raw
from review.job_files import ArtifactStore
from review.jobs.board import require_job
from review.jobs.job_documents import IngestedJobJson
from review.jobs.mirror import rewrite_job_files
from review.models import Ending, JobEvent, JobMove, Lease, ReviewJob, ReviewPair
from review.runners.outcome import RunnerFailure, RunnerOutcome
from review.settings.config import Config
from review.vocabulary import FailureCode, JobStatus

_CUT_OFF = (
    "where the model reached its output limit, give it less at once (--batch-size, or"
    " max_prompt_tokens in kb/review.toml)"
)


def close_job(
    job: ReviewJob,
    outcome: RunnerOutcome,
    *,
    actor: str,
    lease: Lease | None = None,
    config: Config,
    now: datetime,
) -> IngestedJobJson:
    """Ingest the text of a job's last run; where it holds no review, the job fails.

    :param outcome: of the last run, with the telemetry of all.
    :raises JobMoved, JobReplaced, LeaseLost: it was taken from us meanwhile.
    """
    text, failure, missing = outcome.text, outcome.failure, dict[int, str]()
    if text is not None:
        ArtifactStore(config).keep_input(job.bundle_output_path, text)
        request = IngestRequest(
            actor, telemetry=outcome.telemetry, failure=failure, typed=outcome.typed, lease=lease
        )
        try:
            return ingest_job(job.pk, request=request, config=config, now=now)
        except (NoOutput, NoBlocks) as refused:
            # An answer that stops in its first block is an output, of which every pair is missing.
            found = read_output(job, text, config=config)
            missing = dict(found.missing)
            begun = RunnerFailure(FailureCode.PAIRS_MISSING, f"{refused.message}; {_CUT_OFF}")
            no_output = RunnerFailure(FailureCode.NO_OUTPUT, refused.message)
            failure = failure or (begun if found.is_begun else no_output)
    if failure is None:
        failure = RunnerFailure(FailureCode.NO_OUTPUT, "the worker produced no output")
    with transaction.atomic():
        telemetry = outcome.telemetry
        move_to_failed(job, failure, actor=actor, telemetry=telemetry, lease=lease, now=now)
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
    """Fail a job of which nothing is known; its pairs without a review become missing.

    :raises JobMoved: it is not, or no longer, in the state it was to leave.
    """
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

    :param lease: of the claim whose job it is; None where anybody may fail it.
    :raises JobMoved: it is no longer in the state that `job` has.
    """
    leaving = JobStatus(job.status)
    # First, so that a job somebody else moved stops us before any other write.
    moved = ReviewJob.objects.held_by(lease).close(
        [job],
        leaving=leaving,
        ending=Ending(JobStatus.FAILED, failure.code, failure.reason),
        telemetry=telemetry,
        now=now,
    )
    if not moved:
        raise JobMoved(f"job {job.pk} was moved by another process; look at it again")
    ReviewPair.objects.mark_missing(job.pk)
    move = JobMove(job.pk, leaving, JobStatus.FAILED, failure.reason)
    JobEvent.objects.record([move], actor=actor, now=now)


def closed_job(job_id: int, *, config: Config) -> IngestedJobJson:
    """Return a closed job as its ingest or its failure reports it, and write its files again."""
    job = require_job(job_id)
    problems = rewrite_job_files(job_id, config=config)
    pairs = list(job.pairs.select_related("note", "gate").order_by("ordinal"))
    return show_ingested(job, pairs, problems=problems, gates_folder=config.gates_folder)
