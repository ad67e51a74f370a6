"""Jobs as commands and pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from review.documents.base import timestamp
from review.domain.paths import gate_id_of
from review.errors import InputRejected
from review.job_files import manifest_path
from review.jobs.job_documents import JobJson, PairJson
from review.models import ReviewJob, ReviewPair, batched
from review.vocabulary import JobStatus

JOBS_AT_ONCE = 200
_COLUMNS = ("job_id", "pk", "ordinal", "note__path", "gate__path", "status", "decision")


def show_jobs(job_ids: Iterable[int], *, gates_folder: str) -> list[JobJson]:
    """The jobs with their pairs, in the order of `job_ids`; unknown ids are left out."""
    return list(iter_jobs(job_ids, gates_folder=gates_folder))


def iter_jobs(job_ids: Iterable[int], *, gates_folder: str) -> Iterator[JobJson]:
    """`show_jobs` for any number of jobs: no more than `JOBS_AT_ONCE` are held."""
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
        jobs = ReviewJob.objects.filter(pk__in=chunk).with_names()
        found = {job.pk: _job_json(job, pairs.get(job.pk, [])) for job in jobs}
        yield from (found[job_id] for job_id in chunk if job_id in found)


def list_job_ids(
    *, statuses: Sequence[JobStatus] = (), model_partition: str = "", limit: int | None = None
) -> list[int]:
    """Ids of the jobs that match, oldest first."""
    jobs = ReviewJob.objects.order_by("pk")
    if statuses:
        jobs = jobs.filter(status__in=statuses)
    if model_partition:
        jobs = jobs.of_partition(model_partition)
    return list(jobs.values_list("pk", flat=True)[:limit])


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


class UnknownJob(InputRejected):
    """No job has this id."""


def require_job(job_id: int) -> ReviewJob:
    """The job, as `with_names` loads it.

    :raises UnknownJob: there is none.
    """
    job = ReviewJob.objects.with_names().filter(pk=job_id).first()
    if job is None:
        raise unknown_job(job_id)
    return job


def unknown_job(job_id: int) -> UnknownJob:
    """The refusal of an id that no job has."""
    return UnknownJob(
        f"no review job {job_id} in this store",
        hint="list them with: commonplace review_job_list --json",
    )
