"""`search/1`: what the search page finds; no command prints it."""

from __future__ import annotations

from review.contracts.base import Document


class FoundNoteJson(Document, kw_only=True):
    """A note that holds the words."""

    note_path: str
    excerpt: str


class FoundFindingJson(Document, kw_only=True):
    """A finding that holds the words."""

    fingerprint: str
    note_path: str
    gate_id: str
    severity: str
    text: str


class FoundReviewJson(Document, kw_only=True):
    """A review that holds the words."""

    review_pair_id: int
    note_path: str
    gate_id: str
    decision: str
    excerpt: str


class SearchJson(Document, kw_only=True):
    """The answer of a search, the best first; `complete` is false while texts are still being read."""

    schema: str = "search/1"
    query: str
    complete: bool
    notes: list[FoundNoteJson]
    findings: list[FoundFindingJson]
    reviews: list[FoundReviewJson]
