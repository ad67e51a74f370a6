"""Sends the jobs of a sweep as batches: claimed first, then submitted, then recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.db import transaction

from review.batches.open_batches import (
    custom_id,
    find_unrecorded,
    open_batches,
    record_batch,
)
from review.errors import Conflict
from review.jobs.claim import ClaimRequest, JobNotClaimable, claim
from review.jobs.job_documents import LeftQueuedJson
from review.models import Provenance, ReviewJob
from review.protocol.telemetry import Usage
from review.recovery.fail import close_job
from review.runners.api.provider import ApiProvider, ProviderFailed
from review.runners.outcome import RunnerOutcome, telemetry_of
from review.sweeps.executors import CannotRun, model_call
from review.sweeps.progress import JobRun, JobSent, JobUpdate
from review.sweeps.run_job import Worker

_JOBS_PER_BATCH = 500
# About 80 MB: OpenAI takes 200, Anthropic 256.
_TOKENS_PER_BATCH = 20_000_000
_PROVIDER_HAS = timedelta(hours=25)
_OnUpdate = Callable[[JobUpdate], None]


class BatchNotRecorded(Conflict):
    """The provider's answer to a submission is not known."""


class BatchDispatch:
    """Sends jobs instead of running them; what was sent before and not recorded comes first."""

    def __init__(self, provider: ApiProvider) -> None:
        self._provider = provider

    def __call__(
        self,
        next_job: Callable[[], int | None],
        worker: Worker,
        *,
        may_start: Callable[[int], bool],
        on_update: _OnUpdate,
    ) -> None:
        """Send all jobs that there are.

        :raises BatchUndecided, BatchNotRecorded: whether a batch has arrived is not known.
        """
        for batch in open_batches(runner=self._provider.settings.name):
            unrecorded = not batch.batch_id and not batch.is_being_sent(worker.processes)
            if unrecorded and not find_unrecorded(batch, self._provider):
                self._submit(batch.jobs, worker, on_update)
        while may_start(0):
            jobs = list(_ready(next_job, worker, may_start, on_update))
            if not jobs:
                return
            if mine := _claim(jobs, worker):
                self._submit(mine, worker, on_update)

    def _submit(self, jobs: Sequence[ReviewJob], worker: Worker, on_update: _OnUpdate) -> None:
        bodies: dict[str, Any] = {}
        for job in jobs:
            claimed = Provenance(job.runner, job.runner_model, job.runner_effort)
            call = model_call(job, provenance=claimed, config=worker.config)
            bodies[custom_id(job)] = self._provider.body(call)
        try:
            state = self._provider.submit(bodies)
        except ProviderFailed as refused:
            if refused.status is None or refused.status >= 500:
                raise BatchNotRecorded(
                    f"it is not known whether a batch of {len(jobs)} jobs has arrived:"
                    f" {refused.message}",
                    hint="run the same again: it is looked for before anything is sent",
                ) from refused
            for job in jobs:
                on_update(_refused(job, refused, worker))
            return
        record_batch(jobs, state)
        for job in jobs:
            on_update(JobSent(job.pk, state.batch_id, job.pair_count))


def _ready(
    next_job: Callable[[], int | None],
    worker: Worker,
    may_start: Callable[[int], bool],
    on_update: _OnUpdate,
) -> Iterator[ReviewJob]:
    """Jobs for one batch, whose prompts are as they were made."""
    count = tokens = 0
    while count < _JOBS_PER_BATCH and tokens < _TOKENS_PER_BATCH and may_start(count):
        if (job_id := next_job()) is None:
            return
        job = ReviewJob.objects.with_names().get(pk=job_id)
        try:
            model_call(job, provenance=worker.provenance, config=worker.config)
        except CannotRun as refused:
            on_update(LeftQueuedJson(review_job_id=job_id, reason=refused.message))
        else:
            count, tokens = count + 1, tokens + job.estimated_prompt_tokens
            yield job


def _claim(jobs: Sequence[ReviewJob], worker: Worker) -> list[ReviewJob]:
    """Claim the jobs for a batch that is about to be sent; those that others took are left out."""
    now, mine = worker.clock(), []
    with transaction.atomic():
        for job in jobs:
            request = ClaimRequest(
                worker.actor, worker.provenance, job_id=job.pk, parent=worker.parent
            )
            with suppress(JobNotClaimable):
                claim(request, config=worker.config, now=now)
                mine.append(job.pk)
        claimed = ReviewJob.objects.filter(pk__in=mine)
        claimed.update(batch_until=now + _PROVIDER_HAS)
    return list(claimed.with_names().order_by("pk"))


def _refused(job: ReviewJob, refused: ProviderFailed, worker: Worker) -> JobRun:
    """Fail a job of a batch that the provider did not take."""
    outcome = RunnerOutcome(failure=refused.failure)
    document = close_job(
        job,
        replace(outcome, telemetry=telemetry_of([outcome])),
        actor=worker.actor,
        config=worker.config,
        now=worker.clock(),
    )
    return JobRun(document, Usage(), runs=0, seconds=0.0, failure=refused.failure)
