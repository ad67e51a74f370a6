"""Opens, creates or refuses the database that holds the review state."""

from __future__ import annotations

from review.store.errors import refusal_of
from review.store.opening import Use, ensure_store, is_there, prepare_migration
from review.store.sqlite.file import companions_of, recheck_store
from review.store.sqlite.file import has_content as exists

__all__ = [
    "Use",
    "companions_of",
    "ensure_store",
    "exists",
    "is_there",
    "prepare_migration",
    "recheck_store",
    "refusal_of",
]
