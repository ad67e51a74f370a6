"""`review-store-copy/1`: what was copied, table by table, with the digest that both sides have."""

from __future__ import annotations

from review.documents.base import Document


class TableCopiedJson(Document, kw_only=True):
    """One table; `sha256` is of its rows in the order of their keys, whatever the database."""

    table: str
    rows: int
    sha256: str
    added: int = 0
    changed: int = 0
    removed: int = 0


class StoreCopyJson(Document, kw_only=True):
    """The answer of `review_store_copy`; `target_was` is `missing`, `empty` or `whole`."""

    schema: str = "review-store-copy/1"
    source: str
    target: str
    store_id: str
    target_was: str
    dry_run: bool
    verified: bool
    tables: list[TableCopiedJson]
