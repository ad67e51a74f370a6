"""Runs commands as processes without the start of an interpreter, which is most of their time.

They are forked from `tests.helpers.fork_server`, one of which each worker of the suite has. What
tests the start itself, limits or a locale, or lets a process be killed with its group, starts a new
interpreter: `tests.helpers.commands.run_process`.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO

from tests.helpers.commands import REPOSITORY, Result, process_environment


class Forked:
    """A process of the server; used as `subprocess.Popen`, its output is there when it has ended."""

    def __init__(
        self, argv: Sequence[object], *, root: Path, env: dict[str, str], stdin: bytes = b""
    ) -> None:
        assert not any(name.startswith("PYTHON") for name in env), "only a new interpreter reads it"
        self.args = [str(REPOSITORY / "manage.py"), *map(str, argv)]
        self.returncode: int | None = None
        self._written = ("", "")
        self._outputs = [_unnamed(), _unnamed()]
        told, telling = os.pipe()
        self._told = os.fdopen(told, "rb", buffering=0)
        request = {"argv": self.args, "cwd": str(root), "env": env}
        line = json.dumps(request).encode() + b"\n"
        with _unnamed(stdin) as given:
            streams = [stream.fileno() for stream in (given, *self._outputs)]
            _ask(line, [*streams, telling])
        os.close(telling)
        self.pid = int(self._told.readline())

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_error: object) -> None:
        self.wait()

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        if self.returncode is None and select.select([self._told], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, when it has ended.

        :raises TimeoutExpired: it has not, in so many seconds.
        """
        if self.returncode is None:
            if not select.select([self._told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self._end()
        assert self.returncode is not None
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it has written, when it has ended."""
        self.wait(timeout)
        return self._written

    def complaints(self) -> str:
        """What it has written to standard error so far; it must not have ended."""
        errors = self._outputs[1].fileno()
        # The process writes at the same offset, which must not move.
        return os.pread(errors, os.fstat(errors).st_size, 0).decode()

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def _end(self) -> None:
        self.returncode = os.waitstatus_to_exitcode(int(self._told.readline()))
        self._told.close()
        written = []
        for output in self._outputs:
            output.seek(0)
            written.append(output.read().decode())
            output.close()
        self._written = written[0], written[1]


def _unnamed(content: bytes = b"") -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by who asks for it
    file.write(content)
    file.seek(0)
    return file


def _ask(line: bytes, descriptors: list[int]) -> None:
    server = _server()
    sent = socket.send_fds(server, [line], descriptors)
    server.sendall(line[sent:])


def run_forked(
    *argv: object,
    root: Path,
    stdin: str | bytes | None = None,
    env: dict[str, str] | None = None,
    timeout: float = 60,
) -> Result:
    """As `run_process`, in a process that is forked."""
    data = stdin.encode() if isinstance(stdin, str) else stdin or b""
    process = Forked(argv, root=root, env=process_environment(root) | (env or {}), stdin=data)
    try:
        out, err = process.communicate(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Result(process.wait(), out, err)


@cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair()
    environment = process_environment(REPOSITORY)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.fork_server", str(theirs.fileno())],
        stdin=subprocess.DEVNULL,
        cwd=REPOSITORY,
        env={
            name: environment[name] for name in environment if not name.startswith("COMMONPLACE_")
        },
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours
