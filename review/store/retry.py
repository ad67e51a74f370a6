"""Retries of a step that was paid for, while the store is busy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from django.db import connection

from review.errors import TryAgain
from review.store.errors import translate_db_errors

T = TypeVar("T")

# Threads share a processor, and on SQLite would poll for the lock of its writer.
_ONE_AT_A_TIME = threading.RLock()
_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)


def retry_while_busy(step: Callable[[], T], *, stop: threading.Event) -> T:
    """The result of `step`, one transaction, which is retried while the store is busy.

    Setting `stop` ends the pauses, not the retries.

    :raises TryAgain: the store stayed busy for about half a minute of pauses, and the waits of the
        database itself.
    """
    pauses = iter(_PAUSES)
    while True:
        try:
            with _ONE_AT_A_TIME, translate_db_errors():
                return step()
        except TryAgain:
            if not connection.in_atomic_block:
                connection.close()  # the next try makes a new one
            if (pause := next(pauses, None)) is None:
                raise
            stop.wait(pause)
