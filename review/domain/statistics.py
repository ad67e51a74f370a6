"""Proportions with their uncertainty, and the agreement of two judges; closed forms only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from math import exp, fsum, lgamma, log, sqrt

_Z = 1.96  # of a 95 % interval
_UNLIKELY = 0.05  # of a one-sided bound
_FEW = 8
_NOISY_BELOW = 0.5
_TRUSTED_FROM = 0.7

FEW, NOISY, TRUSTED, UNDECIDED = "few", "noisy", "trusted", "undecided"


@dataclass(frozen=True)
class Proportion:
    """`k` of `n`, with the 95 % interval of Wilson (1927); without any, the interval is 0 to 1."""

    k: int
    n: int

    @property
    def value(self) -> float | None:
        return self.k / self.n if self.n else None

    @property
    def low(self) -> float:
        return max(0.0, self._bound(-1))

    @property
    def high(self) -> float:
        return min(1.0, self._bound(1))

    @property
    def bound(self) -> float | None:
        """The one-sided 95 % bound if none or all were so: exact, near 3/n (Hanley 1983)."""
        if not self.n or 0 < self.k < self.n:
            return None
        least: float = _UNLIKELY ** (1 / self.n)
        return least if self.k else 1 - least

    @property
    def word(self) -> str:
        """`few` observations, `noisy`, `trusted`, or measured and `undecided`."""
        if self.n < _FEW:
            return FEW
        if self.high < _NOISY_BELOW:
            return NOISY
        return TRUSTED if self.low >= _TRUSTED_FROM else UNDECIDED

    def __add__(self, other: Proportion) -> Proportion:
        return Proportion(self.k + other.k, self.n + other.n)

    def _bound(self, sign: int) -> float:
        half = _Z * sqrt(self.k * (self.n - self.k) / max(1, self.n) + _Z**2 / 4)
        return (self.k + _Z**2 / 2 + sign * half) / (self.n + _Z**2)


@dataclass(frozen=True)
class Beta:
    a: float
    b: float

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> float:
        total = self.a + self.b
        return self.a * self.b / (total**2 * (total + 1))

    @property
    def learned_by_one(self) -> float:
        """The variance that one more observation is expected to remove."""
        return self.variance / (self.a + self.b + 1)


def shrunk(own: Proportion, *, mean: float, weight: float) -> Beta:
    """Combine observations with what is known from elsewhere, worth `weight` observations."""
    return Beta(weight * mean + own.k, weight * (1 - mean) + own.n - own.k)


def pooled_mean(whole: Proportion) -> float:
    """Return the mean that single members of a group are drawn to; ½ where nothing is known."""
    return (whole.k + 0.5) / (whole.n + 1)


def krippendorff(ratings: Iterable[tuple[int, int]]) -> float | None:
    """Return the alpha of several judges from the flags and passes of each text (Krippendorff 2011).

    Texts that one judge rated do not count; None: nothing else could have come out.
    """
    several = [(flags, passes) for flags, passes in ratings if flags + passes > 1]
    flagged, passed = (sum(rated[at] for rated in several) for at in (0, 1))
    observed = sum(flags * passes / (flags + passes - 1) for flags, passes in several)
    return 1 - observed * (flagged + passed - 1) / (flagged * passed) if flagged * passed else None


@dataclass(frozen=True)
class Agreement:
    """Two judges on the same texts: both flag, only the first, only the second, both pass."""

    both: int = 0
    first: int = 0
    second: int = 0
    neither: int = 0

    @property
    def n(self) -> int:
        return self.both + self.first + self.second + self.neither

    @property
    def swapped(self) -> Agreement:
        return Agreement(self.both, self.second, self.first, self.neither)

    @property
    def share(self) -> float | None:
        return (self.both + self.neither) / self.n if self.n else None

    @property
    def positive(self) -> float | None:
        """Agreement about flags alone: of what one flags, as much as the other flags too."""
        flags = 2 * self.both + self.first + self.second
        return 2 * self.both / flags if flags else None

    @property
    def kappa(self) -> float | None:
        """Agreement beyond chance (Cohen 1960); None where chance alone explains all."""
        if not self.n:
            return None
        one, other = self.both + self.first, self.both + self.second
        expected = (one * other + (self.n - one) * (self.n - other)) / self.n**2
        observed = (self.both + self.neither) / self.n
        return (observed - expected) / (1 - expected) if expected < 1 else None

    @property
    def ac1(self) -> float | None:
        """Agreement beyond chance that rare flags do not lower (Gwet 2008)."""
        if not self.n:
            return None
        flags = (2 * self.both + self.first + self.second) / (2 * self.n)
        expected = 2 * flags * (1 - flags)
        return ((self.both + self.neither) / self.n - expected) / (1 - expected)

    @property
    def mcnemar(self) -> float:
        """The exact two-sided p that one judge is no stricter than the other (McNemar 1947)."""
        n, least = self.first + self.second, min(self.first, self.second)
        # By logarithms: powers of two beyond a float's range are reached by n above 1,000.
        whole = lgamma(n + 1) - n * log(2)
        tail = fsum(exp(whole - lgamma(i + 1) - lgamma(n - i + 1)) for i in range(least + 1))
        return min(1.0, 2 * tail)

    def __add__(self, other: Agreement) -> Agreement:
        return Agreement(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))
