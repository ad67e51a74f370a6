"""Reads the input of a command: a file, or standard input for `-`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

from review.errors import InputRejected, UsageRefused

MAX_INPUT_BYTES = 512 * 1024 * 1024


def read_source(source: str, *, stdin: BinaryIO | None, max_bytes: int) -> bytes:
    """The bytes of the file at `source`, or of `stdin` (else this process's) when it is `-`.

    :raises UsageRefused: standard input is a terminal or closed.
    :raises InputRejected: the file is missing, not a file, unreadable or too large.
    """
    if source == "-":
        data = _standard_input(stdin).read(max_bytes + 1)
    else:
        try:
            with Path(source).open("rb") as stream:
                data = stream.read(max_bytes + 1)
        except OSError as error:
            raise InputRejected(f"cannot read {source}: {error.strerror}") from error
    if len(data) > max_bytes:
        raise InputRejected(f"{named(source)} is larger than {max_bytes:,} bytes")
    return data


def named(source: str) -> str:
    """Name `source` for messages."""
    return "standard input" if source == "-" else source


def _standard_input(given: BinaryIO | None) -> BinaryIO:
    stream = given
    if stream is None and sys.stdin is not None:
        stream = sys.stdin.buffer
    if stream is None or stream.closed:
        raise UsageRefused("- reads standard input, which is closed", hint="give a file")
    if stream.isatty():
        raise UsageRefused(
            "- reads standard input, which is a terminal",
            hint="pipe or redirect something into it, or give a file",
        )
    return stream
