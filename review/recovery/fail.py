"""Closes a job by the output of its runs: complete reviews are kept; without any, it fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from review.ingest.ingest import ingest_job
from review.ingest.ingested_jobs import show_ingested
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


@dataclass(frozen=True)
class FailRequest:
    """A request to fail a job: the reason, the actor, and the output of its runs.

    :param leaving: the state it is failed from; a job that was moved meanwhile is left alone.
    :param raw: bytes that hold no review of the job, kept all the same.
    :param lease: of the claim whose job it is; None where anybody may fail it.
    """

    failure: RunnerFailure
    actor: str
    leaving: JobStatus = JobStatus.RUNNING
    telemetry: Mapping[str, Any] | None = None
    raw: bytes | None = None
    lease: Lease | None = None


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
    text, telemetry, failure = outcome.text, outcome.telemetry, outcome.failure
    if text is not None:
        ArtifactStore(config).keep_input(job.bundle_output_path, text)
        request = IngestRequest(
            actor, telemetry=telemetry, failure=failure, typed=outcome.typed, lease=lease
        )
        try:
            return ingest_job(job.pk, request=request, config=config, now=now)
        except (NoOutput, NoBlocks) as refused:
            failure = failure or _nothing_whole(job, text, refused, config)
    to_fail = FailRequest(
        failure or RunnerFailure(FailureCode.NO_OUTPUT, "the worker produced no output"),
        actor,
        telemetry=telemetry,
        raw=text,
        lease=lease,
    )
    return fail_job(job.pk, request=to_fail, config=config, now=now)


def _nothing_whole(
    job: ReviewJob, text: bytes, refused: NoOutput | NoBlocks, config: Config
) -> RunnerFailure:
    """An answer that stops in its first block is an output, of which every pair is missing."""
    if not read_output(job, text, config=config).is_begun:
        return RunnerFailure(FailureCode.NO_OUTPUT, refused.message)
    return RunnerFailure(FailureCode.PAIRS_MISSING, f"{refused.message}; {_CUT_OFF}")


def fail_job(
    job_id: int, *, request: FailRequest, config: Config, now: datetime
) -> IngestedJobJson:
    """Fail the job; its pairs without a review become missing.

    :raises UnknownJob: no job has this id.
    :raises JobMoved: it is not, or no longer, in the state it was to leave.
    """
    job = require_job(job_id)
    raw = request.raw or b""
    # What an output without a whole block says of the pairs.
    reasons = dict(read_output(job, raw, config=config).missing) if raw else {}
    with transaction.atomic():
        move_to_failed(job, request, reasons=reasons, now=now)
        if raw.strip():
            keep_raw(job, raw, now=now)
    return closed_job(job_id, config=config)


def move_to_failed(
    job: ReviewJob, request: FailRequest, *, reasons: Mapping[int, str] | None = None, now: datetime
) -> None:
    """Fail the job and mark its open pairs missing; call it inside a transaction.

    :param reasons: by ordinal, why a pair is missing.
    :raises JobMoved: it is no longer in the state it was to leave.
    """
    failure = request.failure
    # First, so that a job somebody else moved stops us before any other write.
    moved = ReviewJob.objects.held_by(request.lease).close(
        [job],
        leaving=request.leaving,
        ending=Ending(JobStatus.FAILED, failure.code, failure.reason),
        telemetry=request.telemetry,
        now=now,
    )
    if not moved:
        raise JobMoved(f"job {job.pk} was moved by another process; look at it again")
    ReviewPair.objects.mark_missing(job.pk, reasons=reasons)
    move = JobMove(job.pk, request.leaving, JobStatus.FAILED, failure.reason)
    JobEvent.objects.record([move], actor=request.actor, now=now)


def closed_job(job_id: int, *, config: Config) -> IngestedJobJson:
    """Return a closed job as its ingest or its failure reports it, and write its files again.

    :raises UnknownJob: no job has this id.
    """
    job = require_job(job_id)
    problems = rewrite_job_files(job_id, config=config)
    pairs = list(job.pairs.select_related("note", "gate").order_by("ordinal"))
    return show_ingested(job, pairs, problems=problems, gates_folder=config.gates_folder)
