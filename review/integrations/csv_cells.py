"""Makes a value safe to stand in a CSV cell."""

from __future__ import annotations

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: object) -> str:
    """The value as text; one that a spreadsheet would run as a formula gets an apostrophe first."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    if isinstance(value, str) and text.startswith(_FORMULA_STARTS):
        return f"'{text}"
    return text
