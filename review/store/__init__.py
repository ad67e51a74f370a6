"""Opens, creates or refuses the database that holds the review state."""

from __future__ import annotations

from review.store.opening import Use, ensure_store, prepare_migration
from review.store.refusals import refusal_of
from review.store.sqlite_file import has_content as is_there
from review.store.sqlite_file import look_again
from review.store.succession import companions_of

__all__ = [
    "Use",
    "companions_of",
    "ensure_store",
    "is_there",
    "look_again",
    "prepare_migration",
    "refusal_of",
]
