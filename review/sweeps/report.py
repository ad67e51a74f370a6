"""Counts what a sweep does, bounded however long it runs, and puts its answer together."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from review.documents.base import timestamp
from review.documents.problems import ProblemJson, problem_json
from review.ingest.ingest import RefusedJob
from review.jobs.claim import JobNotClaimable
from review.jobs.job_documents import IngestedJobJson
from review.models import Provenance
from review.protocol.telemetry import Usage
from review.runners.cli.reset_times import told_reset
from review.runners.process.table import Processes
from review.selection.select import Selection
from review.settings.config import Config
from review.sweeps.documents import (
    FailureGroupJson,
    PlanJson,
    SalvagedJson,
    SweepCostJson,
    SweepJson,
)
from review.sweeps.job_updates import (
    JobOutcome,
    JobRun,
    JobStarted,
    JobUpdate,
    LeftQueued,
    SweepEvent,
)
from review.sweeps.limits import StopPolicy
from review.sweeps.request import StopReason, SweepRequest
from review.sweeps.targets import Skipped
from review.vocabulary import Decision, JobStatus, PairStatus

NOT_STARTED, TAKEN, IN_PART = "not-started", "taken", "in-part"
_JOB_WORDS = ("completed", "failed", "left-queued", "refused", TAKEN, NOT_STARTED)
_PAIR_WORDS = (*(word.value for word in Decision), "missing", "not-accepted")
_SHOWN_IDS = 20
_MAX_GROUPS = 100
_MAX_REASON = 300


@dataclass
class Tally:
    """The numbers so far.

    :param pairs_in_all: what there is to do; some of it is left out on the way.
    """

    pairs_in_all: int = 0
    pairs_done: int = 0
    pairs_left_out: int = 0
    running: set[int] = field(default_factory=set)
    jobs: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_JOB_WORDS, 0)))
    pairs: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_PAIR_WORDS, 0)))
    jobs_without_cost: int = 0
    _known: Counter[str] = field(default_factory=Counter)
    _failures: dict[tuple[str, str], FailureGroupJson] = field(default_factory=dict)

    def hear(self, update: JobUpdate) -> None:
        if isinstance(update, JobStarted):
            self.running.add(update.review_job_id)
        elif isinstance(update, JobOutcome):
            self.running.discard(update.review_job_id)
        if isinstance(update, JobRun):
            self._count_run(update)
        elif isinstance(update, LeftQueued):
            self.jobs["left-queued"] += 1
        elif isinstance(update, RefusedJob):
            self._count_refusal(update)

    @property
    def cost_usd(self) -> float | None:
        """What is known to be spent; None when nothing is."""
        return self._known.get("cost_usd")

    def count_cost(self, usage: Usage) -> None:
        """Add what a job's runs say that they cost."""
        self.jobs_without_cost += usage.cost_usd is None or not usage.whole
        for name in ("cost_usd", "input_tokens", "output_tokens"):
            value = getattr(usage, name)
            if value is not None:
                self._known[name] += value

    def cost(self) -> SweepCostJson:
        usd = self.cost_usd
        return SweepCostJson(
            usd=None if usd is None else round(usd, 6),
            jobs_without_cost=self.jobs_without_cost,
            input_tokens=self._known.get("input_tokens"),
            output_tokens=self._known.get("output_tokens"),
        )

    def failures(self) -> list[FailureGroupJson]:
        """Failed jobs by reason, the most frequent first."""
        groups = self._failures.values()
        return sorted(groups, key=lambda group: (-group.jobs, group.failure_code, group.reason))

    def _count_run(self, run: JobRun) -> None:
        document = run.document
        self.pairs_done += len(document.pairs)
        for pair in document.pairs:
            completed = pair.pair_status == PairStatus.COMPLETED
            self.pairs[pair.decision or "missing" if completed else "missing"] += 1
            self.pairs["not-accepted"] += completed and not pair.accepted
        self.count_cost(run.usage)
        if run.runs_rest_again:
            self.jobs[IN_PART] += 1
            self.pairs_done -= len(run.missing)
            self.pairs["missing"] -= len(run.missing)
            return
        self.jobs[document.status] += 1
        if document.status == JobStatus.FAILED:
            self._count_failure(document, len(run.missing))

    def _count_failure(self, document: IngestedJobJson, missing: int) -> None:
        code, reason = document.failure_code or "", document.failure_reason or ""
        self._group(code, reason, document.review_job_id).pairs_missing += missing

    def _count_refusal(self, refused: RefusedJob) -> None:
        if isinstance(refused.error, JobNotClaimable):
            self.jobs[TAKEN] += 1
            return
        self.jobs["refused"] += 1
        self._group(refused.error.code, refused.error.message, refused.review_job_id)

    def _group(self, code: str, reason: str, job_id: int) -> FailureGroupJson:
        key = (code, reason[:_MAX_REASON])
        if key not in self._failures and len(self._failures) >= _MAX_GROUPS:
            key = (code, "other reasons")
        new = FailureGroupJson(
            failure_code=key[0], reason=key[1], jobs=0, pairs_missing=0, review_job_ids=[]
        )
        group = self._failures.setdefault(key, new)
        group.jobs += 1
        if len(group.review_job_ids) < _SHOWN_IDS:
            group.review_job_ids.append(job_id)
        return group


@dataclass(frozen=True)
class SweepContext:
    """What a sweep works with.

    :param actor: the name on what it makes and claims.
    :param on_event: is told what happened, with the numbers after it, in the sweep's own thread.
    :param stop: ends the sweep when it is set: no new job, and the children of running ones ended.
    :param clock: read when something happens: sweeps take hours.
    """

    config: Config
    processes: Processes
    provenance: Provenance
    actor: str
    on_event: Callable[[SweepEvent, Tally], None]
    stop: threading.Event
    clock: Callable[[], datetime]


@dataclass
class SweepReport:
    """What is known of a sweep from its start; the rest is added at its end."""

    request: SweepRequest
    context: SweepContext
    began: datetime
    tally: Tally = field(default_factory=Tally)
    skipped: Skipped = field(default_factory=Skipped)
    counts: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    salvaged: list[SalvagedJson] = field(default_factory=list)
    problems: list[ProblemJson] = field(default_factory=list)
    plan: PlanJson | None = None

    def select(self, selection: Selection, targets: int) -> None:
        self.counts = dict(selection.counts)
        self.left_out = selection.left_out
        self.tally.pairs_in_all = targets
        self.add_problems(problem_json(problem) for problem in selection.problems)

    def add_problems(self, problems: Iterable[ProblemJson]) -> None:
        """Keep problems of files, each once."""
        known = {(item.path, item.code, item.message): item for item in self.problems}
        known |= {(item.path, item.code, item.message): item for item in problems}
        self.problems = [known[key] for key in sorted(known)]

    def document(self, policy: StopPolicy | None = None) -> SweepJson:
        request, provenance, tally = self.request, self.context.provenance, self.tally
        now = self.context.clock()
        stopped = None if policy is None else policy.reason
        because = None if policy is None or stopped is None else policy.because
        resets_at = None
        if stopped is StopReason.ACCOUNT_EXHAUSTED and because:
            resets_at = told_reset(because, now=now)
        return request.answer(
            dry_run=request.dry_run,
            model_partition=request.model_partition,
            runner=provenance.runner or "",
            runner_model=provenance.runner_model,
            runner_effort=provenance.runner_effort,
            grouping=request.grouping.value,
            counts=self.counts,
            left_out=self.left_out,
            targets=tally.pairs_in_all,
            salvaged=self.salvaged,
            plan=self.plan,
            stopped=None if stopped is None else stopped.value,
            stopped_because=because,
            resets_at=None if resets_at is None else timestamp(resets_at),
            jobs=dict(tally.jobs),
            pairs=dict(tally.pairs),
            failures=tally.failures(),
            skipped=dict(sorted(self.skipped.reasons.items())),
            skipped_pairs=self.skipped.shown,
            cost=tally.cost(),
            seconds=round((now - self.began).total_seconds(), 3),
            problems=self.problems,
        )
