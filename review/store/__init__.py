"""Opens, creates or refuses the database that holds the review state."""

from __future__ import annotations

from review.store.opening import Use, ensure_store, prepare_migration
from review.store.refusals import refusal_of
from review.store.sqlite_file import look_again

__all__ = ["Use", "ensure_store", "look_again", "prepare_migration", "refusal_of"]
