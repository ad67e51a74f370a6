"""Which jobs want recovering: abandoned ones, ones whose output waits, and failed ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from review.documents.base import timestamp
from review.domain.paths import gate_id_of
from review.errors import ReviewError
from review.job_files import ArtifactStore
from review.jobs.left_runs import left_outcomes
from review.jobs.recovery_documents import RecoverableJson, RecoveryListJson
from review.models import ReviewJob, ReviewPair
from review.protocol.output import ExpectedPair, parse_output
from review.runners.process.table import Processes
from review.settings.config import Config
from review.vocabulary import JobStatus, PairStatus

OutputState = Literal["none", "unreadable", "foreign", "partial", "complete"]

# Outputs that are in memory together, where no single one is larger.
_JOBS_AT_ONCE = 50
_BYTES_AT_ONCE = 4_000_000


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
        because = abandonment(job, older_than=older_than, processes=processes, now=now)
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
    failed = list(_shown(_unanswered()))
    states = output_states([*jobs, *failed], config=config, processes=processes)
    return RecoveryListJson(
        abandoned=[_entry(job, why[job.pk], states[job.pk]) for job in jobs if job.pk in why],
        ready=[
            _entry(job, "its output is complete", states[job.pk])
            for job in jobs
            if states[job.pk] == "complete"
        ],
        failed=[
            _entry(job, f"{job.failure_code}: {job.failure_reason}", states[job.pk])
            for job in failed
        ],
    )


def output_state(job: ReviewJob, *, config: Config) -> OutputState:
    """How much of the job's output is there."""
    return output_states([job], config=config)[job.pk]


def outputs_of(job_ids: Sequence[int], *, config: Config) -> dict[int, OutputState]:
    """`output_states` of jobs by their ids."""
    return output_states(list(ReviewJob.objects.filter(pk__in=job_ids)), config=config)


def output_states(
    jobs: Sequence[ReviewJob], *, config: Config, processes: Processes | None = None
) -> dict[int, OutputState]:
    """How much of each job's output is there, by id; few statements for many jobs.

    :param processes: where they can be asked for a parent that is gone, what its run left in files
        of its own counts too.
    """
    store = ArtifactStore(config)
    found: dict[int, OutputState] = {}
    written: dict[ReviewJob, bytes] = {}
    for job in jobs:
        try:
            data = store.read_output(job.bundle_output_path) or _left(job, config, processes)
        except ReviewError:
            found[job.pk] = "unreadable"
            continue
        if data is None or not data.strip():
            found[job.pk] = "none"
            continue
        written[job] = data
        if len(written) == _JOBS_AT_ONCE or sum(map(len, written.values())) > _BYTES_AT_ONCE:
            found |= _states_of(written, config=config)
            written = {}
    return found | _states_of(written, config=config)


def describe_partial(job: ReviewJob, *, config: Config) -> str:
    """How many reviews of an output an ingest would keep, and why the others are missing."""
    data = ArtifactStore(config).read_output(job.bundle_output_path) or b""
    expected = _expected([job.pk], config=config)[job.pk]
    missing = parse_output(data, token=job.sentinel_token, expected=expected).missing
    reasons = "; ".join(dict.fromkeys(missing.values()))
    return f"{len(expected) - len(missing)} kept, {len(missing)} missing: {reasons}"


def _states_of(written: Mapping[ReviewJob, bytes], *, config: Config) -> dict[int, OutputState]:
    expected = _expected([job.pk for job in written], config=config)
    return {
        job.pk: _state(data, job.sentinel_token, expected[job.pk]) for job, data in written.items()
    }


def _left(job: ReviewJob, config: Config, processes: Processes | None) -> bytes | None:
    """What the runs of a dead parent have left and nobody has taken in."""
    if processes is None or job.status != JobStatus.RUNNING:
        return None
    if parent_is_alive(job, processes=processes) is not False:
        return None
    texts = [outcome.text for outcome in left_outcomes(job, config=config) if outcome.text]
    return max(texts, key=len, default=None)


def _expected(job_ids: Sequence[int], *, config: Config) -> dict[int, list[ExpectedPair]]:
    expected: dict[int, list[ExpectedPair]] = {job_id: [] for job_id in job_ids}
    if not expected:
        return expected
    pairs = ReviewPair.objects.filter(job_id__in=job_ids).order_by("job_id", "ordinal")
    for job_id, ordinal, note, gate in pairs.values_list(
        "job_id", "ordinal", "note__path", "gate__path"
    ):
        gate_id = gate_id_of(gate, gates_folder=config.gates_folder)
        expected[job_id].append(ExpectedPair(ordinal=ordinal, note_path=note, gate_id=gate_id))
    return expected


def _state(data: bytes, token: str, expected: Sequence[ExpectedPair]) -> OutputState:
    parsed = parse_output(data, token=token, expected=expected)
    if not parsed.has_own_blocks:
        return "foreign"
    return "partial" if parsed.missing else "complete"


def abandonment(
    job: ReviewJob, *, older_than: timedelta, processes: Processes, now: datetime
) -> str:
    """Why the job seems abandoned; empty when it does not."""
    if job.status != JobStatus.RUNNING:
        return ""
    alive = parent_is_alive(job, processes=processes)
    if alive:
        return ""
    if alive is not None:
        return f"its parent, process {job.parent_pid}, is gone"
    if job.started_at is None or job.started_at >= now - older_than:
        return ""
    return f"it has been running since {timestamp(job.started_at)}"


def is_unanswered(job: ReviewJob) -> bool:
    """Whether a pair of the failed job waits for a review, here or in a later job."""
    return _unanswered().filter(pk=job.pk).exists()


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


def ready_job_ids(*, config: Config, actor: str | None) -> list[int]:
    """Open jobs whose output holds a closed block for every pair, oldest first.

    :param actor: only jobs claimed by this actor; None: all open jobs, never claimed ones too.
    """
    jobs = ReviewJob.objects.open().order_by("pk")
    if actor is not None:
        jobs = jobs.filter(claimed_by=actor)
    states = output_states(list(jobs), config=config)
    return sorted(job_id for job_id, state in states.items() if state == "complete")
