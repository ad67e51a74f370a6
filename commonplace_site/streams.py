"""The output streams of a command: UTF-8, written whole, with errors that name the stream."""

from __future__ import annotations

import io
import os
import select
import sys
from pathlib import Path
from typing import Any, TextIO

from review.errors import ReviewError

STANDARD_OUTPUT = "standard output"


class AnswerNotWritten(ReviewError):
    """The answer found no room; what the command did is done."""


class _Whole(io.FileIO):
    """A file that takes all it is given or raises, though it may take a part at a time.

    What is not buffered has nobody else to write the rest: a full disk, a pipe whose reader stops or
    that was made non-blocking take a part and say so by a number that text streams do not look at.
    """

    def write(self, data: Any, /) -> int:
        rest = memoryview(data).cast("B")
        whole = rest.nbytes
        while rest:
            written = super().write(rest)
            if written is None:
                select.select([], [self], [])
            else:
                rest = rest[written:]
        return whole


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


def not_written(error: OSError) -> AnswerNotWritten | None:
    """Translate an error of writing the answer; return None for one of another file."""
    if error.filename != STANDARD_OUTPUT:
        return None
    return AnswerNotWritten(
        f"the answer could not be written: {error.strerror} on {STANDARD_OUTPUT};"
        " what the command stored is kept",
        hint="make room, then ask again: review_job_list and review_status say where things stand",
    )


def _steady(stream: TextIO | None, kind: type[io.FileIO]) -> TextIO:
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    is_buffered = isinstance(stream.buffer, io.BufferedWriter)
    if not isinstance(stream.buffer.raw if is_buffered else stream.buffer, io.FileIO):
        return stream
    stream.flush()
    raw = kind(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw) if is_buffered else raw,
        encoding="utf-8",
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
