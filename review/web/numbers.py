"""Whole numbers as addresses and forms write them: keys of rows, places in a list."""

from __future__ import annotations

# So many digits every database can hold, and nobody waits for Python to read them.
_MAX_DIGITS = 18


def read_number(written: str) -> int | None:
    """The number, 0 or above; None for what is none, or larger than any key."""
    fits = written.isascii() and written.isdigit() and len(written) <= _MAX_DIGITS
    return int(written) if fits else None
