"""Claim queued jobs for a parent, each by exactly one, with what it says about its model."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
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
from review.models import JobEvent, JobMove, Lease, Provenance, ReviewJob
from review.settings import Config
from review.vocabulary import JobPurpose, JobStatus


class JobNotClaimable(Conflict):
    """The job is not queued: another process has it, or it is closed."""


@dataclass(frozen=True)
class ClaimRequest:
    """A request to claim jobs for an actor.

    :param job_id: this one; None claims the oldest queued ones.
    :param model_partition: only jobs of this partition; None claims any that `provenance` fits.
    :param effort_unknown: the harness names its model but not the effort.
    :param purpose: of the oldest jobs, those for this; a job that is named is claimed for either.
    :param parent: the process that stays until the jobs are closed; when it is gone, they are
        abandoned.
    :param lease: of the one job; None where nobody will extend it.
    """

    actor: str
    provenance: Provenance
    job_id: int | None = None
    limit: int = 1
    model_partition: str | None = None
    effort_unknown: bool = False
    purpose: JobPurpose = JobPurpose.REVIEW
    parent: Parent | None = None
    lease: Lease | None = None


def claim(request: ClaimRequest, *, config: Config, now: datetime) -> ClaimedJson:
    """Claim the job that is named, or up to `limit` of the oldest; nothing moves on a refusal.

    :raises UsageRefused: flags that contradict each other.
    :raises ModelNameRefused: the model or the effort is no name.
    :raises UnknownJob: no job has this id.
    :raises JobNotClaimable: the job is not queued; says who has it, and since when.
    :raises PartitionMismatch: the named model makes another partition than the job's.
    """
    check_flags(request.provenance, effort_unknown=request.effort_unknown, config=config)
    validated: Validated
    if request.job_id is not None:
        validated = claim_job(require_job(request.job_id), request, config=config, now=now)
        claimed = [request.job_id]
    else:
        queued = ReviewJob.objects.filter(status=JobStatus.QUEUED, purpose=request.purpose)
        if request.model_partition is not None:
            partition = canonical_partition(request.model_partition, config=config)
            queued = queued.of_partition(partition)
        fitting = _fitting_partitions(queued, request, config)
        validated = next(iter(fitting.values()), "none")
        oldest = queued.filter(model_partition__name__in=fitting).order_by("pk")
        job_ids = oldest.values_list("pk", flat=True)
        claimed = _claim(job_ids, request, now=now) if fitting else []
    jobs = show_jobs(claimed, gates_folder=config.gates_folder)
    return ClaimedJson(claimed=bool(jobs), validated=validated, jobs=jobs)


def claim_job(job: ReviewJob, request: ClaimRequest, *, config: Config, now: datetime) -> Validated:
    """Claim a job, loaded with its names; return how far its model was compared.

    :raises JobNotClaimable, PartitionMismatch: as `claim` does.
    """
    if job.status == JobStatus.QUEUED:
        validated = validate_provenance(
            job.model_partition.name,
            request.provenance,
            effort_unknown=request.effort_unknown,
            config=config,
        )
        if _claim([job.pk], request, now=now):
            return validated
    raise _not_claimable(require_job(job.pk), request)


def _fitting_partitions(
    queued: QuerySet[ReviewJob], request: ClaimRequest, config: Config
) -> dict[str, Validated]:
    """Return the partitions of queued jobs that the named model may do, and how far it was compared.

    :raises PartitionMismatch: there are jobs, and all are for other models.
    """
    fitting: dict[str, Validated] = {}
    mismatch: PartitionMismatch | None = None
    names = queued.order_by("model_partition__name").values_list("model_partition__name", flat=True)
    for name in names.distinct():
        try:
            fitting[name] = validate_provenance(
                name, request.provenance, effort_unknown=request.effort_unknown, config=config
            )
        except PartitionMismatch as refused:
            mismatch = refused
    if mismatch is not None and not fitting:
        raise mismatch
    return fitting


def _claim(job_ids: Iterable[int], request: ClaimRequest, *, now: datetime) -> list[int]:
    """Claim up to `limit` of the jobs that are still queued, in their order; return which."""
    claimed: list[int] = []
    with transaction.atomic():
        for job_id in job_ids:
            if ReviewJob.objects.claim(
                job_id,
                provenance=request.provenance,
                claimed_by=request.actor,
                parent=request.parent,
                lease=request.lease,
                now=now,
            ):
                claimed.append(job_id)
            if len(claimed) == request.limit:
                break
        moves = (JobMove(pk, JobStatus.QUEUED, JobStatus.RUNNING, "claimed") for pk in claimed)
        JobEvent.objects.record(moves, actor=request.actor, now=now)
    return claimed


def _not_claimable(job: ReviewJob, request: ClaimRequest) -> JobNotClaimable:
    if job.status == JobStatus.RUNNING:
        runner = f" with runner {job.runner}" if job.runner else ""
        why = f"running: {job.claimed_by} took it at {timestamp(job.started_at)}{runner}"
    else:
        after = f"; job {job.replacement_id} replaces it" if job.replacement_id else ""
        why = f"{job.status} since {timestamp(job.completed_at)}{after}"
    partition = shlex.quote(job.model_partition.name)
    hint = f"take another: commonplace claim_review_job --next --model-partition {partition}"
    if request.provenance.runner:
        hint += f" --runner {shlex.quote(request.provenance.runner)}"
    return JobNotClaimable(f"job {job.pk} is {why}", hint=hint)
