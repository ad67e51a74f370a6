"""Probable renames, as the selector and `review_status` name them."""

from __future__ import annotations

from review.documents.base import Document


class RenameJson(Document, kw_only=True):
    """A note or folder that has another path now, and the command that takes its reviews along.

    `similarity` is the share of the text that stayed, 0..1; 1 for the accepted text byte for byte.
    """

    old_path: str
    new_path: str
    similarity: float
    command: str

    @property
    def line(self) -> str:
        """The rename as a line for people."""
        edited = "" if self.similarity == 1 else f" and edited ({self.similarity:.0%} alike)"
        return f"probably renamed{edited}: {self.command}"
