"""Makes a value safe to stand in a CSV cell."""

from __future__ import annotations

import re

from review.domain.printing import printable

# What a spreadsheet runs, in ASCII and in full width; blanks before it are dropped by some.
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
# One that cuts cells at a semicolon or a tab, as many countries' do, sees a cell begin there.
_LATER_FORMULA = re.compile(r"([;\t]\s{0,20})(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
_STARTS = ("\t", "\r", "\n")


def safe_cell(value: object) -> str:
    """The value as text; one that a spreadsheet would run as a formula gets an apostrophe first.

    Characters that a terminal would obey are written out.
    """
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
