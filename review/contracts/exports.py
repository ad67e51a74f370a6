"""`export-reviews/1`: what an export wrote."""

from __future__ import annotations

from review.contracts.base import Document


class ExportedJson(Document, kw_only=True):
    """The answer of `export_reviews`; `left` are files of an earlier export, of no acceptance now."""

    schema: str = "export-reviews/1"
    format: str
    output: str
    reviews: int
    written: int
    unchanged: int
    left: list[str]
