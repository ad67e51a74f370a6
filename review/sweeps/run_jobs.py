"""Runs queued jobs: those of a sweep, those that are named, or all of a partition."""

from __future__ import annotations

import queue
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from django.db import connection

from review.errors import ReviewError, UsageRefused
from review.ingest.ingest import RefusedJob
from review.jobs.board import require_job
from review.jobs.job_documents import IngestedJobJson, LeftQueuedJson
from review.jobs.provenance import canonical_partition
from review.models import ReviewJob
from review.settings.config import Config
from review.store.errors import translate_db_errors
from review.sweeps.progress import JobOutcome, JobRun, JobUpdate
from review.sweeps.run_job import TakenJob, Worker, run_job
from review.vocabulary import JobStatus

# Takes the jobs of a sweep until none is left or may start: called as `drive` is.
Dispatch = Callable[..., None]


class Crew(Protocol):
    """Those that run jobs."""

    def start(self, job: int | TakenJob) -> None:
        """Let a job be run."""

    def updates(self, timeout: float | None) -> Iterable[JobUpdate]:
        """What happened since: wait for it, at most `timeout` seconds."""

    def close(self) -> None:
        """Wait for those that run."""


def drive(
    next_job: Callable[[], int | TakenJob | None],
    worker: Worker,
    *,
    may_start: Callable[[int], bool],
    on_update: Callable[[JobUpdate], None],
    crew: Crew | None = None,
    poll: float | None = None,
) -> None:
    """Run jobs, up to `worker.slots` at once, until none is left and none is under way.

    A fault of a worker is raised when the others have ended.

    :param next_job: returns None when there is none now; it is called again when a job has ended.
    :param may_start: called before each job with the number of those under way.
    :param on_update: receives all updates, one at a time, in the thread that calls this.
    :param crew: runs the jobs; threads of this process by default.
    :param poll: seconds until `next_job` is called in any case, as long as another job may start.
    """
    crew = crew or _Threads(worker)
    under_way = 0
    try:
        while True:
            while under_way < worker.slots and may_start(under_way):
                job = next_job()
                if job is None:
                    break
                under_way += 1
                crew.start(job)
            if not under_way and (poll is None or not may_start(0)):
                break
            for update in crew.updates(poll):
                under_way -= isinstance(update, JobOutcome)
                on_update(update)
    except BaseException:
        worker.stop.set()
        raise
    finally:
        crew.close()


class _Threads:
    """Threads of this process; what takes its own time runs at once, in the thread that calls."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._pool = ThreadPoolExecutor(worker.slots)
        self._updates: queue.SimpleQueue[JobUpdate | Exception] = queue.SimpleQueue()

    def start(self, job: int | TakenJob) -> None:
        if self._worker.in_process:
            self._run(job)
        else:
            self._pool.submit(self._run_in_thread, job)

    def updates(self, timeout: float | None) -> Iterable[JobUpdate]:
        try:
            update = self._updates.get(timeout=timeout)
        except queue.Empty:
            return
        if isinstance(update, Exception):
            raise update
        yield update

    def close(self) -> None:
        self._pool.shutdown()

    def _run(self, job: int | TakenJob) -> None:
        """Run a job; the last of its updates is a `JobOutcome`, or the fault that ended it."""
        outcome: JobOutcome | Exception
        try:
            with translate_db_errors():
                outcome = run_job(job, worker=self._worker, on_update=self._updates.put)
        except ReviewError as refused:
            outcome = RefusedJob(job if isinstance(job, int) else job.job.pk, refused)
        except Exception as error:  # noqa: BLE001  # a worker must answer, or `drive` waits for ever
            outcome = error
        self._updates.put(outcome)

    def _run_in_thread(self, job: int | TakenJob) -> None:
        try:
            self._run(job)
        finally:
            connection.close()


@dataclass
class RunResult:
    """Results of each job, sorted by id.

    :param stopped_because: a failure of one job that all others would have.
    :param counts: of jobs by their ending, where so many may be run that none is kept.
    """

    jobs: list[IngestedJobJson] = field(default_factory=list)
    left_queued: list[LeftQueuedJson] = field(default_factory=list)
    refused: list[RefusedJob] = field(default_factory=list)
    stopped_because: str | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, update: JobUpdate) -> None:
        match update:
            case JobRun():
                self.jobs.append(update.document)
                if update.failure is not None and update.failure.concerns_all:
                    self.stopped_because = update.failure.reason
            case LeftQueuedJson():
                self.left_queued.append(update)
            case RefusedJob():
                self.refused.append(update)


def partition_of_jobs(job_ids: Sequence[int], *, model: str | None, config: Config) -> str | None:
    """Return the partition of the named jobs; of all queued ones when none is named.

    :param model: the model that will run them; says the partition when no job is named.
    :raises UsageRefused: they are for several partitions, and a runner runs for one.
    :raises UnknownJob: none of the named jobs is there.
    """
    if not job_ids and model is not None:
        return canonical_partition(model, config=config)
    jobs = ReviewJob.objects.filter(pk__in=job_ids)
    if not job_ids:
        jobs = ReviewJob.objects.reviews().filter(status=JobStatus.QUEUED)
    names = sorted(set(jobs.values_list("model_partition__name", flat=True)))
    if len(names) > 1:
        raise UsageRefused(
            f"these jobs are for several partitions: {', '.join(names)}",
            hint=f"run one partition after the other: --model-partition {shlex.quote(names[0])}",
        )
    if job_ids and not names:
        require_job(job_ids[0])
    return names[0] if names else None


def run_jobs(job_ids: Iterable[int], *, worker: Worker) -> RunResult:
    """Run the jobs; no more are started when asked to stop, or when one shows that none will succeed.

    A job that was not started stays queued.
    """
    result, waiting = RunResult(), iter(job_ids)
    drive(
        lambda: next(waiting, None),
        worker,
        may_start=lambda _under_way: not worker.stop.is_set() and result.stopped_because is None,
        on_update=result.add,
    )
    result.jobs.sort(key=lambda job: job.review_job_id)
    return result
