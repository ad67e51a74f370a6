"""Processes of this host: those that took jobs, and those that a run has left."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import psutil

from review.domain.processes import Parent

# Start times are counted from the boot, whose time moves when the clock is set. A number that is
# given out again within this time of its first owner's start would need millions of others.
_TOLERANCE = timedelta(minutes=1)
_PAUSE = 0.01


class Processes:
    def __init__(self) -> None:
        self.host = socket.gethostname()

    def me(self) -> Parent:
        return Parent(self.host, os.getpid(), _started_at(psutil.Process()))

    def is_alive(self, pid: int, *, started_at: datetime | None) -> bool:
        """Return False if the process is gone, or has its number from a later start."""
        try:
            process = psutil.Process(pid)
            if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                return False
            started = _started_at(process)
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True
        return started_at is None or abs(started - started_at) <= _TOLERANCE


def kill_orphans(mark: str, *, session: int | None, until: float) -> bool:
    """Kill all that carries `mark` (`NAME=value`) or is in `session`; whether nothing is left.

    A process can leave its group and its session, but it hands its environment on.
    """
    while found := list(_of_run(mark, session)):
        if time.monotonic() >= until:
            return False
        for process in found:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(_PAUSE)
    return True


def _of_run(mark: str, session: int | None) -> Iterator[psutil.Process]:
    name, _, value = mark.partition("=")
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            if os.getsid(process.pid) == session or process.environ().get(name) == value:
                yield process


def _started_at(process: psutil.Process) -> datetime:
    return datetime.fromtimestamp(process.create_time(), UTC)
