"""Decides whether a sweep may start another job, and says why not."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from review.protocol.telemetry import Usage
from review.runners.outcome import RunnerFailure
from review.sweeps.job_updates import JobRun, JobUpdate
from review.sweeps.request import Limits, StopReason
from review.vocabulary import FailureCode

_MISMATCHES = 2
_UNPRICED = 3
_FAILURES = 10


@dataclass
class Budget:
    """What is spent and what a job may cost, as far as that is known.

    :param expected: what one job is likely to cost, by earlier ones; None where nothing is known.
    """

    limit: float | None
    expected: float | None = None
    spent: float = 0.0
    assumed: float = 0.0
    priced: int = 0
    unpriced: int = 0

    def pay(self, usage: Usage) -> None:
        """Take a job's cost; one that does not say it is taken for as dear as the others."""
        if usage.cost_usd is not None:
            self.spent += usage.cost_usd
            self.priced += 1
            self.expected = self.spent / self.priced
        if usage.cost_usd is None or not usage.whole:
            self.unpriced += 1
            self.assumed += self.expected or 0.0

    def allows(self, jobs: int) -> bool:
        """Whether so many jobs more fit. While nothing is known of their cost, one alone does."""
        if self.limit is None:
            return True
        left = self.limit - self.spent - self.assumed
        return left > 0 and (jobs == 1 if self.expected is None else jobs * self.expected <= left)


@dataclass
class StopPolicy:
    """Watches a sweep's jobs; the first reason to end it stands.

    :param costs_nothing: whether the runner is free, so that no cost has to be said.
    """

    limits: Limits
    stop: threading.Event
    slots: int
    expected_cost: float | None = None
    costs_nothing: bool = False
    reason: StopReason | None = None
    because: str = ""
    _run: int = 0
    _done: int = 0
    _failures: list[str] = field(default_factory=list)
    _mismatches: int = 0
    _budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        limit = self.limits.max_cost_usd
        known = None if limit is None or self.costs_nothing else float(limit)
        self._budget = Budget(known, self.expected_cost)

    def may_start(self, under_way: int) -> bool:
        """Whether another job may start beside those under way."""
        if self.stop.is_set():
            self._end_as_asked()
        limit, budget = self.limits.max_jobs, self._budget
        if limit is not None and self._run + under_way >= limit:
            if not under_way:
                self.end(StopReason.MAX_JOBS, f"{limit} jobs were run (--max-jobs)")
            return False
        if self.reason is not None or budget.allows(under_way + 1):
            return self.reason is None
        if not under_way:
            self.end(
                StopReason.MAX_COST,
                f"${budget.spent:.2f} are spent of ${budget.limit:.2f} (--max-cost-usd), and"
                " another job may cost more than is left",
            )
        return False

    def hear(self, update: JobUpdate) -> None:
        if isinstance(update, JobRun):
            document = update.document
            self.note(
                update.usage,
                failure=update.failure,
                code=document.failure_code,
                reason=document.failure_reason or "",
            )

    def note(
        self,
        usage: Usage,
        *,
        failure: RunnerFailure | None = None,
        code: str | None = None,
        reason: str = "",
    ) -> None:
        """Take note of a job that ended; without a failure code it succeeded."""
        self._run += 1
        # Also where every job was under way by then, and none is asked for any more.
        if code == FailureCode.INTERRUPTED:
            self._end_as_asked()
        if failure is not None and failure.concerns_all:
            exhausted = StopReason.ACCOUNT_EXHAUSTED
            self.end(exhausted if failure.exhausted else StopReason.RUNNER_UNUSABLE, failure.reason)
        self._watch_cost(usage, failure)
        self._mismatches = self._mismatches + 1 if code == FailureCode.PARTITION_MISMATCH else 0
        if self._mismatches == _MISMATCHES:
            self.end(StopReason.PARTITION_MISMATCH, reason)
        self._watch_failures(code, reason)

    def end(self, reason: StopReason, because: str) -> None:
        """Let no other job start."""
        if self.reason is None:
            self.reason, self.because = reason, because

    def _end_as_asked(self) -> None:
        self.end(StopReason.INTERRUPTED, "asked to end")

    def _watch_cost(self, usage: Usage, failure: RunnerFailure | None) -> None:
        budget = self._budget
        budget.pay(usage)
        if budget.limit is None or budget.expected is not None:
            return
        if failure is None or budget.unpriced >= _UNPRICED:
            self.end(
                StopReason.COST_UNKNOWN,
                "the runner does not say what a job costs, so --max-cost-usd cannot be kept",
            )

    def _watch_failures(self, code: str | None, reason: str) -> None:
        """End a sweep of which nothing succeeds; the limit is on jobs that all fail alike."""
        if code is None:
            self._done += 1
        else:
            self._failures.append(code)
        enough = max(_FAILURES, 2 * self.slots)
        if not self._done and len(self._failures) >= enough and len(set(self._failures)) == 1:
            number = len(self._failures)
            self.end(StopReason.FAILING, f"the first {number} jobs all failed: {reason}")
