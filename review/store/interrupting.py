"""Has Ctrl-C end a statement that runs; Python hears of it only when the statement is done."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

_SIGNALS_AT_ONCE = 64


@contextmanager
def interruptible() -> Iterator[None]:
    """While this lasts, Ctrl-C ends the statement that runs on the store's connection.

    SQLite works in this process and outside of Python: a look at all pages of a large store is
    minutes in which no signal is heard. A thread hears it, and ends the statement; what Ctrl-C
    means stays what it was. A driver that waits for a server hears it itself.
    """
    wrapper = connections[DEFAULT_DB_ALIAS]
    if wrapper.vendor != "sqlite" or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard, telling = os.pipe()
    os.set_blocking(telling, False)
    before = signal.set_wakeup_fd(telling, warn_on_full_buffer=False)
    listener = threading.Thread(target=_listen, args=(heard, wrapper), daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(telling)
        listener.join()
        os.close(heard)


def _listen(heard: int, wrapper: BaseDatabaseWrapper) -> None:
    """Until the other end is closed; each signal is a byte of its number."""
    while numbers := os.read(heard, _SIGNALS_AT_ONCE):
        if signal.SIGINT in numbers and wrapper.connection is not None:
            # Closed at this moment: then nothing runs.
            with suppress(sqlite3.ProgrammingError):
                wrapper.connection.interrupt()
