"""Values as inline SVG: lines over weeks, and a proportion with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from review.calibration.documents import TrackRecordJson
from review.domain.statistics import FEW

WIDTH, HEIGHT = 100, 40
_LINES = 5  # as many as there are kinds of line


@dataclass(frozen=True)
class Series:
    """A series of a chart; `points` are its places, `kind` its number among the kinds of line."""

    name: str
    values: Sequence[float]
    points: str
    kind: int

    @property
    def last(self) -> float:
        return self.values[-1]


@dataclass(frozen=True)
class Chart:
    """Lines over the same weeks, with one scale from 0 to `top`; `digits` after the point."""

    ends: Sequence[datetime]
    lines: Sequence[Series]
    top: float
    digits: int

    @property
    def rows(self) -> list[tuple[datetime, list[float]]]:
        """A row for each week, for the table that says the same."""
        columns = [line.values for line in self.lines]
        return [(end, [column[n] for column in columns]) for n, end in enumerate(self.ends)]


def make_chart(
    ends: Sequence[datetime], series: Mapping[str, Sequence[float]], *, digits: int = 0
) -> Chart | None:
    """Make a chart; None where every value is 0."""
    top = max((value for values in series.values() for value in values), default=0)
    if not top:
        return None
    shown = [
        Series(name, values, _points(values, top), number % _LINES)
        for number, (name, values) in enumerate(series.items())
    ]
    return Chart(ends, shown, top, digits)


def _points(values: Sequence[float], top: float) -> str:
    step = WIDTH / max(1, len(values) - 1)
    places = ((n * step, HEIGHT * (1 - value / top)) for n, value in enumerate(values))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


@dataclass(frozen=True)
class PrecisionBar:
    """A measured precision in words, and the places of its interval and value, 0..100."""

    text: str
    word: str
    low: str
    width: str
    value: str


def precision_bar(record: TrackRecordJson) -> PrecisionBar:
    share = record.people
    low, high, value = (100 * part for part in (share.low, share.high, share.share or 0))
    interval = "" if record.word == FEW else f" · {low:.0f}–{high:.0f} %"
    text = f"{share.k} of {share.n} right{interval}"
    return PrecisionBar(text, record.word, f"{low:.1f}", f"{high - low:.1f}", f"{value:.1f}")
