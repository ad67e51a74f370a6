"""Lists the jobs to recover: abandoned ones, ones with output to ingest, and failed ones."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Count, Q, QuerySet

from review.documents.base import from_row
from review.jobs.abandonment import abandoned_jobs, unanswered_jobs
from review.jobs.output_states import OutputState, output_states
from review.models import ReviewJob
from review.recovery.documents import RecoverableJson, RecoveryListJson
from review.runners.process.table import Processes
from review.settings.config import Config
from review.vocabulary import PairStatus


def list_recoverable(
    *,
    older_than: timedelta,
    processes: Processes,
    config: Config,
    now: datetime,
    job_ids: Collection[int] = (),
) -> RecoveryListJson:
    """List the jobs that need attention, oldest first; only those of `job_ids` if there are any."""
    why = abandoned_jobs(older_than=older_than, processes=processes, now=now)
    jobs = list(_annotated(ReviewJob.objects.open(), job_ids))
    failed = list(_annotated(unanswered_jobs(), job_ids))
    states = output_states([*jobs, *failed], config=config, processes=processes)
    return RecoveryListJson(
        abandoned=[_entry(job, why[job.pk], states[job.pk]) for job in jobs if job.pk in why],
        ready=[
            _entry(job, "its output is complete", states[job.pk])
            for job in jobs
            if states[job.pk].state == "complete"
        ],
        failed=[
            _entry(job, f"{job.failure_code}: {job.failure_reason}", states[job.pk])
            for job in failed
        ],
    )


def _annotated(jobs: QuerySet[ReviewJob], job_ids: Collection[int]) -> QuerySet[ReviewJob]:
    if job_ids:
        jobs = jobs.filter(pk__in=job_ids)
    waiting = Count("pairs", filter=~Q(pairs__status=PairStatus.COMPLETED))
    return jobs.select_related("model_partition").annotate(waiting=waiting).order_by("pk")


def _entry(job: ReviewJob, because: str, output: OutputState) -> RecoverableJson:
    return from_row(
        RecoverableJson,
        job,
        review_job_id=job.pk,
        model_partition=job.model_partition.name,
        pairs_without_review=job.waiting,  # type: ignore[attr-defined]
        claimed_by=job.claimed_by or None,
        because=because,
        output=output.state,
        output_detail=output.detail,
    )
