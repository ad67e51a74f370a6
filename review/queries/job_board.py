"""Jobs, their moves and their attempts, as commands and pages show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Q

from review.artifacts import manifest_path
from review.contracts.base import timestamp
from review.contracts.job_pages import JobEventJson
from review.contracts.jobs import JobJson, PairJson
from review.domain.identity import gate_id_of
from review.errors import InputRejected
from review.models import JobEvent, ReviewJob, ReviewPair, batched
from review.runners.outcome import MODEL_ANSWERED
from review.vocabulary import FailureCode, JobStatus, NotAccepted, PairStatus

JOBS_AT_ONCE = 200
_COLUMNS = ("job_id", "pk", "ordinal", "note__path", "gate__path", "status", "decision")
# Failures that say something about the pair, where a model had answered. An interruption, a limit of
# the account or an operator's decision says nothing.
_TELLING = (
    FailureCode.PAIRS_MISSING,
    FailureCode.ALL_OR_NOTHING,
    FailureCode.NO_OUTPUT,
    FailureCode.RUNNER_ERROR,
    FailureCode.RUNNER_TIMEOUT,
)
_UNDECIDED = (NotAccepted.DECISION_ERROR, NotAccepted.DECISION_UNKNOWN)


class UnknownJob(InputRejected):
    """No job has this id."""


@dataclass(frozen=True, slots=True)
class PairText:
    """A pair with the digests of both texts."""

    note_path: str
    gate_path: str
    note_sha256: str
    gate_sha256: str


def require_job(job_id: int) -> ReviewJob:
    """Return the job, as `with_names` loads it.

    :raises UnknownJob: there is none.
    """
    job = ReviewJob.objects.with_names().filter(pk=job_id).first()
    if job is None:
        raise unknown_job(job_id)
    return job


def unknown_job(job_id: int) -> UnknownJob:
    return UnknownJob(
        f"no review job {job_id} in this store",
        hint="list them with: commonplace review_job_list --json",
    )


def show_jobs(job_ids: Iterable[int], *, gates_folder: str) -> list[JobJson]:
    """Return the jobs with their pairs, in the order of `job_ids`; unknown ids are left out."""
    return list(iter_jobs(job_ids, gates_folder=gates_folder))


def iter_jobs(job_ids: Iterable[int], *, gates_folder: str) -> Iterator[JobJson]:
    """Yield what `show_jobs` returns, `JOBS_AT_ONCE` in memory."""
    for chunk in batched(job_ids, JOBS_AT_ONCE):
        pairs: dict[int, list[PairJson]] = {}
        rows = ReviewPair.objects.filter(job_id__in=chunk).order_by("job_id", "ordinal")
        # Tuples: an instance with its note and its gate takes five times as long.
        for job_id, pair_id, ordinal, note, gate, status, decision in rows.values_list(*_COLUMNS):
            pair = PairJson(
                review_pair_id=pair_id,
                ordinal=ordinal,
                note_path=note,
                gate_path=gate,
                gate_id=gate_id_of(gate, gates_folder=gates_folder),
                pair_status=status,
                decision=decision or None,
            )
            pairs.setdefault(job_id, []).append(pair)
        jobs = ReviewJob.objects.with_names().in_bulk(chunk)
        for job_id in chunk:
            if job_id in jobs:
                yield _job_json(jobs[job_id], pairs.get(job_id, []))


def list_job_ids(
    *, statuses: Sequence[JobStatus] = (), model_partition: str = "", limit: int | None = None
) -> list[int]:
    """Return the ids of the jobs that match, oldest first."""
    jobs = ReviewJob.objects.order_by("pk")
    if statuses:
        jobs = jobs.filter(status__in=statuses)
    if model_partition:
        jobs = jobs.of_partition(model_partition)
    return list(jobs.values_list("pk", flat=True)[:limit])


def show_event(event: JobEvent) -> JobEventJson:
    return JobEventJson(
        review_job_event_id=event.pk,
        review_job_id=event.job_id,
        from_status=event.from_status or None,
        to_status=event.to_status,
        actor=event.actor,
        note=event.note,
        at=timestamp(event.at),
    )


def count_attempts(pairs: Collection[PairText], *, model_partition: str) -> Counter[PairText]:
    """Count, by pair and text, the closed jobs of the partition that left it without a decision."""
    answered = ~Q(job__telemetry__has_key=MODEL_ANSWERED)
    tried = Q(answered, status=PairStatus.MISSING, job__failure_code__in=_TELLING) | Q(
        status=PairStatus.COMPLETED, not_accepted__in=_UNDECIDED
    )
    rows = ReviewPair.objects.filter(
        tried,
        job__status__in=(JobStatus.COMPLETED, JobStatus.FAILED),
        job__started_at__isnull=False,
        job__model_partition__name=model_partition,
        note__path__in={pair.note_path for pair in pairs},
        gate__path__in={pair.gate_path for pair in pairs},
    )
    snapshots = ("note_snapshot__content_sha256", "gate_snapshot__content_sha256")
    return Counter(
        PairText(*row) for row in rows.values_list("note__path", "gate__path", *snapshots)
    )


def _job_json(job: ReviewJob, pairs: list[PairJson]) -> JobJson:
    return JobJson(
        review_job_id=job.pk,
        status=job.status,
        model_partition=job.model_partition.name,
        grouping=job.grouping,
        lens=job.lens,
        prompt_path=job.prompt_path,
        bundle_output_path=job.bundle_output_path,
        manifest_path=manifest_path(job.prompt_path),
        estimated_prompt_tokens=job.estimated_prompt_tokens,
        pair_count=job.pair_count,
        pairs=pairs,
        claimed_by=job.claimed_by or None,
        runner=job.runner,
        runner_model=job.runner_model,
        runner_effort=job.runner_effort,
        created_at=timestamp(job.created_at),
        started_at=timestamp(job.started_at),
        completed_at=timestamp(job.completed_at),
        failure_code=job.failure_code or None,
        failure_reason=job.failure_reason or None,
        replaces=job.replaces_id,
        replaced_by=job.replacement_id,
    )
