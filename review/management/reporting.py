"""What a refusal looks like on stderr, and how text is made safe for a terminal."""

from __future__ import annotations

import json
import os
import re
from typing import TextIO

from review.errors import ReviewError

# Everything that can move a cursor, start an escape sequence or reorder a line: C0 but newline and
# tab, DEL, C1, line and paragraph separators, and the bidirectional controls.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""`text` with every character that could act on a terminal written as `\xNN` or `\uNNNN`.

    Newlines and tabs stay. A carriage return before a newline is dropped.
    """
    if text.isprintable():
        return text
    return _UNSAFE.sub(_escaped, text.replace("\r\n", "\n"))


def printable_line(text: str) -> str:
    r"""`printable`, for a value that must stay on its line: newlines and tabs are escaped too."""
    if text.isprintable():
        return text
    return printable(text.replace("\n", "\\n").replace("\t", "\\t"))


def printable_json(text: str) -> str:
    """A JSON text in which no string holds a character that could act on a terminal."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def error_document(refusal: ReviewError) -> str:
    """The one JSON line that `--json` puts on stderr for `refusal`."""
    document = {
        "schema": "error/1",
        "code": refusal.code,
        "message": refusal.message,
        "hint": refusal.hint,
        "exit": int(refusal.exit_code),
    }
    return json.dumps(document, separators=(",", ":"))


def report(refusal: ReviewError, *, stream: TextIO, as_json: bool) -> None:
    """Write `refusal` to `stream`, as one JSON line or as text for people."""
    if as_json:
        stream.write(error_document(refusal) + "\n")
        return
    label = "\x1b[31merror:\x1b[0m" if colour_allowed(stream) else "error:"
    stream.write(f"{label} {printable(refusal.message)}\n")
    if refusal.hint:
        stream.write(f"hint: {printable(refusal.hint)}\n")


def colour_allowed(stream: TextIO) -> bool:
    """Whether `stream` is a terminal whose user did not turn colour off."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in ("", "dumb"):
        return False
    return stream.isatty()


def progress_allowed(stream: TextIO) -> bool:
    """Whether a line on `stream` may be redrawn: a terminal that is not `dumb`."""
    return os.environ.get("TERM", "") not in ("", "dumb") and stream.isatty()
