"""Limits of a sweep: the first reason to end it, by the jobs that ended."""

from __future__ import annotations

import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from review.protocol.telemetry import Usage
from review.runners.outcome import RunnerFailure
from review.vocabulary import FailureCode

_MISMATCHES = 2
_UNPRICED = 3
_FAILURES = 10
_ALIKE = 3
_WORDS = re.compile(r"[^\W\d_]{2,}")
# What one prompt can be refused for, while the next one succeeds.
_OF_ONE_PROMPT = re.compile(r"too (?:long|large)|context|tokens?\b|maximum|policy|refus", re.I)


class StopReason(StrEnum):
    INTERRUPTED = "interrupted"
    ACCOUNT_EXHAUSTED = "account-exhausted"
    RUNNER_UNUSABLE = "runner-unusable"
    PARTITION_MISMATCH = "partition-mismatch"
    FAILING = "failing"
    MAX_COST = "max-cost"
    COST_UNKNOWN = "cost-unknown"
    MAX_JOBS = "max-jobs"
    JOBS_NOT_MADE = "jobs-not-made"


@dataclass(frozen=True)
class Limits:
    """The limits of a sweep; None is no limit. `max_attempts` are per pair, over all sweeps."""

    max_attempts: int
    max_jobs: int | None = None
    max_cost_usd: float | None = None


@dataclass
class StopPolicy:
    """Watches the jobs of a sweep; the first reason to end it is kept.

    `expected_cost` is of one job, by earlier ones; `sent` are in batches, still to be paid.
    """

    limits: Limits
    stop: threading.Event
    slots: int
    expected_cost: float | None = None
    reason: StopReason | None = None
    because: str = ""
    sent: int = 0
    _codes: Counter[str | None] = field(default_factory=Counter)
    _mismatches: int = 0
    _last_words: str = ""
    _alike: int = 0
    _spent: float = 0.0
    _assumed: float = 0.0
    _unpriced: int = 0

    def may_start(self, under_way: int) -> bool:
        if self.stop.is_set():
            self.end(StopReason.INTERRUPTED, "asked to end")
        max_jobs, unpaid = self.limits.max_jobs, under_way + self.sent
        if max_jobs is not None and self._codes.total() + unpaid >= max_jobs:
            reason, because = StopReason.MAX_JOBS, f"{max_jobs} jobs were run (--max-jobs)"
        elif not self._affords(unpaid + 1):
            spent = f"${self._spent:.2f} are spent of ${self.limits.max_cost_usd:.2f}"
            why = "(--max-cost-usd), and another job may cost more than is left"
            reason, because = StopReason.MAX_COST, f"{spent} {why}"
        else:
            return self.reason is None
        if not under_way:
            self.end(reason, because)
        return False

    def note(
        self, usage: Usage, failure: RunnerFailure | None, code: str | None, reason: str
    ) -> None:
        """Take note of a job that ended; without a failure code it succeeded."""
        self._codes[code] += 1
        # Also where every job was under way by then, and none is asked for any more. A worker on
        # another machine that was stopped is no reason to end.
        if code == FailureCode.INTERRUPTED and self.stop.is_set():
            self.end(StopReason.INTERRUPTED, "asked to end")
        if failure is not None and failure.concerns_all:
            exhausted = StopReason.ACCOUNT_EXHAUSTED
            self.end(exhausted if failure.exhausted else StopReason.RUNNER_UNUSABLE, failure.reason)
        self._watch_cost(usage, failed=failure is not None)
        self._mismatches = self._mismatches + 1 if code == FailureCode.PARTITION_MISMATCH else 0
        if self._mismatches == _MISMATCHES:
            self.end(StopReason.PARTITION_MISMATCH, reason)
        self._watch_words(failure)
        number = self._codes.total()
        alike = code is not None and len(self._codes) == 1
        if alike and number >= max(_FAILURES, 2 * self.slots):
            self.end(StopReason.FAILING, f"the first {number} jobs all failed: {reason}")

    def end(self, reason: StopReason, because: str) -> None:
        if self.reason is None:
            self.reason, self.because = reason, because

    def _watch_words(self, failure: RunnerFailure | None) -> None:
        """End when jobs in a row fail with the same words, which no model said of their notes."""
        is_silent = failure and (not failure.is_attempt or failure.code is FailureCode.NO_OUTPUT)
        reason = failure.reason if failure and is_silent and not failure.retryable else ""
        words = "" if _OF_ONE_PROMPT.search(reason) else " ".join(_WORDS.findall(reason)[:12])
        self._alike = self._alike + 1 if words == self._last_words else 1
        self._last_words = words
        if words and self._alike == _ALIKE:
            self.end(StopReason.FAILING, f"{_ALIKE} jobs in a row failed alike: {reason}")

    def _affords(self, jobs: int) -> bool:
        """Return whether so many more jobs fit; while their cost is unknown, one alone does."""
        if self.limits.max_cost_usd is None:
            return True
        left = self.limits.max_cost_usd - self._spent - self._assumed
        cost = self.expected_cost
        return left > 0 and (jobs == 1 if cost is None else jobs * cost <= left)

    def _watch_cost(self, usage: Usage, *, failed: bool) -> None:
        """Add a job's cost; one that does not say it is taken for as dear as the others."""
        if usage.cost_usd is not None:
            self._spent += usage.cost_usd
            # The dearest so far: with many at once a mean would be exceeded.
            self.expected_cost = max(self.expected_cost or 0.0, usage.cost_usd)
        if usage.cost_usd is None or not usage.whole:
            self._unpriced += 1
            self._assumed += self.expected_cost or 0.0
        if self.limits.max_cost_usd is None or self.expected_cost is not None:
            return
        if not failed or self._unpriced >= _UNPRICED:
            why = "the runner does not say what a job costs, so --max-cost-usd cannot be kept"
            self.end(StopReason.COST_UNKNOWN, why)
