"""Reviews everything stale in a scope: a parent over select, create, claim, run and ingest."""

from __future__ import annotations

from dataclasses import dataclass, field

from review.conf import RULES_PARTITION
from review.contracts.sweeps import SalvagedJson, SweepJson
from review.corpus import Corpus
from review.models import Provenance, ReviewJob
from review.orchestration.claiming import JobNotClaimable
from review.orchestration.dispatching import Dispatcher, drive
from review.orchestration.failing import FailRequest, fail_job
from review.orchestration.ingest_request import JobMoved, RunFailed
from review.orchestration.ingesting import RefusedJob
from review.orchestration.mirroring import finish_mirrors
from review.orchestration.news import Crashed, Final, News
from review.orchestration.patience import retry_while_busy
from review.orchestration.salvaging import orphaned_jobs, salvage_job
from review.orchestration.sweep_brake import Brake
from review.orchestration.sweep_events import event_of
from review.orchestration.sweep_feeder import Feeder, FeederTools
from review.orchestration.sweep_report import SweepReport
from review.orchestration.sweep_request import StopReason, SweepEvent, SweepRequest
from review.orchestration.sweep_surroundings import Surroundings
from review.orchestration.sweep_tally import NOT_STARTED, Tally
from review.orchestration.sweep_targets import sweep_target
from review.queries.costs import mean_cost
from review.queries.targets import select_targets
from review.vocabulary import FailureCode, JobStatus, PairStatus

_SMALLEST_WAVE = 4


def sweep(
    request: SweepRequest,
    *,
    corpus: Corpus,
    dispatcher: Dispatcher,
    provenance: Provenance,
    around: Surroundings,
) -> SweepJson:
    """Review what is stale, within the limits; the answer says what became of it.

    Jobs of parents on this host that are gone are closed first, with what their runs had left.

    :raises UsageRefused, UnknownGate, NoSuchNote: the selection makes no sense.
    """
    report = SweepReport(request, provenance, began=around.clock())
    try:
        report.salvaged = _salvage(around)
        selection = select_targets(corpus, request.selection)
        targets = [sweep_target(target) for target in selection.targets()]
        report.selected(selection, len(targets))
        corpus.save()
        tools = FeederTools(
            actor=around.actor,
            config=around.config,
            processes=around.processes,
            clock=around.clock,
            stop=around.stop,
            wave=max(_SMALLEST_WAVE, 2 * dispatcher.slots),
        )
        brake = _brake(request, provenance, dispatcher, around)
        run = _Sweep(Feeder(targets, request, tools), brake, Tally(len(targets)), around)
        around.watcher.tell(
            SweepEvent("selected", {"targets": len(targets), "counts": report.counts}), run.tally
        )
        run.go(dispatcher)
    except BaseException:
        around.stop.set()
        raise
    finally:
        dispatcher.close()
    if run.crash is not None:
        raise run.crash
    run.put_away()
    report.salvaged += run.settle_refused()
    return report.document(
        tally=run.tally,
        skipped=run.feeder.skipped,
        problems=run.feeder.problems.values(),
        brake=brake,
        now=around.clock(),
    )


@dataclass
class _Sweep:
    """A sweep under way: hears all news, in one thread."""

    feeder: Feeder
    brake: Brake
    tally: Tally
    around: Surroundings
    crash: Exception | None = None
    unsettled: list[int] = field(default_factory=list)

    def go(self, dispatcher: Dispatcher) -> None:
        """Run until nothing is left, or nothing may start any more."""
        drive(self.feeder.job_ids(), dispatcher, may_start=self.brake.may_start, tell=self._hear)
        error = self.feeder.error
        if error is not None:
            self.brake.end(StopReason.JOBS_NOT_MADE, error.message)
        # A limit that was reached with the last job has cut nothing off.
        if self.feeder.is_done and self.brake.reason is StopReason.MAX_JOBS:
            self.brake.reason = None

    def settle_refused(self) -> list[SalvagedJson]:
        """Try once more to take in what the store or the disk refused when its run had ended."""
        found = [_salvage_one(job_id, self.around) for job_id in self.unsettled]
        return [item for item in found if item is not None]

    def put_away(self) -> None:
        """Fail what was made and not started: its texts will have changed by the next time."""
        for job_id in self.feeder.not_started():
            why = f"not started: the sweep ended: {self.brake.because or 'nothing may start'}"
            request = FailRequest(
                failure=RunFailed(FailureCode.INTERRUPTED, why),
                actor=self.around.actor,
                leaving=JobStatus.QUEUED,
            )
            try:
                fail_job(
                    job_id, request=request, config=self.around.config, now=self.around.clock()
                )
            except JobMoved:
                continue  # another parent has taken it
            self.tally.jobs[NOT_STARTED] += 1

    def _hear(self, news: News) -> None:
        self.tally.hear(news)
        self.tally.pairs_left_out = self.feeder.skipped.reasons.total()
        self.brake.hear(news)
        if isinstance(news, Final):
            taken = isinstance(news, RefusedJob) and isinstance(news.error, JobNotClaimable)
            self.feeder.settle(news.review_job_id, taken=taken)
            if isinstance(news, RefusedJob) and not taken and self._is_ours(news.review_job_id):
                self.unsettled.append(news.review_job_id)
        if isinstance(news, Crashed):
            self.crash = self.crash or news.error
            self.around.stop.set()
        else:
            self.around.watcher.tell(event_of(news), self.tally)

    def _is_ours(self, job_id: int) -> bool:
        mine = ReviewJob.objects.filter(claimed_by=self.around.actor, status=JobStatus.RUNNING)
        return mine.filter(pk=job_id).exists()


def _brake(
    request: SweepRequest, provenance: Provenance, dispatcher: Dispatcher, around: Surroundings
) -> Brake:
    partition = request.model_partition
    return Brake(
        limits=request.limits,
        stop=around.stop,
        slots=dispatcher.slots,
        expected_cost=mean_cost(model_partition=partition, runner=provenance.runner or ""),
        costs_nothing=partition == RULES_PARTITION,
    )


def _salvage(around: Surroundings) -> list[SalvagedJson]:
    found = [_salvage_one(job_id, around) for job_id in orphaned_jobs(around.processes)]
    finish_mirrors(config=around.config)
    return [item for item in found if item is not None]


def _salvage_one(job_id: int, around: Surroundings) -> SalvagedJson | None:
    """Close an orphaned job; None when it is not to be had: another sweep was quicker, perhaps."""
    document = retry_while_busy(
        lambda: salvage_job(job_id, actor=around.actor, config=around.config, now=around.clock()),
        stop=around.stop,
    )
    fields: dict[str, object] = {"review_job_id": job_id}
    if isinstance(document, RefusedJob):
        told = {"code": document.error.code, "message": document.error.message}
        around.watcher.tell(SweepEvent("not-salvaged", fields | told), Tally())
        return None
    kept = sum(pair.pair_status == PairStatus.COMPLETED for pair in document.pairs)
    fields |= {"status": document.status, "pairs_kept": kept}
    around.watcher.tell(SweepEvent("salvaged", fields), Tally())
    return SalvagedJson(
        review_job_id=job_id,
        status=document.status,
        failure_code=document.failure_code,
        pairs_kept=kept,
    )
