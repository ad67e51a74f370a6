"""The blocks that were found for one pair, and which of them is its review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from review.protocol.surroundings import Comment


@dataclass
class FoundBlock:
    """A closed block; `example` says which words call it one, empty where none do."""

    text: str
    comment: Comment | None
    example: str

    @property
    def doubt(self) -> str:
        """Why a PASS in it counts for nothing; empty where it counts."""
        return self.example or (self.comment.doubt if self.comment else "")


def choose_block(found: Sequence[FoundBlock]) -> FoundBlock | str:
    """The block that is the pair's review, or why there is none.

    One that is called an example gives way to one that is not. Else two versions are never chosen
    between.
    """
    for block in found:
        if block.comment and block.comment.hides:
            return f"its block stands in an HTML comment (line {block.comment.line})"
    meant = [block for block in found if not block.example] or found
    if len({block.text for block in meant}) > 1:
        return "two different blocks for this pair"
    if not meant[0].text.strip():
        return "its block is empty"
    return next((block for block in meant if not block.doubt), meant[0])
