"""Reviews everything stale in a scope: a parent over select, create, claim, run and ingest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from review.ingest.ingest import RefusedJob
from review.ingest.request import JobMoved, RunFailed
from review.jobs.claim import JobNotClaimable
from review.jobs.costs import estimate_cost, mean_cost
from review.jobs.create import create_jobs
from review.jobs.factory import ALREADY_QUEUED
from review.jobs.job_documents import CreatedJson
from review.jobs.mirror import finish_job_files
from review.knowledge_base import Corpus
from review.models import ReviewJob
from review.recovery.fail import FailRequest, fail_job
from review.recovery.recover import orphaned_jobs, salvage_job
from review.selection.select import select_targets
from review.settings.config import RULES_PARTITION
from review.store.retry import retry_while_busy
from review.sweeps.dispatcher import Dispatcher, drive
from review.sweeps.documents import PlanJson, SalvagedJson, SweepJson
from review.sweeps.feeder import Feeder
from review.sweeps.job_updates import JobOutcome, JobRun, JobUpdate, SweepEvent, event_of
from review.sweeps.limits import StopPolicy
from review.sweeps.report import NOT_STARTED, SweepContext, SweepReport, Tally
from review.sweeps.request import StopReason, SweepRequest
from review.sweeps.targets import (
    SweepTarget,
    create_request,
    sweep_targets,
    without_given_up,
)
from review.vocabulary import FailureCode, JobStatus, PairStatus

_SMALLEST_WAVE = 4


def sweep(
    request: SweepRequest, *, corpus: Corpus, dispatcher: Dispatcher, context: SweepContext
) -> SweepJson:
    """Review what is stale, within the limits; the answer says what became of it.

    Jobs of parents on this host that are gone are closed first, with what their runs had left.

    :raises UsageRefused, UnknownGate, NoSuchNote: the selection makes no sense.
    """
    report = SweepReport(request, context, began=context.clock())
    report.salvaged = _salvage(orphaned_jobs(context.processes), context)
    finish_job_files(config=context.config)
    targets = _select(report, corpus)
    corpus.save()
    partition, runner = request.model_partition, context.provenance.runner or ""
    policy = StopPolicy(
        limits=request.limits,
        stop=context.stop,
        slots=dispatcher.slots,
        expected_cost=mean_cost(model_partition=partition, runner=runner),
        costs_nothing=partition == RULES_PARTITION,
    )
    feeder = Feeder(targets, report, wave=max(_SMALLEST_WAVE, 2 * dispatcher.slots))
    run = _Sweep(feeder, policy, report, context)
    selected = SweepEvent("selected", {"targets": len(targets), "counts": report.counts})
    context.on_event(selected, report.tally)
    run.go(dispatcher)
    run.fail_not_started()
    # What the store or the disk refused when its run had ended is tried once more.
    report.salvaged += _salvage(run.unsettled, context)
    return report.document(policy)


def plan_sweep(request: SweepRequest, *, corpus: Corpus, context: SweepContext) -> SweepJson:
    """The answer of a dry run.

    :raises UsageRefused, UnknownGate, NoSuchNote: the selection makes no sense.
    """
    report = SweepReport(request, context, began=context.clock())
    wanted = without_given_up(_select(report, corpus), request, skipped=report.skipped)
    created = create_jobs(
        create_request(wanted, request, actor=context.actor),
        config=context.config,
        now=context.clock(),
    )
    for item in created.skipped:
        report.skipped.add(item)
    report.add_problems(created.problems)
    report.plan = _plan(created, request, runner=context.provenance.runner or "")
    return report.document()


@dataclass
class _Sweep:
    """A sweep under way: hears all updates, in one thread."""

    feeder: Feeder
    policy: StopPolicy
    report: SweepReport
    context: SweepContext
    unsettled: list[int] = field(default_factory=list)

    def go(self, dispatcher: Dispatcher) -> None:
        """Run until nothing is left, or nothing may start any more."""
        feeder, policy = self.feeder, self.policy
        drive(
            feeder.job_ids(),
            dispatcher,
            # A limit that is reached with the last job cuts nothing off.
            may_start=lambda under_way: not feeder.is_done and policy.may_start(under_way),
            on_update=self._hear,
        )
        if feeder.error is not None:
            policy.end(StopReason.JOBS_NOT_MADE, feeder.error.message)

    def fail_not_started(self) -> None:
        """Fail what was made and not started: its texts will have changed by the next time."""
        for job_id in self.feeder.not_started():
            why = f"not started: the sweep ended: {self.policy.because or 'nothing may start'}"
            request = FailRequest(
                failure=RunFailed(FailureCode.INTERRUPTED, why),
                actor=self.context.actor,
                leaving=JobStatus.QUEUED,
            )
            now = self.context.clock()
            try:
                fail_job(job_id, request=request, config=self.context.config, now=now)
            except JobMoved:
                continue  # another parent has taken it
            self.report.tally.jobs[NOT_STARTED] += 1

    def _hear(self, update: JobUpdate) -> None:
        tally = self.report.tally
        tally.hear(update)
        self.policy.hear(update)
        if isinstance(update, JobOutcome):
            refusal = update.error if isinstance(update, RefusedJob) else None
            taken = isinstance(refusal, JobNotClaimable)
            self.feeder.settle(update.review_job_id, taken=taken)
            if refusal and not taken and self._is_ours(update.review_job_id):
                self.unsettled.append(update.review_job_id)
        if isinstance(update, JobRun) and update.runs_rest_again:
            self.feeder.again(update.missing)
        tally.pairs_left_out = self.report.skipped.reasons.total()
        self.context.on_event(event_of(update), tally)

    def _is_ours(self, job_id: int) -> bool:
        mine = ReviewJob.objects.filter(claimed_by=self.context.actor, status=JobStatus.RUNNING)
        return mine.filter(pk=job_id).exists()


def _select(report: SweepReport, corpus: Corpus) -> list[SweepTarget]:
    selection = select_targets(corpus, report.request.selection)
    targets = sweep_targets(selection)
    report.select(selection, len(targets))
    return targets


def _salvage(job_ids: Iterable[int], context: SweepContext) -> list[SalvagedJson]:
    found = [_salvage_one(job_id, context) for job_id in job_ids]
    return [item for item in found if item is not None]


def _salvage_one(job_id: int, context: SweepContext) -> SalvagedJson | None:
    """Close an orphaned job; None when it is not to be had: another sweep was quicker, perhaps."""
    document = retry_while_busy(
        lambda: salvage_job(
            job_id, actor=context.actor, config=context.config, now=context.clock()
        ),
        stop=context.stop,
    )
    if isinstance(document, RefusedJob):
        refusal = SweepEvent("not-salvaged", event_of(document).fields)
        context.on_event(refusal, Tally())
        return None
    kept = sum(pair.pair_status == PairStatus.COMPLETED for pair in document.pairs)
    fields = {"review_job_id": job_id, "status": document.status, "pairs_kept": kept}
    context.on_event(SweepEvent("salvaged", fields), Tally())
    return SalvagedJson(
        review_job_id=job_id,
        status=document.status,
        failure_code=document.failure_code,
        pairs_kept=kept,
    )


def _plan(created: CreatedJson, request: SweepRequest, *, runner: str) -> PlanJson:
    ids = {item.review_job_id or 0 for item in created.skipped if item.reason == ALREADY_QUEUED}
    # Those that wait for somebody; others are at work.
    waiting = ReviewJob.objects.filter(pk__in=ids, status=JobStatus.QUEUED)
    queued = list(waiting.values_list("estimated_prompt_tokens", "pair_count"))
    tokens = sum(job.estimated_prompt_tokens for job in created.jobs)
    tokens += sum(estimated for estimated, _pairs in queued)
    cost = estimate_cost(
        model_partition=request.model_partition, runner=runner, prompt_tokens=tokens
    )
    return PlanJson(
        new_jobs=len(created.jobs),
        new_pairs=sum(job.pair_count for job in created.jobs),
        queued_jobs=len(queued),
        queued_pairs=sum(pairs for _estimated, pairs in queued),
        estimated_prompt_tokens=tokens,
        estimated_cost_usd=None if cost.cost_usd is None else round(cost.cost_usd, 4),
        estimated_from_jobs=cost.jobs,
    )
