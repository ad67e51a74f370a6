"""Turns Ctrl-C, Ctrl-\\, SIGTERM and a closed terminal into an orderly end of long work."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 3


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that a termination signal sets, instead of ending the process.

    A signal that is ignored (`nohup`) stays so. Who asks three times is not asked to wait longer:
    the third signal has the effect that it has without this.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    asked = 0
    before: dict[signal.Signals, Any] = {}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        stop.set()
        if asked == _PATIENCE - 1:
            restore()

    for number in _SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, note)
    try:
        yield stop
    finally:
        restore()
