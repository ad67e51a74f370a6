"""Runs queued jobs that somebody names, or all of a partition: claim, run and ingest for each."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from review.errors import UsageRefused
from review.ingest.ingest import RefusedJob
from review.jobs.board import require_job
from review.jobs.job_documents import IngestedJobJson
from review.jobs.provenance import canonical_partition
from review.models import ReviewJob
from review.runners.outcome import RunnerFailure
from review.settings.config import Config
from review.sweeps.dispatcher import Dispatcher, drive
from review.sweeps.job_updates import JobRun, JobUpdate, LeftQueued
from review.vocabulary import JobStatus


@dataclass
class RunResult:
    """What became of each job, sorted by id.

    :param stopped_for: what one job failed for that would have failed all others.
    """

    jobs: list[IngestedJobJson] = field(default_factory=list)
    left_queued: list[LeftQueued] = field(default_factory=list)
    refused: list[RefusedJob] = field(default_factory=list)
    stopped_for: RunnerFailure | None = None

    def hear(self, update: JobUpdate) -> None:
        if isinstance(update, JobRun):
            self.jobs.append(update.document)
            if update.failure is not None and update.failure.concerns_all:
                self.stopped_for = update.failure
        elif isinstance(update, LeftQueued):
            self.left_queued.append(update)
        elif isinstance(update, RefusedJob):
            self.refused.append(update)


def partition_of_jobs(job_ids: Sequence[int], *, model: str | None, config: Config) -> str | None:
    """The partition that the named jobs are for; of all queued ones when none is named.

    :param model: the model that will run them; says the partition when no job is named.
    :raises UsageRefused: they are for several partitions, and a runner runs for one.
    :raises UnknownJob: none of the named jobs is there.
    """
    if not job_ids and model is not None:
        return canonical_partition(model, config=config)
    if job_ids:
        jobs = ReviewJob.objects.filter(pk__in=job_ids)
    else:
        jobs = ReviewJob.objects.filter(status=JobStatus.QUEUED)
    names = sorted(set(jobs.values_list("model_partition__name", flat=True)))
    if len(names) > 1:
        raise UsageRefused(
            f"these jobs are for several partitions: {', '.join(names)}",
            hint=f"run one partition after the other: --model-partition {shlex.quote(names[0])}",
        )
    if job_ids and not names:
        require_job(job_ids[0])
    return names[0] if names else None


def run_jobs(job_ids: Iterable[int], *, dispatcher: Dispatcher) -> RunResult:
    """Run the jobs; nothing more is started when asked to stop, or when one shows that none will succeed.

    A job that was not started stays queued.
    """
    result = RunResult()
    drive(
        iter(job_ids),
        dispatcher,
        may_start=lambda _under_way: not (dispatcher.stop.is_set() or result.stopped_for),
        on_update=result.hear,
    )
    result.jobs.sort(key=lambda job: job.review_job_id)
    return result
