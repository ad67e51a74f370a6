"""When a run that failed is tried again, and how long the pause is before it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from review.runners.outcome import RunnerFailure

_GROWTH = 3
_GROWN_ENOUGH = 10


@dataclass(frozen=True)
class RetryPolicy:
    """How often a job is run at most, and how long the pauses are.

    :param runs: 1 never tries again.
    :param first_pause: before the second run; each later pause is three times as long.
    """

    runs: int = 3
    first_pause: timedelta = timedelta(seconds=20)
    longest_pause: timedelta = timedelta(minutes=5)

    def pause_after(self, runs: int, failure: RunnerFailure) -> timedelta | None:
        """The pause before the next run, after `runs` of them; None: there is none.

        Not tried again is what would fail in the same way, and what concerns every other job too.
        """
        if runs >= self.runs or not failure.retryable or failure.concerns_all:
            return None
        grown: int = _GROWTH ** min(runs - 1, _GROWN_ENOUGH)
        return min(self.first_pause * grown, self.longest_pause)
