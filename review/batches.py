"""Sends the jobs of a sweep as batches: claimed, submitted, recorded; collects the results.

An open batch is one of running jobs; its submission may not have been recorded.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

from django.db import transaction

from review.documents.base import Document, timestamp
from review.errors import Conflict, InputRejected, ReviewError
from review.ingest.parse import names_of
from review.jobs.claim import ClaimRequest, claim_job
from review.jobs.job_documents import IngestedJobJson, LeftQueuedJson
from review.jobs.leases import JobNotClaimable, Processes, parent_is_alive
from review.models import Provenance, ReviewJob
from review.protocol.telemetry import Usage, read_usage
from review.recovery.close import Closing, close_job
from review.runners.api.provider import ApiProvider, BatchState, BatchUndecided, ProviderFailed
from review.runners.api.run import open_provider, outcome_of
from review.runners.outcome import RunnerFailure, RunnerOutcome, telemetry_of
from review.runners.registry import UnknownRunner, find_runner
from review.settings import Config
from review.store.errors import retry_while_busy
from review.sweeps.executors import model_call, with_blocks
from review.sweeps.progress import JobRun, JobSent, JobUpdate
from review.sweeps.run_job import CannotRun, Worker
from review.vocabulary import FailureCode, JobStatus


class BatchJson(Document, kw_only=True):
    """A batch: `jobs` counts its jobs that were open, `closed` those that were collected, by status.

    `state` is `sent`, `unrecorded` (whether it arrived is not known), `under-way`, `cancelling`,
    `collected` or `out-of-reach`.
    """

    batch_id: str | None
    runner: str
    model_partition: str
    sent_at: str | None
    until: str | None
    jobs: int
    state: str
    closed: dict[str, int] = {}
    cost_usd: float | None = None
    jobs_without_cost: int = 0
    problem: str | None = None


class BatchesJson(Document, kw_only=True, tag_field="schema", tag="review-batches/1"):
    batches: list[BatchJson]


_JOBS_PER_BATCH = 500
# About 80 MB: OpenAI takes 200, Anthropic 256.
_TOKENS_PER_BATCH = 20_000_000
_PROVIDER_HAS = timedelta(hours=25)
# A provider's clock, against the database's.
_CLOCKS_DIFFER = timedelta(minutes=5)


# Running jobs that were sent together: of one runner, with one id, empty where no answer was recorded.
OpenBatch: TypeAlias = list[ReviewJob]


def _is_lost(batch: OpenBatch, processes: Processes) -> bool:
    """Return whether no answer to its submission was recorded, and nobody is at it."""
    if batch[0].batch_id:
        return False
    is_at_work = parent_is_alive(batch[0], processes=processes) is True
    return not is_at_work or batch[0].parent_pid == os.getpid()


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
        """Send all jobs that there are; BatchUndecided: it may have arrived."""
        for batch in open_batches(runner=self.provider.settings.name):
            if _is_lost(batch, worker.processes) and not find_unrecorded(batch, self.provider):
                self._submit(batch, worker, on_update)
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
            bodies[custom_id(job)] = self.provider.body(
                model_call(job, provenance=claimed, config=worker.config)
            )
        try:
            state = self.provider.submit(bodies)
        except ProviderFailed as refused:
            if refused.status is None or refused.status >= 500:
                raise Conflict(
                    f"it is not known whether a batch of {len(jobs)} jobs has arrived:"
                    f" {refused.message}",
                    "batch-not-recorded",
                    hint="run the same again: it is looked for before anything is sent",
                ) from refused
            for job in jobs:
                document = _close(job, RunnerOutcome(failure=refused.failure), worker)
                on_update(JobRun(document, Usage(), 0, 0.0, refused.failure))
            return
        record_batch(jobs, state)
        for job in jobs:
            on_update(JobSent(job.pk, state.batch_id, job.pair_count))


def _next_jobs(
    next_job: Callable[[], int | None], may_start: Callable[[int], bool]
) -> Iterator[ReviewJob]:
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
                claim_job(job, request, config=worker.config, now=now)
                mine.append(job.pk)
        claimed = ReviewJob.objects.filter(pk__in=mine)
        claimed.update(batch_until=now + _PROVIDER_HAS)
    return list(claimed.with_names().order_by("pk"))


def open_batches(**which: str) -> list[OpenBatch]:
    sent = ReviewJob.objects.filter(status=JobStatus.RUNNING, batch_until__isnull=False, **which)
    # Jobs of one claim have one time, also where no id was recorded.
    claim = attrgetter("started_at", "batch_id", "runner")
    jobs = sent.with_names().order_by("started_at", "batch_id", "pk")
    return [list(some) for _claim, some in groupby(jobs, claim)]


def custom_id(job: ReviewJob) -> str:
    """The name of a job in a batch: of no other job, of this store or another."""
    return f"job-{job.pk}-{job.sentinel_token}"


def find_unrecorded(batch: OpenBatch, provider: ApiProvider) -> str:
    """Record the id of a batch whose submission was not recorded; empty: it never arrived."""
    started: datetime = batch[0].started_at  # type: ignore[assignment]
    found = provider.find([custom_id(job) for job in batch], since=started - _CLOCKS_DIFFER)
    if found is None:
        return ""
    record_batch(batch, found)
    return found.batch_id


def record_batch(jobs: Iterable[ReviewJob], state: BatchState) -> None:
    """Write the batch's id, and until when the provider may take, to its jobs."""
    running = ReviewJob.objects.filter(pk__in=[job.pk for job in jobs], status=JobStatus.RUNNING)
    until = {} if state.until is None else {"batch_until": state.until}
    running.update(batch_id=state.batch_id, **until)


SENT, UNRECORDED, UNDER_WAY, CANCELLING = "sent", "unrecorded", "under-way", "cancelling"
COLLECTED, OUT_OF_REACH = "collected", "out-of-reach"


@dataclass
class BatchCollector:
    """The operations of the batch commands, on all batches or those of `batch_ids`."""

    actor: str
    config: Config
    clock: Callable[[], datetime]
    processes: Processes
    batch_ids: Sequence[str] = ()
    _providers: dict[str, ApiProvider] = field(default_factory=dict)

    def list(self) -> BatchesJson:
        return self._each(lambda batch, shown: None)

    def collect(self) -> BatchesJson:
        return self._each(self._collect)

    def cancel(self) -> BatchesJson:
        """Have the providers end the batches; what ran by then is collected, and was paid."""
        return self._each(self._cancel)

    def _each(self, act: Callable[[OpenBatch, BatchJson], None]) -> BatchesJson:
        batches = open_batches()
        if unknown := set(self.batch_ids) - {batch[0].batch_id for batch in batches}:
            raise InputRejected(f"no running job is in a batch {min(unknown)!r}", "unknown-batch")
        answer = BatchesJson(batches=[])
        for batch in batches:
            if self.batch_ids and batch[0].batch_id not in self.batch_ids:
                continue
            shown = _shown(batch)
            try:
                act(batch, shown)
            except ReviewError as refused:
                shown.problem = refused.message
                shown.state = UNRECORDED if isinstance(refused, BatchUndecided) else OUT_OF_REACH
            answer.batches.append(shown)
        return answer

    def _provider(self, batch: OpenBatch) -> ApiProvider:
        runner = batch[0].runner or ""
        if runner not in self._providers:
            api = find_runner(runner, config=self.config).api
            if api is None:
                raise UnknownRunner(f"runner {runner!r} is no model API any more")
            self._providers[runner] = open_provider(api)
        return self._providers[runner]

    def _find(self, batch: OpenBatch, shown: BatchJson) -> str | None:
        """Return the id of a batch, from the provider if it was not recorded."""
        if _is_lost(batch, self.processes):
            shown.batch_id = find_unrecorded(batch, self._provider(batch)) or None
            if shown.batch_id is None:
                shown.problem = "it never arrived: the next review_sweep --batch sends it"
        return shown.batch_id

    def _cancel(self, batch: OpenBatch, shown: BatchJson) -> None:
        if batch_id := self._find(batch, shown):
            self._provider(batch).cancel(batch_id)
            shown.state = CANCELLING

    def _collect(self, batch: OpenBatch, shown: BatchJson) -> None:
        if not (batch_id := self._find(batch, shown)):
            return
        provider = self._provider(batch)
        state = provider.state(batch_id)
        shown.state = COLLECTED if state.ended else UNDER_WAY
        if not state.ended:
            return
        waiting = {custom_id(job): job for job in batch}
        for result in provider.results(batch_id):
            job = waiting.pop(result.custom_id, None)
            if job is None:
                continue
            outcome = RunnerOutcome(failure=result.failure)
            if result.document is not None:
                names = names_of(job, self.config)
                outcome = outcome_of(provider, result.document, list(names), in_batch=True)
                outcome = with_blocks(outcome, job, names)
            self._close(job, outcome, shown)
        reason = state.problem or "the batch ended without a result for it"
        missing = RunnerFailure(FailureCode.RUNNER_ERROR, reason, is_attempt=False)
        for job in waiting.values():
            self._close(job, RunnerOutcome(failure=missing), shown)

    def _close(self, job: ReviewJob, outcome: RunnerOutcome, shown: BatchJson) -> None:
        try:
            closed = retry_while_busy(lambda: _close(job, outcome, self), stop=threading.Event())
        except Conflict:  # somebody else has closed it
            return
        shown.closed[closed.status] = shown.closed.get(closed.status, 0) + 1
        cost = read_usage(outcome.telemetry).cost_usd
        if cost is not None:
            shown.cost_usd = round((shown.cost_usd or 0.0) + cost, 6)
        shown.jobs_without_cost += cost is None and outcome.telemetry is not None


def _close(job: ReviewJob, outcome: RunnerOutcome, by: Worker | BatchCollector) -> IngestedJobJson:
    whole = replace(outcome, telemetry=telemetry_of([outcome]))
    return close_job(Closing(job, whole), actor=by.actor, config=by.config, now=by.clock())


def _shown(batch: OpenBatch) -> BatchJson:
    first = batch[0]
    return BatchJson(
        batch_id=first.batch_id or None,
        runner=first.runner or "",
        model_partition=first.model_partition.name,
        sent_at=timestamp(first.started_at),
        until=timestamp(first.batch_until),
        jobs=len(batch),
        state=SENT if first.batch_id else UNRECORDED,
    )
