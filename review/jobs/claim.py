"""Gives queued jobs to a parent, each to exactly one, with what it says about its model."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from review.documents.base import timestamp
from review.domain.processes import Parent
from review.errors import Conflict
from review.jobs.board import require_job, show_jobs
from review.jobs.job_documents import ClaimedJson
from review.jobs.provenance import (
    PartitionMismatch,
    Validated,
    canonical_partition,
    check_flags,
    validate_provenance,
)
from review.models import JobEvent, ModelPartition, Provenance, ReviewJob
from review.settings.config import Config
from review.vocabulary import JobStatus

_NOT_VALIDATED: Validated = "none"


class JobNotClaimable(Conflict):
    """The job is not queued: somebody has it, or it is closed."""


@dataclass(frozen=True)
class ClaimRequest:
    """Which jobs to take, and for whom.

    :param job_id: this one; None takes the oldest queued ones.
    :param model_partition: only jobs of this partition; None takes any that `provenance` fits.
    :param effort_unknown: the harness names its model but not the effort.
    :param parent: the process that stays until the jobs are closed; when it is gone, they are
        abandoned.
    """

    actor: str
    provenance: Provenance
    job_id: int | None = None
    limit: int = 1
    model_partition: str | None = None
    effort_unknown: bool = False
    parent: Parent | None = None


def claim(request: ClaimRequest, *, config: Config, now: datetime) -> ClaimedJson:
    """Take the job that is named, or up to `limit` of the oldest; nothing moves on a refusal.

    :raises UsageRefused: flags that contradict each other.
    :raises ModelNameRefused: the model or the effort is no name.
    :raises UnknownJob: no job has this id.
    :raises JobNotClaimable: the job is not queued; says who has it, and since when.
    :raises PartitionMismatch: the named model makes another partition than the job's.
    """
    check_flags(request.provenance, effort_unknown=request.effort_unknown, config=config)
    if request.job_id is not None:
        validated, taken = _claim_one(request.job_id, request, config=config, now=now)
    else:
        validated, taken = _claim_next(request, config=config, now=now)
    jobs = show_jobs(taken, gates_folder=config.gates_folder)
    return ClaimedJson(claimed=bool(jobs), validated=validated, jobs=jobs)


def _claim_one(
    job_id: int, request: ClaimRequest, *, config: Config, now: datetime
) -> tuple[Validated, list[int]]:
    job = require_job(job_id)
    if job.status != JobStatus.QUEUED:
        raise _not_claimable(job, request)
    validated = _validate(job.model_partition.name, request, config)
    with transaction.atomic():
        taken = _take([job_id], request, now=now)
    if not taken:
        raise _not_claimable(require_job(job_id), request)
    return validated, taken


def _claim_next(
    request: ClaimRequest, *, config: Config, now: datetime
) -> tuple[Validated, list[int]]:
    waiting = _waiting_partitions(request, config)
    fitting: dict[int, Validated] = {}
    mismatch: PartitionMismatch | None = None
    for partition_id, name in waiting.items():
        try:
            fitting[partition_id] = _validate(name, request, config)
        except PartitionMismatch as refused:
            mismatch = refused
    if mismatch is not None and not fitting:
        raise mismatch
    if not fitting:
        return _NOT_VALIDATED, []
    with transaction.atomic():
        taken = _take_oldest(tuple(fitting), request, now=now)
    return next(iter(fitting.values())), taken


def _take_oldest(
    partition_ids: Sequence[int], request: ClaimRequest, *, now: datetime
) -> list[int]:
    taken: list[int] = []
    behind = 0
    while len(taken) < request.limit:
        job_ids = _oldest(partition_ids, after=behind, limit=request.limit - len(taken))
        if not job_ids:
            break
        taken += _take(job_ids, request, now=now)
        # What somebody else took in between is behind us; the next one is as good.
        behind = job_ids[-1]
    return taken


def _oldest(partition_ids: Sequence[int], *, after: int, limit: int) -> list[int]:
    """Ids of queued jobs, rising. One query a partition: the index gives each in order."""
    found: list[int] = []
    for partition_id in partition_ids:
        queued = _queued_in(partition_id).filter(pk__gt=after).order_by("pk")
        found += queued.values_list("pk", flat=True)[:limit]
    return sorted(found)[:limit]


def _waiting_partitions(request: ClaimRequest, config: Config) -> dict[int, str]:
    """The partitions with a queued job, among those asked for, by key."""
    partitions = ModelPartition.objects.order_by("name")
    if request.model_partition is not None:
        name = canonical_partition(request.model_partition, config=config)
        partitions = partitions.filter(name=name)
    return {
        partition_id: name
        for partition_id, name in partitions.values_list("pk", "name")
        if _queued_in(partition_id).exists()
    }


def _queued_in(partition_id: int) -> QuerySet[ReviewJob]:
    return ReviewJob.objects.filter(status=JobStatus.QUEUED, model_partition_id=partition_id)


def _validate(partition: str, request: ClaimRequest, config: Config) -> Validated:
    return validate_provenance(
        partition, request.provenance, effort_unknown=request.effort_unknown, config=config
    )


def _take(job_ids: Sequence[int], request: ClaimRequest, *, now: datetime) -> list[int]:
    """Move those of the jobs that are still queued; answers which. Call inside a transaction."""
    taken = [
        job_id
        for job_id in job_ids
        if ReviewJob.objects.claim(
            job_id,
            provenance=request.provenance,
            claimed_by=request.actor,
            parent=request.parent,
            now=now,
        )
    ]
    JobEvent.objects.record(
        JobEvent(
            job_id=job_id,
            from_status=JobStatus.QUEUED,
            to_status=JobStatus.RUNNING,
            actor=request.actor,
            note="claimed",
            at=now,
        )
        for job_id in taken
    )
    return taken


def _not_claimable(job: ReviewJob, request: ClaimRequest) -> JobNotClaimable:
    partition = shlex.quote(job.model_partition.name)
    hint = f"take another: commonplace claim_review_job --next --model-partition {partition}"
    if request.provenance.runner:
        hint += f" --runner {shlex.quote(request.provenance.runner)}"
    if job.status == JobStatus.RUNNING:
        runner = f" with runner {job.runner}" if job.runner else ""
        return JobNotClaimable(
            f"job {job.pk} is running: {job.claimed_by} took it at {timestamp(job.started_at)}{runner}",
            hint=hint,
        )
    after = f"; job {job.replacement_id} replaces it" if job.replacement_id else ""
    return JobNotClaimable(
        f"job {job.pk} is {job.status} since {timestamp(job.completed_at)}{after}",
        hint=hint,
    )
