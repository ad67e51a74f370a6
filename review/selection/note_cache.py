"""A pair with its texts as they are now."""

from __future__ import annotations

from dataclasses import dataclass

from review.knowledge_base import Gate, NoteText


@dataclass(frozen=True, slots=True)
class DraftPair:
    """A pair that is about to be written, with both texts."""

    note: NoteText
    gate: Gate
