"""The one place that starts processes: runs a program to its end, or ends it and all it started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from review.errors import ReviewError
from review.private_files import FILE_MODE
from review.runners.process.table import kill_orphans

_FIRST_PAUSE = 0.0005
_LONGEST_PAUSE = 0.05
_GRACE = 1.0
_ORPHANS_END_WITHIN = 0.7


class ProgramNotStarted(ReviewError):
    """The system does not start the program: it is missing, not executable or wrongly called."""


@dataclass(frozen=True)
class ProcessRequest:
    """One program to run.

    :param stdin_path: what it reads; None: nothing, at once at its end.
    :param stdout_path: written byte for byte by the program itself; overwritten.
    :param timeout: seconds.
    :param max_bytes: what stdout and stderr each keep; more is cut off at the end.
    :param mark: a variable of the environment, `NAME=value`, that is this run's alone: by it all
        that the program starts is found.
    """

    argv: tuple[str, ...]
    stdin_path: Path | None
    cwd: Path
    env: Mapping[str, str]
    stdout_path: Path
    stderr_path: Path
    timeout: float
    max_bytes: int
    mark: str


@dataclass(frozen=True)
class ProcessResult:
    """How a program ended.

    :param exit_code: None when a signal ended it.
    :param duration: seconds.
    """

    exit_code: int | None
    signal: int | None
    timed_out: bool
    interrupted: bool
    duration: float
    stdout_truncated: bool
    stderr_truncated: bool


def run_process(request: ProcessRequest, *, stop: threading.Event) -> ProcessResult:
    """Run a program in a session of its own, at most for its time and two seconds.

    When it has ended, or `stop` was set, or its time is up, all that it started is ended too.

    :raises ProgramNotStarted: the system does not start it.
    """
    begun = time.monotonic()
    with (
        _captured(request.stdout_path, request.max_bytes) as out,
        _captured(request.stderr_path, request.max_bytes) as err,
    ):
        process = _start(request, out=out.descriptor, err=err.descriptor)
        ended = False
        try:
            ended = _wait(process, stop=stop, until=begun + request.timeout, captures=(out, err))
        finally:
            _end(process, request.mark)
            out.cut()
            err.cut()
        code = process.returncode
        return ProcessResult(
            exit_code=code if code is not None and code >= 0 else None,
            signal=-code if code is not None and code < 0 else None,
            timed_out=not ended and not stop.is_set(),
            interrupted=not ended and stop.is_set(),
            duration=time.monotonic() - begun,
            stdout_truncated=out.truncated,
            stderr_truncated=err.truncated,
        )


class _Capture:
    """A file that a program appends to, kept within its limit."""

    def __init__(self, descriptor: int, max_bytes: int) -> None:
        self.descriptor = descriptor
        self.truncated = False
        self._max_bytes = max_bytes

    def cut(self) -> None:
        """Cut what is over the limit; the program goes on and appends at the new end."""
        if os.fstat(self.descriptor).st_size > self._max_bytes:
            os.ftruncate(self.descriptor, self._max_bytes)
            self.truncated = True


def _wait(
    process: subprocess.Popen[bytes],
    *,
    stop: threading.Event,
    until: float,
    captures: tuple[_Capture, ...],
) -> bool:
    """Whether the process has ended before its time was up and before `stop` was set."""
    pause = _FIRST_PAUSE
    while process.poll() is None:
        left = until - time.monotonic()
        if stop.is_set() or left <= 0:
            return False
        for capture in captures:
            capture.cut()
        stop.wait(min(pause, left))
        pause = min(pause * 2, _LONGEST_PAUSE)
    return True


def _end(process: subprocess.Popen[bytes], mark: str) -> None:
    """End what still runs: the process gets a moment to end itself, then nothing is left."""
    if process.poll() is None:
        _signal_group(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
    _signal_group(process.pid, signal.SIGKILL)
    until = time.monotonic() + _ORPHANS_END_WITHIN
    kill_orphans(mark, session=process.pid, until=until)
    with suppress(subprocess.TimeoutExpired):
        process.wait(max(0.01, until - time.monotonic()))


def _start(request: ProcessRequest, *, out: int, err: int) -> subprocess.Popen[bytes]:
    name, _, value = request.mark.partition("=")
    try:
        with (request.stdin_path or Path(os.devnull)).open("rb") as stdin:
            return subprocess.Popen(
                list(request.argv),
                stdin=stdin,
                stdout=out,
                stderr=err,
                cwd=request.cwd,
                env={**request.env, "PWD": str(request.cwd), name: value},
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        told = getattr(error, "strerror", None) or error
        raise ProgramNotStarted(f"cannot start {request.argv[0]!r}: {told}") from error


@contextmanager
def _captured(path: Path, max_bytes: int) -> Iterator[_Capture]:
    # Appending, so that a program that was cut off goes on at the new end.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, FILE_MODE)
    try:
        yield _Capture(descriptor, max_bytes)
    finally:
        os.close(descriptor)


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
