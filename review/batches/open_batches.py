"""Jobs that providers' batches hold: which, by what names, and what was sent and never recorded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from review.jobs.abandonment import parent_is_alive
from review.models import ReviewJob
from review.runners.api.provider import ApiProvider, BatchState
from review.runners.process.table import Processes
from review.vocabulary import JobStatus

# A provider's clock, against the database's.
_CLOCKS_DIFFER = timedelta(minutes=5)


@dataclass(frozen=True)
class OpenBatch:
    """Running jobs that were sent together; `batch_id` is empty where no answer was recorded."""

    batch_id: str
    jobs: Sequence[ReviewJob]

    @property
    def runner(self) -> str:
        return self.jobs[0].runner or ""

    def is_being_sent(self, processes: Processes) -> bool:
        """Return whether the process that sends it is at work, and is not this one."""
        first = self.jobs[0]
        is_alive = parent_is_alive(first, processes=processes)
        return is_alive is True and first.parent_pid != os.getpid()


def open_batches(*, runner: str = "") -> list[OpenBatch]:
    """The batches with running jobs, the oldest first."""
    running = ReviewJob.objects.with_names().filter(
        status=JobStatus.RUNNING,
        batch_until__isnull=False,
        **({"runner": runner} if runner else {}),
    )
    # Jobs of one claim have one time, also where no id was recorded.
    jobs = groupby(running.order_by("started_at", "batch_id", "pk"), _sent_together)
    return [OpenBatch(some[0].batch_id, some) for some in (list(group) for _key, group in jobs)]


def custom_id(job: ReviewJob) -> str:
    """The name of a job in a batch: of no other job, of this store or another."""
    return f"job-{job.pk}-{job.sentinel_token}"


def find_unrecorded(batch: OpenBatch, provider: ApiProvider) -> bool:
    """Record the id of a batch whose submission was not recorded; False: it never arrived.

    :raises BatchUndecided: it is not known yet.
    :raises ProviderFailed: the provider did not answer.
    """
    names = [custom_id(job) for job in batch.jobs]
    started: datetime = batch.jobs[0].started_at  # type: ignore[assignment]
    found = provider.find(names, since=started - _CLOCKS_DIFFER)
    if found is not None:
        record_batch(batch.jobs, found)
    return found is not None


def record_batch(jobs: Iterable[ReviewJob], state: BatchState) -> None:
    """Write the batch's id, and until when the provider may take, to its jobs."""
    fields = {"batch_id": state.batch_id}
    until = {} if state.until is None else {"batch_until": state.until}
    running = ReviewJob.objects.filter(pk__in=[job.pk for job in jobs], status=JobStatus.RUNNING)
    running.update(**fields, **until)


def _sent_together(job: ReviewJob) -> tuple[object, ...]:
    return job.started_at, job.batch_id, job.runner
