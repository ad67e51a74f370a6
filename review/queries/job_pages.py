"""Jobs a page at a time, newest first, and how many there are of each kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Count

from review.domain.identity import gate_id_of
from review.models import ReviewJob, ReviewPair
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

    statuses: Counter[str] = field(default_factory=Counter)
    partitions: Counter[str] = field(default_factory=Counter)
    failure_codes: Counter[str] = field(default_factory=Counter)


def newest_job_ids(wanted: JobFilter, *, before: int | None, limit: int) -> list[int]:
    """Return the ids of the jobs that match, newest first, below `before`."""
    conditions = {
        "status__in": wanted.statuses or None,
        "model_partition__name__in": wanted.partitions or None,
        "failure_code__in": wanted.failure_codes or None,
        "lens__in": wanted.lenses or None,
        "pk__in": wanted.job_ids,
        "pk__lt": before,
    }
    given = {name: value for name, value in conditions.items() if value is not None}
    jobs = ReviewJob.objects.filter(**given).order_by("-pk")
    return list(jobs.values_list("pk", flat=True)[:limit])


def job_rows(job_ids: Sequence[int], *, gates_folder: str) -> list[JobRow]:
    """Return the jobs as lines, in the order of `job_ids`."""
    jobs = ReviewJob.objects.select_related("model_partition").in_bulk(job_ids)
    pairs = ReviewPair.objects.filter(job_id__in=job_ids)
    names = {
        job_id: (note, gate_id_of(gate, gates_folder=gates_folder))
        for job_id, note, gate in pairs.filter(ordinal=1).values_list(
            "job_id", "note__path", "gate__path"
        )
    }
    counted = pairs.exclude(decision="").values_list("job_id", "decision").annotate(Count("pk"))
    decided = {(job_id, decision): number for job_id, decision, number in counted.order_by()}
    return [
        JobRow(
            job=jobs[job_id],
            about=names[job_id][jobs[job_id].grouping != Grouping.NOTE],
            decisions=tuple(
                (word.value, decided[job_id, word.value])
                for word in Decision
                if (job_id, word.value) in decided
            ),
        )
        for job_id in job_ids
        if job_id in jobs
    ]


def count_jobs_by_kind() -> JobCounts:
    """Count the jobs for the filters; the statuses in their order."""
    counts = JobCounts(statuses=Counter(dict.fromkeys(JobStatus.values, 0)))
    rows = ReviewJob.objects.order_by().values_list("status", "model_partition__name")
    for status, partition, number in rows.annotate(number=Count("pk")):
        counts.statuses[status] += number
        counts.partitions[partition] += number
    failed = ReviewJob.objects.filter(status=JobStatus.FAILED).order_by("failure_code")
    counts.failure_codes.update(dict(failed.values_list("failure_code").annotate(Count("pk"))))
    return counts
