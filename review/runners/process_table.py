"""Asks the operating system whether the process that took a job is still there."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

from review.domain.parents import Parent

# The kernel counts from the boot, and the moment of the boot moves when the clock is set. A number
# that is given out again within this time of its first owner's start would need millions of others.
_TOLERANCE = timedelta(minutes=1)
_GONE = frozenset({"Z", "X", "x"})
_START = 19  # the 22nd field of /proc/PID/stat, counted from the state, which is the 3rd


class Processes(Protocol):
    """The processes of one host."""

    @property
    def host(self) -> str:
        """The host's name."""

    def is_alive(self, pid: int, *, started_at: datetime | None) -> bool:
        """Whether the process that had this number and start time is still there."""


class ProcessTable:
    """The processes of this host, as `/proc` shows them; without one, by asking for the number.

    :param read: reads a file below `/proc` by its name; raises OSError.
    """

    def __init__(self, read: Callable[[str], str] | None = None) -> None:
        self._read = read or _read_proc

    @property
    def host(self) -> str:
        """This host's name."""
        return socket.gethostname()

    def me(self) -> Parent:
        """The process that asks."""
        pid = os.getpid()
        try:
            started_at = self._started_at(pid)
        except OSError:
            started_at = None
        return Parent(self.host, pid, started_at)

    def is_alive(self, pid: int, *, started_at: datetime | None) -> bool:
        """Whether the process is still there; in doubt it is.

        A number that now belongs to a process with another start time was given out again.
        """
        try:
            started = self._started_at(pid)
        except OSError:
            return _exists(pid)
        if started is None:
            return False
        return started_at is None or abs(started - started_at) <= _TOLERANCE

    def _started_at(self, pid: int) -> datetime | None:
        """When the process started; None when there is none, or only its remains.

        :raises OSError: this host does not show its processes.
        """
        booted = self._booted_at()
        try:
            text = self._read(f"{pid}/stat")
        except (FileNotFoundError, ProcessLookupError):
            return None
        # The name stands in parentheses and may hold anything, parentheses too.
        fields = text.rpartition(")")[2].split()
        if fields[0] in _GONE:
            return None
        return booted + timedelta(seconds=int(fields[_START]) / os.sysconf("SC_CLK_TCK"))

    def _booted_at(self) -> datetime:
        for line in self._read("stat").splitlines():
            name, _, value = line.partition(" ")
            if name == "btime":
                return datetime.fromtimestamp(int(value), UTC)
        raise FileNotFoundError("/proc/stat does not say when the host was started")


def _read_proc(name: str) -> str:
    return Path("/proc", name).read_text(encoding="utf-8", errors="replace")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is another user's
    return True
