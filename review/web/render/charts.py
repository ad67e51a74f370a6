"""Values as inline SVG: lines over weeks, and a proportion with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from review.calibration.documents import TrackRecordJson
from review.domain.statistics import FEW

WIDTH, HEIGHT = 100, 40
_LINES = 5  # as many as there are kinds of line


def make_chart(
    ends: Sequence[datetime], series: Mapping[str, Sequence[float]], *, digits: int = 0
) -> dict[str, Any] | None:
    """Make lines over the same weeks, with one scale from 0 to `top`; None where every value is 0.

    `rows` has a row for each week, for the table that says the same.

    :param digits: after the point.
    """
    top = max((value for values in series.values() for value in values), default=0)
    if not top:
        return None
    lines = [
        {
            "name": name,
            "last": values[-1],
            "points": _points(values, top),
            "kind": number % _LINES,
        }
        for number, (name, values) in enumerate(series.items())
    ]
    rows = [(end, [values[n] for values in series.values()]) for n, end in enumerate(ends)]
    return {"ends": ends, "lines": lines, "top": top, "digits": digits, "rows": rows}


def _points(values: Sequence[float], top: float) -> str:
    step = WIDTH / max(1, len(values) - 1)
    places = ((n * step, HEIGHT * (1 - value / top)) for n, value in enumerate(values))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def precision_bar(record: TrackRecordJson) -> dict[str, str]:
    """A measured precision in words, and the places of its interval and value, 0..100."""
    share = record.people
    low, high, value = (100 * part for part in (share.low, share.high, share.share or 0))
    interval = "" if record.word == FEW else f" · {low:.0f}–{high:.0f} %"
    return {
        "text": f"{share.k} of {share.n} right{interval}",
        "word": record.word,
        "low": f"{low:.1f}",
        "width": f"{high - low:.1f}",
        "value": f"{value:.1f}",
    }
