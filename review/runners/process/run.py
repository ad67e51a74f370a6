"""The one place that starts processes: runs a program to its end, or ends it and all it started.

A worker gets the operator's environment, less what belongs to a harness around us, or to us.
"""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from review.errors import ReviewError

ProgramOutput = subprocess.CompletedProcess[bytes]
_PAUSE = 0.02
_GRACE = 1.0
_ORPHANS_END_WITHIN = 0.7


class ProgramNotStarted(ReviewError):
    """The system does not start the program: it is missing, not executable or wrongly called."""


@dataclass(frozen=True)
class ProcessRequest:
    """One program to run, for at most `timeout` seconds.

    :param stdin_path: what it reads; None: nothing, at once at its end.
    :param max_bytes: what stdout and stderr each keep; more is cut off at the end.
    :param mark: a variable, `NAME=value`, of this run alone: by it all that it starts is found.
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
    """Result of a program; `exit_code`: negative for a signal, None if not known."""

    exit_code: int | None
    timed_out: bool
    interrupted: bool
    duration: float
    stdout_truncated: bool


def run_process(request: ProcessRequest, *, stop: threading.Event) -> ProcessResult:
    """Run a program in a session of its own, until its end, its time, or `stop`.

    Then all that it started is ended too, within two seconds.
    """
    begun = time.monotonic()
    # Appending: what is cut off while the program runs goes on at the new end.
    with request.stdout_path.open("ab") as out, request.stderr_path.open("ab") as err:
        process = _start(request, out=out.fileno(), err=err.fileno())
    ended = False
    try:
        ended = _wait(process, request, stop=stop)
    finally:
        _end(process, request.mark)
    truncated = request.stdout_path.stat().st_size > request.max_bytes
    _cut(request, request.max_bytes)
    return ProcessResult(
        exit_code=process.returncode,
        timed_out=not ended and not stop.is_set(),
        interrupted=not ended and stop.is_set(),
        duration=time.monotonic() - begun,
        stdout_truncated=truncated,
    )


def read_program(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float
) -> ProgramOutput:
    """Run a short program of the system to its end and keep its output; it has no input."""
    try:
        return subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, cwd=cwd, env=env, timeout=timeout,
            check=False,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        told = getattr(error, "strerror", None) or error
        raise ProgramNotStarted(f"cannot run {argv[0]!r}: {told}") from error


def _wait(
    process: subprocess.Popen[bytes], request: ProcessRequest, *, stop: threading.Event
) -> bool:
    """Return whether the process ended before its time was up and before `stop` was set."""
    until = time.monotonic() + request.timeout
    while process.poll() is None:
        if stop.wait(_PAUSE) or time.monotonic() > until:
            return process.poll() is not None
        _cut(request, request.max_bytes + 1)
    return True


def _cut(request: ProcessRequest, size: int) -> None:
    for path in (request.stdout_path, request.stderr_path):
        if path.stat().st_size > size:
            os.truncate(path, size)


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


def _signal_group(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


_MARK = "COMMONPLACE_RUN"
# Set by a harness for what it starts: a CLI that finds them believes that it runs inside another.
_HARNESS = frozenset(
    {
        "CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_PID", "CLAUDE_PLUGIN_ROOT",
        "CLAUDE_EFFORT", "AI_AGENT", "CODEX_CI", "CODEX_MANAGED_BY_NPM", "CODEX_MANAGED_BY_BUN",
        "CODEX_THREAD_ID", "GEMINI_CLI", "CURSOR_AGENT", "CURSOR_TRACE_ID", "OPENCODE", "AGENT",
    }
)  # fmt: skip
_HARNESS_PREFIXES = ("CLAUDE_CODE_", "CODEX_SANDBOX", "GEMINI_CLI_IDE_", "OPENCODE_")
# How a person is known to the service, or which service it is: no harness's own.
_KEPT = frozenset(
    f"CLAUDE_CODE_{name}"
    for name in (
        "API_KEY_HELPER_TTL_MS", "CLIENT_CERT", "CLIENT_KEY", "CLIENT_KEY_PASSPHRASE",
        "OAUTH_TOKEN", "USE_BEDROCK", "USE_FOUNDRY", "USE_VERTEX", "SKIP_BEDROCK_AUTH",
        "SKIP_FOUNDRY_AUTH", "SKIP_VERTEX_AUTH", "MAX_OUTPUT_TOKENS", "MAX_RETRIES",
        "PROXY_RESOLVES_HOSTS", "CERT_STORE",
    )
)  # fmt: skip
# Our own: the store's address and how its server is entered, the pages' secret key.
_OURS_PREFIXES = ("COMMONPLACE_", "DJANGO_", "REVIEW_SWEEP_", "PG")
# What ties git to a hook's repository.
_GIT = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"}
)


def worker_environment(environ: Mapping[str, str], *, extra: Mapping[str, str]) -> dict[str, str]:
    """`environ` without the variables that are not a worker's business, then `extra`."""
    return {name: environ[name] for name in environ if _belongs_to_worker(name)} | dict(extra)


def new_mark() -> str:
    """A variable, `NAME=value`, by which the processes of one run are found."""
    return f"{_MARK}={secrets.token_hex(16)}"


def is_mark(text: object) -> bool:
    """Return whether `text` is such a variable: processes that carry it may be killed."""
    return isinstance(text, str) and re.fullmatch(rf"{_MARK}=[0-9a-f]{{32}}", text) is not None


def _belongs_to_worker(name: str) -> bool:
    is_ours = name in _GIT or name.startswith(_OURS_PREFIXES)
    is_harness = name in _HARNESS or name.startswith(_HARNESS_PREFIXES)
    return name in _KEPT or not (is_ours or is_harness)
