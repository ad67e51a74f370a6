"""Which jobs want recovering: abandoned ones, ones whose output waits, and failed ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from review.artifacts import ArtifactStore
from review.conf import Config
from review.contracts.base import timestamp
from review.contracts.recovery import RecoverableJson, RecoveryListJson
from review.domain.identity import gate_id_of
from review.errors import ReviewError
from review.models import ReviewJob, ReviewPair
from review.protocol.parser import ExpectedPair, parse_output
from review.runners.process_table import Processes
from review.vocabulary import JobStatus, PairStatus

OutputState = Literal["none", "unreadable", "foreign", "partial", "complete"]


@dataclass(frozen=True)
class Abandoned:
    """A running job that nobody seems to work on, and why it seems so."""

    job_id: int
    because: str


def abandoned_jobs(
    *, older_than: timedelta, processes: Processes, now: datetime
) -> list[Abandoned]:
    """Running jobs that started longer ago than the limit, or whose parent here is gone.

    A job whose parent is alive on this host is none, however long it takes.
    """
    found = []
    for job in ReviewJob.objects.filter(status=JobStatus.RUNNING).order_by("pk"):
        because = _why_abandoned(job, older_than=older_than, processes=processes, now=now)
        if because:
            found.append(Abandoned(job.pk, because))
    return found


def parent_is_alive(job: ReviewJob, *, processes: Processes) -> bool | None:
    """Whether the process that took the job is still there; None when this host cannot know."""
    if job.parent_pid is None or job.parent_host != processes.host:
        return None
    return processes.is_alive(job.parent_pid, started_at=job.parent_started_at)


def list_recoverable(
    *, older_than: timedelta, processes: Processes, config: Config, now: datetime
) -> RecoveryListJson:
    """Everything somebody may have to see to, oldest first."""
    abandoned = abandoned_jobs(older_than=older_than, processes=processes, now=now)
    why = {item.job_id: item.because for item in abandoned}
    jobs = list(_shown(ReviewJob.objects.open()))
    states = {job.pk: output_state(job, config=config) for job in jobs}
    return RecoveryListJson(
        abandoned=[_entry(job, why[job.pk], states[job.pk]) for job in jobs if job.pk in why],
        ready=[
            _entry(job, "its output is complete", states[job.pk])
            for job in jobs
            if states[job.pk] == "complete"
        ],
        failed=[
            _entry(
                job,
                f"{job.failure_code}: {job.failure_reason}",
                output_state(job, config=config),
            )
            for job in _shown(_unanswered())
        ],
    )


def output_state(job: ReviewJob, *, config: Config) -> OutputState:
    """How much of the job's output is there."""
    try:
        data = ArtifactStore(config).read_output(job.bundle_output_path)
    except ReviewError:
        return "unreadable"
    if data is None or not data.strip():
        return "none"
    pairs = ReviewPair.objects.filter(job=job).select_related("note", "gate").order_by("ordinal")
    expected = [
        ExpectedPair(
            ordinal=pair.ordinal,
            note_path=pair.note.path,
            gate_id=gate_id_of(pair.gate.path, gates_folder=config.gates_folder),
        )
        for pair in pairs
    ]
    parsed = parse_output(data, token=job.sentinel_token, expected=expected)
    if not parsed.has_own_blocks:
        return "foreign"
    return "partial" if parsed.missing else "complete"


def _why_abandoned(
    job: ReviewJob, *, older_than: timedelta, processes: Processes, now: datetime
) -> str:
    """Why the job seems abandoned; empty when it does not."""
    alive = parent_is_alive(job, processes=processes)
    if alive:
        return ""
    if alive is not None:
        return f"its parent, process {job.parent_pid}, is gone"
    if job.started_at is None or job.started_at >= now - older_than:
        return ""
    return f"it has been running since {timestamp(job.started_at)}"


def _unanswered() -> QuerySet[ReviewJob]:
    """Failed jobs that nothing replaced, with a missing pair that nobody reviewed since."""
    answers = ReviewPair.objects.completed().filter(
        note_id=OuterRef("note_id"),
        gate_id=OuterRef("gate_id"),
        job__model_partition_id=OuterRef("job__model_partition_id"),
        reviewed_at__gt=OuterRef("job__completed_at"),
    )
    missing = ReviewPair.objects.filter(job_id=OuterRef("pk"), status=PairStatus.MISSING)
    failed = ReviewJob.objects.filter(status=JobStatus.FAILED, replaced_by=None)
    return failed.filter(Exists(missing.exclude(Exists(answers))))


def _shown(jobs: QuerySet[ReviewJob]) -> QuerySet[ReviewJob]:
    waiting = Count("pairs", filter=~Q(pairs__status=PairStatus.COMPLETED))
    return jobs.select_related("model_partition").annotate(waiting=waiting).order_by("pk")


def _entry(job: ReviewJob, because: str, output: OutputState) -> RecoverableJson:
    return RecoverableJson(
        review_job_id=job.pk,
        status=job.status,
        model_partition=job.model_partition.name,
        lens=job.lens,
        pair_count=job.pair_count,
        pairs_without_review=job.waiting,  # type: ignore[attr-defined]
        claimed_by=job.claimed_by or None,
        runner=job.runner,
        started_at=timestamp(job.started_at),
        because=because,
        output=output,
        bundle_output_path=job.bundle_output_path,
    )
