"""Progress of a copy: one line that is redrawn on a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import OutputWrapper

from review.store_copy.copy import Progress

_SECONDS_BETWEEN = 0.1
_CLEAR = "\r\x1b[K"


@contextmanager
def progress(stream: OutputWrapper, *, shown: bool) -> Iterator[Progress]:
    """A callback that draws on `stream` if `shown`; the line is cleared at the end."""
    drawn = 0.0

    def write(text: str) -> None:
        stream.write(text, ending="")
        stream.flush()

    def report(doing: str, table: str, rows: int) -> None:
        nonlocal drawn
        now = time.monotonic()
        if shown and now - drawn >= _SECONDS_BETWEEN:
            drawn = now
            write(f"{_CLEAR}{doing} {table}, {rows:,} rows")

    try:
        yield report
    finally:
        if shown:
            write(_CLEAR)
