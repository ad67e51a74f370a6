"""Runs queued jobs that somebody names, or all of a partition: claim, run and ingest for each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet

from review.conf import Config
from review.contracts.jobs import IngestedJobJson
from review.errors import UsageRefused
from review.models import ReviewJob
from review.orchestration.dispatching import Dispatcher, drive
from review.orchestration.ingesting import RefusedJob
from review.orchestration.news import Crashed, JobRun, LeftQueued, News
from review.orchestration.provenance import canonical_partition
from review.queries.job_board import list_job_ids, require_job
from review.runners.outcome import RunnerFailure
from review.vocabulary import JobStatus


@dataclass(frozen=True)
class RunResult:
    """What became of each job, sorted by id.

    :param stopped_for: what one job failed for that would have failed all others.
    """

    jobs: tuple[IngestedJobJson, ...]
    left_queued: tuple[LeftQueued, ...]
    refused: tuple[RefusedJob, ...]
    stopped_for: RunnerFailure | None = None


def partition_of_jobs(job_ids: Sequence[int], *, model: str | None, config: Config) -> str | None:
    """The partition that the named jobs are for; of all queued ones when none is named.

    :param model: the model that will run them; says the partition when no job is named.
    :raises UsageRefused: they are for several partitions, and a runner runs for one.
    :raises UnknownJob: none of the named jobs is there.
    """
    if not job_ids and model is not None:
        return canonical_partition(model, config=config)
    jobs = ReviewJob.objects.filter(pk__in=job_ids) if job_ids else _queued()
    names = sorted(set(jobs.values_list("model_partition__name", flat=True)))
    if len(names) > 1:
        raise UsageRefused(
            f"these jobs are for several partitions: {', '.join(names)}",
            hint="run one partition after the other: --model-partition P",
        )
    if job_ids and not names:
        require_job(job_ids[0])
    return names[0] if names else None


def queued_jobs(model_partition: str) -> list[int]:
    """Ids of the queued jobs of a partition, oldest first."""
    return list_job_ids(statuses=(JobStatus.QUEUED,), model_partition=model_partition)


def run_jobs(
    job_ids: Iterable[int],
    *,
    dispatcher: Dispatcher,
    stop: threading.Event,
    tell: Callable[[News], None] = lambda news: None,
) -> RunResult:
    """Run the jobs; nothing more is started after `stop`, or when one shows that none will succeed.

    A job that was not started stays queued.
    """
    collected = _Collected()

    def hear(news: News) -> None:
        tell(news)
        collected.hear(news, stop)

    try:
        drive(
            iter(job_ids),
            dispatcher,
            may_start=lambda _under_way: not (stop.is_set() or collected.ends),
            tell=hear,
        )
    except BaseException:
        stop.set()
        raise
    finally:
        dispatcher.close()
    if collected.crash is not None:
        raise collected.crash
    return RunResult(
        tuple(sorted(collected.jobs, key=lambda job: job.review_job_id)),
        tuple(collected.left_queued),
        tuple(collected.refused),
        collected.stopped_for,
    )


@dataclass
class _Collected:
    jobs: list[IngestedJobJson] = field(default_factory=list)
    left_queued: list[LeftQueued] = field(default_factory=list)
    refused: list[RefusedJob] = field(default_factory=list)
    stopped_for: RunnerFailure | None = None
    crash: Exception | None = None

    @property
    def ends(self) -> bool:
        return self.stopped_for is not None or self.crash is not None

    def hear(self, news: News, stop: threading.Event) -> None:
        if isinstance(news, JobRun):
            self.jobs.append(news.document)
            if news.failure is not None and news.failure.concerns_all:
                self.stopped_for = news.failure
        elif isinstance(news, LeftQueued):
            self.left_queued.append(news)
        elif isinstance(news, RefusedJob):
            self.refused.append(news)
        elif isinstance(news, Crashed):
            self.crash = self.crash or news.error
            stop.set()


def _queued() -> QuerySet[ReviewJob]:
    return ReviewJob.objects.filter(status=JobStatus.QUEUED)
