"""Outcome of a reviewer's run: its text, or why there is none, and its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from review.protocol.telemetry import merge_runs
from review.protocol.typed_review import TypedReview
from review.settings.file import Prices
from review.vocabulary import FailureCode

MODEL_ANSWERED = "model_answered"  # is there only where it is false


@dataclass(frozen=True)
class RunnerFailure:
    """Failure of a run.

    :param reason: the CLI's own message, one line without control characters, bounded.
    :param retryable: the same job may succeed when it is tried again later.
    :param exhausted: the account has nothing left: no other job will succeed now.
    :param unusable: the runner is not installed, not logged in or wrongly called: every other job
        would fail in the same way.
    :param misread: the model answered that it was asked nothing: worth one more run.
    :param is_attempt: whether a model had answered; nothing else says anything about the pairs.
    :param retry_after: seconds after which the service takes requests again, where it told them.
    """

    code: FailureCode
    reason: str
    retryable: bool = False
    exhausted: bool = False
    unusable: bool = False
    misread: bool = False
    is_attempt: bool = True
    retry_after: float | None = None

    @property
    def concerns_all(self) -> bool:
        """True if no further job should start with this runner."""
        return self.exhausted or self.unusable


@dataclass(frozen=True)
class RunnerOutcome:
    """Result of a run; a success has a text and no failure.

    :param text: the review, byte-exact. Beside a failure: the review blocks that were there before
        the run failed, incomplete perhaps.
    :param typed: the same reviews as data, by ordinal of their pairs, where nobody has to read them out
        of the text.
    :param telemetry: what is known and nothing else: `duration_seconds`, and where the CLI says so
        `models`, `session_id`, `turns`, `input_tokens`, `output_tokens`, `cached_input_tokens`,
        `cache_write_tokens`, `prompt_tokens`, `reasoning_tokens`, `cost_usd`, `models_usage`, `notices`. None:
        nothing ran.
    :param said: the CLI's final words, for people; bounded, never a review.
    """

    text: bytes | None = None
    failure: RunnerFailure | None = None
    telemetry: Mapping[str, Any] | None = None
    said: str = ""
    typed: Mapping[int, TypedReview] = field(default_factory=dict)


def telemetry_of(outcomes: Sequence[RunnerOutcome]) -> dict[str, Any] | None:
    """Merge the telemetry of a job's runs, and mark it where no model had answered."""
    telemetry = merge_runs([outcome.telemetry for outcome in outcomes])
    if outcomes and all(outcome.failure and not outcome.failure.is_attempt for outcome in outcomes):
        return (telemetry or {}) | {MODEL_ANSWERED: False}
    return telemetry


@dataclass(frozen=True)
class Account:
    """An adapter's reading of a CLI's own account of its run.

    :param answer: the final answer, byte-exact where the CLI allows; None when it gave none.
    :param failure: what the CLI itself calls a failure.
    :param refused_writes: paths of files that the CLI was not allowed to write.
    :param cut_off: the CLI's own word for it where the model stopped at its output limit.
    :param notices: what else the CLI reported and went on from: reconnecting, lag.
    """

    answer: bytes | None = None
    failure: RunnerFailure | None = None
    telemetry: dict[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    refused_writes: tuple[str, ...] = ()
    cut_off: str = ""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tokens:
    """Tokens of calls; the three kinds of input exclude each other."""

    input: int = 0
    output: int = 0
    cached_input: int = 0
    cache_write: int = 0

    @property
    def prompt(self) -> int:
        return self.input + self.cached_input + self.cache_write


def cost_of(tokens: Tokens, prices: Prices, *, in_batch: bool = False) -> float | None:
    """The cost in US dollars; None where a price that it needs is unknown."""
    factor = prices.batch if in_batch else 1.0
    counts = {name: count for name, count in vars(tokens).items() if count}
    costs = {name: getattr(prices, name) for name in counts}
    if factor is None or not counts or None in costs.values():
        return None
    return float(sum(counts[name] * costs[name] for name in counts)) * factor / 1_000_000
