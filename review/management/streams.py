"""Input and output of commands: stdin, output files, and errors that are safe for a terminal."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import BinaryIO, TextIO

from review.domain.printing import UNSAFE, printable
from review.errors import InputRejected, ReviewError, UsageRefused
from review.settings import REPORTS_FOLDER, Config

MAX_INPUT_BYTES = 512 * 1024 * 1024
_HEAD = 4096


class OutputRefused(InputRejected):
    """The place named for output holds something that is not an earlier output of the command."""


def read_source(source: str, *, stdin: BinaryIO | None, max_bytes: int) -> bytes:
    """The bytes of the file at `source`, or of `stdin` (else this process's) when it is `-`."""
    if source == "-":
        stream = stdin or (sys.stdin.buffer if sys.stdin else None)
        if stream is None or stream.closed:
            raise UsageRefused("- reads standard input, which is closed", hint="give a file")
        if stream.isatty():
            raise UsageRefused(
                "- reads standard input, which is a terminal",
                hint="pipe or redirect something into it, or give a file",
            )
        data = stream.read(max_bytes + 1)
    else:
        try:
            with Path(source).open("rb") as file:
                data = file.read(max_bytes + 1)
        except OSError as error:
            raise InputRejected(f"cannot read {source}: {error.strerror}") from error
    if len(data) > max_bytes:
        raise InputRejected(f"{named(source)} is larger than {max_bytes:,} bytes")
    return data


def named(source: str) -> str:
    return "standard input" if source == "-" else source


def refuse_to_overwrite(path: Path, *, config: Config, starts_with: bytes) -> None:
    """Refuse an output path among sources, or of a file that starts otherwise than ours."""
    refuse_knowledge_base(path, config=config)
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputRefused(f"{path}: {error.strerror or error}", hint="name a file") from error
    if head and not head.startswith(starts_with):
        raise OutputRefused(
            f"{path} is there already and was not written by this command",
            hint="name another place, or remove the file first",
        )


def refuse_knowledge_base(path: Path, *, config: Config) -> None:
    if config.holds_sources(path):
        raise OutputRefused(
            f"{path} lies in the knowledge base",
            hint=f"write below {REPORTS_FOLDER}/, or outside kb/",
        )


def printable_json(text: str) -> str:
    """A JSON text in which no string holds a character that could act on a terminal."""
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def report(refusal: ReviewError, *, stream: TextIO, as_json: bool) -> None:
    if as_json:
        stream.write(json.dumps(refusal.document(), separators=(",", ":")) + "\n")
        return
    is_red = colour_allowed(stream) and refusal.label == "error"
    label = f"\x1b[31m{refusal.label}:\x1b[0m" if is_red else f"{refusal.label}:"
    stream.write(f"{label} {printable(refusal.message)}\n")
    if refusal.hint:
        stream.write(f"hint: {printable(refusal.hint)}\n")


def colour_allowed(stream: TextIO) -> bool:
    return not os.environ.get("NO_COLOR") and progress_allowed(stream)


def progress_allowed(stream: TextIO) -> bool:
    """Return whether a line on `stream` may be redrawn: a terminal that is not `dumb`."""
    return os.environ.get("TERM", "") not in ("", "dumb") and stream.isatty()
