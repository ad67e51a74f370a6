"""Shows how a copy goes: one line that is redrawn on a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import OutputWrapper

from review.orchestration.copy_filling import Progress
from review.store.raw_rows import Table

_SECONDS_BETWEEN = 0.1
_CLEAR = "\r\x1b[K"


@contextmanager
def progress(stream: OutputWrapper, *, shown: bool) -> Iterator[Progress]:
    """What a copy may tell; drawn on `stream` when `shown`, and cleared at the end."""
    if not shown:
        yield _silence
        return
    line = _Line(stream)
    try:
        yield line.tell
    finally:
        line.write(_CLEAR)


def _silence(_doing: str, _table: Table, _done: int, _of: int) -> None:
    """Says nothing."""


class _Line:
    def __init__(self, stream: OutputWrapper) -> None:
        self._stream = stream
        self._drawn = 0.0

    def tell(self, doing: str, table: Table, done: int, of: int) -> None:
        moment = time.monotonic()
        if moment - self._drawn >= _SECONDS_BETWEEN:
            self._drawn = moment
            share = min(done / of, 1) if of > 0 else 1
            self.write(f"{_CLEAR}{doing} {table.name} {share:4.0%}")

    def write(self, words: str) -> None:
        self._stream.write(words, ending="")
        self._stream.flush()
