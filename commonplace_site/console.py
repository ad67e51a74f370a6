"""The entry point of `commonplace`, of every `commonplace-…` script and of `manage.py`.

It picks the settings for a command, runs it and answers with its exit code; whatever goes wrong on
the way to a command, or under it, ends here without a traceback when an operator can act on it.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import select
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

from commonplace_site.catalogue import (
    DJANGO,
    OURS,
    PROGRAM,
    document,
    find_command,
    load_command,
    overview,
)
from commonplace_site.loading import CLI_SETTINGS, WEB_SETTINGS, load_apps, serve_mcp
from review.errors import ExitCode, ReviewError, UsageRefused

MCP = "mcp"
HELP_OPTIONS = ("-h", "--help")
HELP_WORDS = ("help", *HELP_OPTIONS)
VERSION_WORDS = ("version", "--version", "-V")
_OBJECTS_BETWEEN_COLLECTIONS = 250_000

# Faults of the machine that an operator can mend; any other OSError is ours, and shows where.
_MACHINE_FAULTS = frozenset(
    {
        errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM,
        errno.EIO, errno.EMFILE, errno.ENFILE, errno.EADDRINUSE,
    }
)  # fmt: skip


class Interrupted(ReviewError):
    exit_code = ExitCode.INTERRUPTED


def main() -> NoReturn:
    """Run the command that `sys.argv` names, and leave with its exit code."""
    _leave(run(sys.argv[1:]))


def named() -> NoReturn:
    """Run the command that this script is named for: `commonplace-claim-review-job`."""
    word = Path(sys.argv[0]).stem.removeprefix(f"{PROGRAM}-")
    _leave(run([word, *sys.argv[1:]]))


def run(arguments: Sequence[str]) -> int:
    """Run a command line without the program's name; give the exit code.

    The collector rests while modules load and objects that stay are made: a tenth of the start.
    """
    gc.disable()
    steady_streams()
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        return int(ExitCode.BROKEN_PIPE)
    except KeyboardInterrupt:
        return _refused(Interrupted("interrupted"), arguments)
    except ReviewError as refusal:
        return _refused(refusal, arguments)
    except OSError as error:
        return _refused(_refusal_of(error), arguments)
    return code


def _refusal_of(error: OSError) -> ReviewError:
    """Translate an error that an operator can act on; raise any other again."""
    if error.filename == STANDARD_OUTPUT:
        return ReviewError(
            f"the answer could not be written: {error.strerror} on {STANDARD_OUTPUT};"
            " what the command stored is kept",
            "answer-not-written",
            hint="make room, then ask again: "
            "review_job_list and review_status say where things stand",
        )
    if error.errno not in _MACHINE_FAULTS:
        raise error
    where = f": {error.filename}" if error.filename else ""
    return ReviewError(f"{error.strerror}{where}", "machine-fault")


def _dispatch(arguments: Sequence[str]) -> int:
    if not arguments:
        load_apps(CLI_SETTINGS)
        sys.stderr.write(overview())
        return int(ExitCode.USAGE)
    word, *rest = arguments
    if word in VERSION_WORDS:
        return _version()
    if word in HELP_WORDS:
        return _help(rest)
    if word.startswith("-"):
        raise UsageRefused(f"the first word is a command, not {word}", hint=f"see: {PROGRAM} help")
    name, owner = find_command(word)
    if owner == DJANGO:
        return _run_django(name, rest)
    if name == MCP and not rest:
        serve_mcp()
        return int(ExitCode.DONE)
    if owner == OURS and "--json" in rest and not set(HELP_OPTIONS).isdisjoint(rest):
        return _help([name, "--json"])
    return _run_review(name, owner, rest)


def _run_review(name: str, owner: str, rest: Sequence[str]) -> int:
    load_apps(CLI_SETTINGS if owner == OURS or name == MCP else WEB_SETTINGS)
    command = load_command(owner, name)
    gc.freeze()
    if owner == OURS:
        # It lives for a moment and its rows form no cycles: a queue of 15,000 findings spent a
        # third of its time in collections that freed nothing.
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 50, 100)
    gc.enable()
    return int(command.answer([PROGRAM, name, *rest]))


def _run_django(name: str, rest: Sequence[str]) -> int:
    from commonplace_site import django_command

    gc.enable()
    if os.environ.get("NO_COLOR"):
        os.environ["DJANGO_COLORS"] = "nocolor"
    load_apps(WEB_SETTINGS)
    return django_command.run(name, rest)


def _help(rest: Sequence[str]) -> int:
    names = [word for word in rest if not word.startswith("-")]
    unknown = set(rest) - {"--json", *names}
    if unknown:
        raise UsageRefused(f"help does not know {', '.join(sorted(unknown))}")
    if "--json" in rest:
        load_apps(CLI_SETTINGS)
        sys.stdout.write(document(names))
        return int(ExitCode.DONE)
    if names:
        return _dispatch([names[0], "--help"])
    load_apps(CLI_SETTINGS)
    sys.stdout.write(overview())
    return int(ExitCode.DONE)


def _version() -> int:
    from importlib.metadata import PackageNotFoundError, version

    try:
        number = version("commonplace-review")
    except PackageNotFoundError:
        number = "(not installed)"
    sys.stdout.write(f"{PROGRAM} {number}\n")
    return int(ExitCode.DONE)


def _refused(refusal: ReviewError, arguments: Sequence[str]) -> int:
    from review.management.streams import report

    report(refusal, stream=sys.stderr, as_json="--json" in arguments)
    return int(refusal.exit_code)


def _leave(code: int) -> NoReturn:
    """End the process without taking the interpreter apart, which costs a quarter of a start.

    What has to be kept is closed by hand: the database, and the two streams.
    """
    if "django.db" in sys.modules:
        _close_databases()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = code or int(ExitCode.BROKEN_PIPE)
    os._exit(code)


def _close_databases() -> None:
    from django.conf import settings
    from django.db import Error, connections

    if settings.configured:
        with suppress(Error):
            connections.close_all()


STANDARD_OUTPUT = "standard output"


class _Whole(io.FileIO):
    """A file that waits where a pipe, which somebody made non-blocking, takes nothing now."""

    def write(self, data: Any, /) -> int:
        while (written := super().write(data)) is None:
            select.select([], [self], [])
        return written


class _Answers(_Whole):
    """Standard output; an error says that it is this file's."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            error.filename = STANDARD_OUTPUT
            raise


class _Notices(_Whole):
    """Standard error; a command does not abort because its progress cannot be written."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def steady_streams() -> None:
    """Make both streams UTF-8 in any locale; writes to a closed one are discarded."""
    sys.stdout = _steady(sys.stdout, _Answers)
    sys.stderr = _steady(sys.stderr, _Notices)


def _steady(stream: TextIO | None, kind: type[io.FileIO]) -> TextIO:
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    raw = getattr(stream.buffer, "raw", stream.buffer)
    if not isinstance(raw, io.FileIO):
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(kind(stream.fileno(), "w", closefd=False)),
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=stream.line_buffering or stream.buffer is raw,
    )
