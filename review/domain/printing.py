"""Text made safe for a terminal: nothing in it moves a cursor, starts an escape or reorders a line."""

from __future__ import annotations

import re

# Everything that can move a cursor, start an escape sequence or reorder a line: C0 but newline and
# tab, DEL, C1, line and paragraph separators, and the bidirectional controls.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""`text` with every character that could act on a terminal written as `\xNN` or `\uNNNN`.

    Newlines and tabs stay. A carriage return before a newline is dropped.
    """
    return UNSAFE.sub(_escaped, text.replace("\r\n", "\n"))


def printable_line(text: str) -> str:
    r"""`printable`, for a value that must stay on its line: newlines and tabs are escaped too."""
    return printable(text.replace("\n", "\\n").replace("\t", "\\t"))


def count_words(number: int, noun: str) -> str:
    """A number with its noun, in the right form; `noun` is "job", or "entry,entries"."""
    one, _comma, many = noun.partition(",")
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


# What a spreadsheet runs, in ASCII and in full width; blanks before it are dropped by some.
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
# One that cuts cells at a semicolon or a tab, as many countries' do, sees a cell begin there.
_LATER_FORMULA = re.compile(r"([;\t]\s{0,20})(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
_STARTS = ("\t", "\r", "\n")


def safe_cell(value: object) -> str:
    """The value as text that no terminal obeys and no spreadsheet runs as a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, str):
        return str(value)
    text = value
    if text.startswith(_STARTS) or _FORMULA.match(text):
        text = f"'{text}"
    return printable(_LATER_FORMULA.sub(r"\1'", text))
