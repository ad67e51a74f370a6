"""Finds and ends what a run started and left: by its session, or by the mark in its environment."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_GONE = frozenset("ZXx")
_PAUSE = 0.01
_STATE, _SESSION = 0, 3  # fields of /proc/PID/stat, counted from the state, which is the 3rd


def end_leftovers(mark: str, *, session: int | None, until: float) -> bool:
    """Kill all that carries `mark` (`NAME=value`) or is in `session`; whether nothing is left.

    A process can leave its group and its session, but it hands its environment on. Where `/proc`
    does not exist nothing is found.

    :param until: on the monotonic clock; what cannot be killed by then is left.
    """
    while True:
        found = list(_find(mark.encode(), session))
        if not found:
            return True
        if time.monotonic() >= until:
            return False
        for pid in found:
            _kill(pid, mark.encode(), session)
        time.sleep(_PAUSE)


def _find(mark: bytes, session: int | None) -> Iterator[int]:
    me = os.getpid()
    with suppress(OSError):
        for entry in os.scandir(_PROC):
            pid = int(entry.name) if entry.name.isdecimal() else me
            if pid != me and _belongs(pid, mark, session):
                yield pid


def _belongs(pid: int, mark: bytes, session: int | None) -> bool:
    try:
        # The name stands in parentheses and may hold anything, parentheses too.
        fields = _read(pid, "stat").rpartition(b")")[2].split()
        if fields[_STATE].decode() in _GONE:
            return False
        if session is not None and int(fields[_SESSION]) == session:
            return True
        return mark in _read(pid, "environ").split(b"\0")
    except (OSError, IndexError):
        return False


def _kill(pid: int, mark: bytes, session: int | None) -> None:
    """Kill a process, held by a descriptor so that its number cannot pass to another meanwhile."""
    with suppress(OSError):
        descriptor = os.pidfd_open(pid)
        try:
            if _belongs(pid, mark, session):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)


def _read(pid: int, name: str) -> bytes:
    return (_PROC / str(pid) / name).read_bytes()
