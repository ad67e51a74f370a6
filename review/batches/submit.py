"""Sends the jobs of a sweep as batches: claimed first, then submitted, then recorded.

An open batch is one of running jobs; its submission may not have been recorded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from django.db import transaction

from review.errors import Conflict
from review.jobs.claim import ClaimRequest, JobNotClaimable, claim
from review.jobs.job_documents import LeftQueuedJson
from review.jobs.leases import parent_is_alive
from review.models import Provenance, ReviewJob
from review.protocol.telemetry import Usage
from review.recovery.close import close_job
from review.runners.api.provider import ApiProvider, BatchState, ProviderFailed
from review.runners.outcome import RunnerOutcome, telemetry_of
from review.runners.process.table import Processes
from review.sweeps.executors import CannotRun, model_call
from review.sweeps.progress import JobRun, JobSent, JobUpdate
from review.sweeps.run_job import Worker
from review.vocabulary import JobStatus

_JOBS_PER_BATCH = 500
# About 80 MB: OpenAI takes 200, Anthropic 256.
_TOKENS_PER_BATCH = 20_000_000
_PROVIDER_HAS = timedelta(hours=25)
# A provider's clock, against the database's.
_CLOCKS_DIFFER = timedelta(minutes=5)


class BatchNotRecorded(Conflict):
    """The provider's answer to a submission is not known."""


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


@dataclass(frozen=True)
class BatchDispatch:
    """Sends jobs instead of running them; what was sent before and not recorded comes first."""

    provider: ApiProvider

    def __call__(
        self,
        next_job: Callable[[], int | None],
        worker: Worker,
        *,
        may_start: Callable[[int], bool],
        on_update: Callable[[JobUpdate], None],
    ) -> None:
        """Send all jobs that there are.

        :raises BatchUndecided, BatchNotRecorded: whether a batch has arrived is not known.
        """
        for batch in open_batches(runner=self.provider.settings.name):
            unrecorded = not batch.batch_id and not batch.is_being_sent(worker.processes)
            if unrecorded and not find_unrecorded(batch, self.provider):
                self._submit(batch.jobs, worker, on_update)
        while may_start(0):
            ready: list[ReviewJob] = []
            for job in _next_jobs(next_job, may_start):
                try:
                    model_call(job, provenance=worker.provenance, config=worker.config)
                    ready.append(job)
                except CannotRun as refused:
                    on_update(LeftQueuedJson(review_job_id=job.pk, reason=refused.message))
            if not ready:
                return
            if mine := _claim(ready, worker):
                self._submit(mine, worker, on_update)

    def _submit(
        self, jobs: Sequence[ReviewJob], worker: Worker, on_update: Callable[[JobUpdate], None]
    ) -> None:
        bodies = {}
        for job in jobs:
            claimed = Provenance(job.runner, job.runner_model, job.runner_effort)
            call = model_call(job, provenance=claimed, config=worker.config)
            bodies[custom_id(job)] = self.provider.body(call)
        try:
            state = self.provider.submit(bodies)
        except ProviderFailed as refused:
            if refused.status is None or refused.status >= 500:
                raise BatchNotRecorded(
                    f"it is not known whether a batch of {len(jobs)} jobs has arrived:"
                    f" {refused.message}",
                    hint="run the same again: it is looked for before anything is sent",
                ) from refused
            for job in jobs:
                outcome = RunnerOutcome(failure=refused.failure)
                document = close_job(
                    job,
                    replace(outcome, telemetry=telemetry_of([outcome])),
                    actor=worker.actor,
                    config=worker.config,
                    now=worker.clock(),
                )
                on_update(JobRun(document, Usage(), 0, 0.0, refused.failure))
            return
        record_batch(jobs, state)
        for job in jobs:
            on_update(JobSent(job.pk, state.batch_id, job.pair_count))


def _next_jobs(
    next_job: Callable[[], int | None], may_start: Callable[[int], bool]
) -> Iterator[ReviewJob]:
    """The jobs for one batch."""
    count = tokens = 0
    while count < _JOBS_PER_BATCH and tokens < _TOKENS_PER_BATCH and may_start(count):
        if (job_id := next_job()) is None:
            return
        job = ReviewJob.objects.with_names().get(pk=job_id)
        count, tokens = count + 1, tokens + job.estimated_prompt_tokens
        yield job


def _claim(jobs: Sequence[ReviewJob], worker: Worker) -> list[ReviewJob]:
    """Claim the jobs for a batch that is about to be sent; those that others took are left out."""
    now, mine = worker.clock(), []
    request = ClaimRequest(worker.actor, worker.provenance, parent=worker.parent)
    with transaction.atomic():
        for job in jobs:
            with suppress(JobNotClaimable):
                claim(replace(request, job_id=job.pk), config=worker.config, now=now)
                mine.append(job.pk)
        claimed = ReviewJob.objects.filter(pk__in=mine)
        claimed.update(batch_until=now + _PROVIDER_HAS)
    return list(claimed.with_names().order_by("pk"))


def open_batches(*, runner: str = "") -> list[OpenBatch]:
    """The batches with running jobs, the oldest first."""
    running = ReviewJob.objects.with_names().filter(
        status=JobStatus.RUNNING, batch_until__isnull=False
    )
    if runner:
        running = running.filter(runner=runner)
    # Jobs of one claim have one time, also where no id was recorded.
    jobs = groupby(
        running.order_by("started_at", "batch_id", "pk"),
        lambda job: (job.started_at, job.batch_id, job.runner),
    )
    return [OpenBatch(key[1], list(some)) for key, some in jobs]


def custom_id(job: ReviewJob) -> str:
    """The name of a job in a batch: of no other job, of this store or another."""
    return f"job-{job.pk}-{job.sentinel_token}"


def find_unrecorded(batch: OpenBatch, provider: ApiProvider) -> str:
    """Record the id of a batch whose submission was not recorded; empty: it never arrived.

    :raises BatchUndecided, ProviderFailed: it is not known yet.
    """
    names = [custom_id(job) for job in batch.jobs]
    started: datetime = batch.jobs[0].started_at  # type: ignore[assignment]
    found = provider.find(names, since=started - _CLOCKS_DIFFER)
    if found is None:
        return ""
    record_batch(batch.jobs, found)
    return found.batch_id


def record_batch(jobs: Iterable[ReviewJob], state: BatchState) -> None:
    """Write the batch's id, and until when the provider may take, to its jobs."""
    running = ReviewJob.objects.filter(pk__in=[job.pk for job in jobs], status=JobStatus.RUNNING)
    until = {} if state.until is None else {"batch_until": state.until}
    running.update(batch_id=state.batch_id, **until)
