"""Ends what would never end: a bound is shown by sizes whose square would take days."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# Seconds; a busy machine needs two or three for what this guards, the square of it would take days.
LIMIT = 90


@contextmanager
def never_hangs() -> Iterator[None]:
    """Fail what is still running after the limit, in the main thread."""

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"still running after {LIMIT} seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
