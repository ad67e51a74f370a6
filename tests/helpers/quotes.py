"""The one place of a quote in a note."""

from __future__ import annotations

from review.protocol.quote_location import quote_lines


def locate_quote(note_text: str, quote: str) -> int | None:
    """The line of the note where the quote begins; None unless there is one only."""
    lines = quote_lines(note_text, quote)
    return lines[0] if len(lines) == 1 else None
