"""`search/1`: what the search page finds; no command prints it."""

from __future__ import annotations

from review.documents.base import Document


class FoundNoteJson(Document, kw_only=True):
    note_path: str
    excerpt: str


class FoundFindingJson(Document, kw_only=True):
    fingerprint: str
    note_path: str
    gate_id: str
    severity: str
    text: str


class FoundReviewJson(Document, kw_only=True):
    review_pair_id: int
    note_path: str
    gate_id: str
    decision: str
    excerpt: str


class JumpJson(Document, kw_only=True):
    """A job, review or finding that the query names; `key` is its number or fingerprint."""

    kind: str
    key: str
    text: str = ""


class SearchJson(Document, kw_only=True):
    """The answer of a search, the best first.

    `complete` is false while texts are still being indexed; `counts` are of all that was found, by
    kind, and `next` is null on the last page.
    """

    schema: str = "search/1"
    query: str
    complete: bool
    counts: dict[str, int]
    next: str | None
    jumps: list[JumpJson]
    notes: list[FoundNoteJson]
    findings: list[FoundFindingJson]
    reviews: list[FoundReviewJson]
