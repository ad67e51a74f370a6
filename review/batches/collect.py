"""Collects the results of batches; each is ingested once, even if a process is killed meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from review.batches.documents import BatchesJson, BatchJson
from review.batches.submit import OpenBatch, custom_id, find_unrecorded, open_batches
from review.documents.base import timestamp
from review.errors import Conflict, InputRejected, ReviewError
from review.models import ReviewJob
from review.protocol.telemetry import read_usage
from review.recovery.close import close_job
from review.runners.api.provider import ApiProvider, BatchUndecided
from review.runners.api.run import open_provider, outcome_of
from review.runners.outcome import RunnerFailure, RunnerOutcome, telemetry_of
from review.runners.process.table import Processes
from review.runners.registry import UnknownRunner, find_runner
from review.settings.config import Config
from review.store.errors import retry_while_busy
from review.sweeps.executors import pair_names, with_blocks
from review.vocabulary import FailureCode

SENT, UNRECORDED, UNDER_WAY, CANCELLING = "sent", "unrecorded", "under-way", "cancelling"
COLLECTED, OUT_OF_REACH = "collected", "out-of-reach"


class UnknownBatch(InputRejected):
    """No running job is in a batch with this id."""


@dataclass
class BatchCollector:
    """The operations of the batch commands; providers are opened once.

    :param batch_ids: only these; none is all.
    """

    actor: str
    config: Config
    clock: Callable[[], datetime]
    processes: Processes
    batch_ids: Sequence[str] = ()
    _providers: dict[str, ApiProvider] = field(default_factory=dict)

    def list(self) -> BatchesJson:
        """The open batches, as the store knows them."""
        return self._each(lambda batch, shown: None)

    def collect(self) -> BatchesJson:
        """Take in the results of the batches that have ended."""
        return self._each(self._collect)

    def cancel(self) -> BatchesJson:
        """Have the providers end the batches; what ran by then is collected, and was paid."""
        return self._each(self._cancel)

    def _each(self, act: Callable[[OpenBatch, BatchJson], None]) -> BatchesJson:
        batches = open_batches()
        if unknown := set(self.batch_ids) - {batch.batch_id for batch in batches}:
            raise UnknownBatch(f"no running job is in a batch {min(unknown)!r}")
        answer = BatchesJson(batches=[])
        for batch in batches:
            if self.batch_ids and batch.batch_id not in self.batch_ids:
                continue
            shown = _shown(batch)
            try:
                act(batch, shown)
            except ReviewError as refused:
                shown.problem = refused.message
                shown.state = UNRECORDED if isinstance(refused, BatchUndecided) else OUT_OF_REACH
            answer.batches.append(shown)
        return answer

    def _provider(self, runner: str) -> ApiProvider:
        if runner not in self._providers:
            api = find_runner(runner, config=self.config).api
            if api is None:
                raise UnknownRunner(f"runner {runner!r} is no model API any more")
            self._providers[runner] = open_provider(api)
        return self._providers[runner]

    def _find(self, batch: OpenBatch, shown: BatchJson) -> str | None:
        """Return the id of a batch, from the provider if it was not recorded."""
        if not batch.batch_id and not batch.is_being_sent(self.processes):
            shown.batch_id = find_unrecorded(batch, self._provider(batch.runner)) or None
            if shown.batch_id is None:
                shown.problem = "it never arrived: the next review_sweep --batch sends it"
        return shown.batch_id

    def _cancel(self, batch: OpenBatch, shown: BatchJson) -> None:
        if batch_id := self._find(batch, shown):
            self._provider(batch.runner).cancel(batch_id)
            shown.state = CANCELLING

    def _collect(self, batch: OpenBatch, shown: BatchJson) -> None:
        batch_id = self._find(batch, shown)
        if not batch_id:
            return
        provider = self._provider(batch.runner)
        state = provider.state(batch_id)
        shown.state = COLLECTED if state.ended else UNDER_WAY
        if not state.ended:
            return
        waiting = {custom_id(job): job for job in batch.jobs}
        for result in provider.results(batch_id):
            job = waiting.pop(result.custom_id, None)
            if job is None:
                continue
            outcome = RunnerOutcome(failure=result.failure)
            if result.document is not None:
                names = pair_names(job, config=self.config)
                outcome = outcome_of(provider, result.document, list(names), in_batch=True)
                outcome = with_blocks(outcome, job, names)
            self._close(job, outcome, shown)
        reason = state.problem or "the batch ended without a result for it"
        missing = RunnerFailure(FailureCode.RUNNER_ERROR, reason, is_attempt=False)
        for job in waiting.values():
            self._close(job, RunnerOutcome(failure=missing), shown)

    def _close(self, job: ReviewJob, outcome: RunnerOutcome, shown: BatchJson) -> None:
        try:
            status = retry_while_busy(lambda: self._ingest(job, outcome), stop=threading.Event())
        except Conflict:  # somebody else has closed it
            return
        shown.closed[status] = shown.closed.get(status, 0) + 1
        cost = read_usage(outcome.telemetry).cost_usd
        if cost is not None:
            shown.cost_usd = round((shown.cost_usd or 0.0) + cost, 6)
        shown.jobs_without_cost += cost is None and outcome.telemetry is not None

    def _ingest(self, job: ReviewJob, outcome: RunnerOutcome) -> str:
        whole = replace(outcome, telemetry=telemetry_of([outcome]))
        closed = close_job(job, whole, actor=self.actor, config=self.config, now=self.clock())
        return closed.status


def _shown(batch: OpenBatch) -> BatchJson:
    first = batch.jobs[0]
    return BatchJson(
        batch_id=batch.batch_id or None,
        runner=batch.runner,
        model_partition=first.model_partition.name,
        sent_at=timestamp(first.started_at),
        until=timestamp(first.batch_until),
        jobs=len(batch.jobs),
        state=SENT if batch.batch_id else UNRECORDED,
    )
