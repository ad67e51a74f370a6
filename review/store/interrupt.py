"""Ctrl-C during a long statement of SQLite, of which Python hears only when it is done."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end the statement that runs on the store's connection, from a thread that hears it."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    if wrapper.vendor != "sqlite" or threading.current_thread() is not threading.main_thread():
        yield
        return
    signals, wakeup = os.pipe()  # each signal is a byte of its number
    os.set_blocking(wakeup, False)
    before = signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    listener = threading.Thread(target=_listen, args=(signals, wrapper), daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(wakeup)
        listener.join()
        os.close(signals)


def _listen(signals: int, wrapper: BaseDatabaseWrapper) -> None:
    while numbers := os.read(signals, 64):
        if signal.SIGINT in numbers and wrapper.connection is not None:
            with suppress(sqlite3.ProgrammingError):
                wrapper.connection.interrupt()
