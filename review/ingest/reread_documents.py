"""`reread-reviews/1`: stored reviews whose decision was read again."""

from __future__ import annotations

from review.documents.base import Document


class RereadJson(Document):
    """A review that has a decision now; `accepted` is null in a dry run."""

    review_pair_id: int
    note_path: str
    gate_path: str
    gate_id: str
    model_partition: str
    decision: str
    accepted: bool | None
    not_accepted_because: str | None


class RereadReviewsJson(Document, kw_only=True):
    """The answer of `reread_reviews`."""

    schema: str = "reread-reviews/1"
    dry_run: bool
    decided: list[RereadJson]
    still_unknown: int
