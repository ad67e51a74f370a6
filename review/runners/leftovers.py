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
# Fields of /proc/PID/stat, counted from the state, which is the 3rd.
_STATE, _SESSION, _STARTED = 0, 3, 19
_STAT_BYTES = 4096


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
    since = _started_at(session) if session is not None else 0
    with suppress(OSError):
        for entry in os.scandir(_PROC):
            pid = int(entry.name) if entry.name.isdecimal() else me
            if pid != me and _belongs(pid, mark, session, since=since):
                yield pid


def _belongs(pid: int, mark: bytes, session: int | None, *, since: int = 0) -> bool:
    """Whether the process is of the run, whose first process started at `since`, in ticks."""
    try:
        fields = _fields(pid)
        if fields[_STATE].decode() in _GONE:
            return False
        if session is not None and int(fields[_SESSION]) == session:
            return True
        # This is done after every run, and most processes of a machine are older than it.
        if int(fields[_STARTED]) < since:
            return False
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except (OSError, IndexError):
        return False


def _started_at(pid: int) -> int:
    """When a process, not yet reaped, started, in ticks since the boot; 0 where nobody knows."""
    try:
        return int(_fields(pid)[_STARTED])
    except (OSError, IndexError):
        return 0


def _fields(pid: int) -> list[bytes]:
    descriptor = os.open(f"{_PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        # The name stands in parentheses and may hold anything, parentheses too.
        return os.read(descriptor, _STAT_BYTES).rpartition(b")")[2].split()
    finally:
        os.close(descriptor)


def _kill(pid: int, mark: bytes, session: int | None) -> None:
    """Kill a process, held by a descriptor so that its number cannot pass to another meanwhile."""
    with suppress(OSError):
        descriptor = os.pidfd_open(pid)
        try:
            if _belongs(pid, mark, session):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        finally:
            os.close(descriptor)
