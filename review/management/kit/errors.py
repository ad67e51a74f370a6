"""Errors on stderr, and JSON that is safe for a terminal."""

from __future__ import annotations

import json
import os
from typing import TextIO

from review.domain.printing import UNSAFE, printable
from review.errors import ReviewError


def printable_json(text: str) -> str:
    """A JSON text in which no string holds a character that could act on a terminal."""
    if text.isascii() and "\x7f" not in text:
        return text
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def report(refusal: ReviewError, *, stream: TextIO, as_json: bool) -> None:
    """Write `refusal` to `stream`, as one JSON line or as text for people."""
    if as_json:
        stream.write(json.dumps(refusal.document(), separators=(",", ":")) + "\n")
        return
    label = "\x1b[31merror:\x1b[0m" if colour_allowed(stream) else "error:"
    stream.write(f"{label} {printable(refusal.message)}\n")
    if refusal.hint:
        stream.write(f"hint: {printable(refusal.hint)}\n")


def colour_allowed(stream: TextIO) -> bool:
    """Return whether `stream` is a terminal whose user did not turn colour off."""
    return not os.environ.get("NO_COLOR") and progress_allowed(stream)


def progress_allowed(stream: TextIO) -> bool:
    """Return whether a line on `stream` may be redrawn: a terminal that is not `dumb`."""
    return os.environ.get("TERM", "") not in ("", "dumb") and stream.isatty()
