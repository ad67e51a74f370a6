"""Jobs a page at a time, newest first, and how many there are of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Count

from review.domain.paths import gate_id_of
from review.models import ReviewJob, ReviewPair
from review.models.jobs import ReviewJobQuerySet
from review.vocabulary import Decision, FailureCode, Grouping, JobStatus


@dataclass(frozen=True)
class JobFilter:
    """Which jobs to give; an empty filter keeps all.

    :param job_ids: only these, when it is not None.
    """

    statuses: tuple[JobStatus, ...] = ()
    partitions: tuple[str, ...] = ()
    failure_codes: tuple[FailureCode, ...] = ()
    lenses: tuple[str, ...] = ()
    job_ids: tuple[int, ...] | None = None


@dataclass(frozen=True)
class JobRow:
    """A job as a line of a list.

    :param about: the note of a job for one note, the gate of a job for one gate.
    :param decisions: how many of its reviews came to which decision, in the order of `Decision`.
    """

    job: ReviewJob
    about: str
    decisions: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class JobCounts:
    """How many jobs there are by each filter's values, of all jobs."""

    statuses: dict[str, int] = field(default_factory=dict)
    partitions: dict[str, int] = field(default_factory=dict)
    failure_codes: dict[str, int] = field(default_factory=dict)


def newest_job_ids(wanted: JobFilter, *, before: int | None, limit: int) -> list[int]:
    """Ids of the jobs that match, newest first, below `before`."""
    jobs = _matching(wanted)
    if before is not None:
        jobs = jobs.filter(pk__lt=before)
    return list(jobs.order_by("-pk").values_list("pk", flat=True)[:limit])


def job_rows(job_ids: Sequence[int], *, gates_folder: str) -> list[JobRow]:
    """The jobs as lines, in the order of `job_ids`; three statements, whatever the jobs hold."""
    jobs = ReviewJob.objects.select_related("model_partition").in_bulk(job_ids)
    pairs = ReviewPair.objects.filter(job_id__in=job_ids)
    about: dict[int, str] = {}
    for job_id, note, gate in pairs.filter(ordinal=1).values_list(
        "job_id", "note__path", "gate__path"
    ):
        of_one_note = jobs[job_id].grouping == Grouping.NOTE
        about[job_id] = note if of_one_note else gate_id_of(gate, gates_folder=gates_folder)
    decided: dict[int, dict[str, int]] = {}
    counted = pairs.exclude(decision="").values_list("job_id", "decision").annotate(Count("pk"))
    for job_id, decision, number in counted.order_by():
        decided.setdefault(job_id, {})[decision] = number
    return [
        JobRow(
            job=jobs[job_id],
            about=about.get(job_id, ""),
            decisions=tuple(
                (word.value, decided[job_id][word.value])
                for word in Decision
                if word.value in decided.get(job_id, {})
            ),
        )
        for job_id in job_ids
        if job_id in jobs
    ]


def count_jobs_by_kind() -> JobCounts:
    """Counts for the filters; two statements, the first of which an index answers alone."""
    counts = JobCounts(statuses={status.value: 0 for status in JobStatus})
    rows = ReviewJob.objects.order_by().values_list("status", "model_partition__name")
    for status, partition, number in rows.annotate(number=Count("pk")):
        counts.statuses[status] += number
        counts.partitions[partition] = counts.partitions.get(partition, 0) + number
    failed = ReviewJob.objects.filter(status=JobStatus.FAILED).order_by("failure_code")
    codes = failed.values_list("failure_code").annotate(number=Count("pk"))
    counts.failure_codes.update(codes)
    return counts


def _matching(wanted: JobFilter) -> ReviewJobQuerySet:
    jobs = ReviewJob.objects.all()
    if wanted.statuses:
        jobs = jobs.filter(status__in=wanted.statuses)
    if wanted.partitions:
        jobs = jobs.filter(model_partition__name__in=wanted.partitions)
    if wanted.failure_codes:
        jobs = jobs.filter(failure_code__in=wanted.failure_codes)
    if wanted.lenses:
        jobs = jobs.filter(lens__in=wanted.lenses)
    if wanted.job_ids is not None:
        jobs = jobs.filter(pk__in=wanted.job_ids)
    return jobs
