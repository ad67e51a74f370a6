"""Tokens of one model call, and what they cost at the prices that a runner declares."""

from __future__ import annotations

from dataclasses import dataclass

from review.settings.file import Prices

_A_MILLION = 1_000_000


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
    return float(sum(counts[name] * costs[name] for name in counts)) * factor / _A_MILLION
