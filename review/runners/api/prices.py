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
    counted = [
        (count, price)
        for count, price in (
            (tokens.input, prices.input),
            (tokens.output, prices.output),
            (tokens.cached_input, prices.cached_input),
            (tokens.cache_write, prices.cache_write),
        )
        if count
    ]
    if factor is None or not counted or any(price is None for _count, price in counted):
        return None
    return sum(count * (price or 0.0) for count, price in counted) * factor / _A_MILLION
