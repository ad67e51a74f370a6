"""Close a job whose run left no review: it fails, says why, and keeps what there is."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from review.ingest.ingested_jobs import findings_of, show_ingested
from review.ingest.parse import OutputReader
from review.ingest.request import JobMoved, RunFailed
from review.jobs.board import require_job
from review.jobs.job_documents import IngestedJobJson
from review.jobs.mirror import rewrite_job_files
from review.models import Ending, Evidence, JobEvent, JobOutput, Lease, ReviewJob, ReviewPair
from review.settings.config import Config
from review.vocabulary import JobStatus


@dataclass(frozen=True)
class FailRequest:
    """A request to fail a job: the reason, the actor, and the output of its runs.

    :param leaving: the state it is failed from; a job that was moved meanwhile is left alone.
    :param raw: bytes that hold no review of the job, kept all the same.
    :param lease: of the claim whose job it is; None where anybody may fail it.
    """

    failure: RunFailed
    actor: str
    leaving: JobStatus = JobStatus.RUNNING
    telemetry: dict[str, Any] | None = None
    raw: bytes | None = None
    lease: Lease | None = None


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
    reasons = dict(OutputReader(job, config=config).read(raw).missing) if raw else {}
    with transaction.atomic():
        move_to_failed(job, request, reasons=reasons, now=now)
        if raw.strip():
            digest = hashlib.sha256(raw).hexdigest()
            JobOutput.objects.get_or_create(
                job=job, content_sha256=digest, defaults={"raw": raw, "at": now}
            )
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
        evidence=Evidence(telemetry=request.telemetry),
        now=now,
    )
    if not moved:
        raise JobMoved(f"job {job.pk} was moved by another process; look at it again")
    ReviewPair.objects.mark_missing(job.pk, reasons=reasons)
    JobEvent.objects.create(
        job=job,
        from_status=request.leaving,
        to_status=JobStatus.FAILED,
        actor=request.actor,
        note=failure.reason,
        at=now,
    )


def closed_job(job_id: int, *, config: Config) -> IngestedJobJson:
    """Return a closed job as its ingest or its failure reports it, and write its files again.

    :raises UnknownJob: no job has this id.
    """
    job = require_job(job_id)
    problems = rewrite_job_files(job_id, config=config)
    pairs = list(job.pairs.select_related("note", "gate").order_by("ordinal"))
    return show_ingested(
        job,
        pairs,
        findings=findings_of(pairs),
        problems=problems,
        gates_folder=config.gates_folder,
    )
