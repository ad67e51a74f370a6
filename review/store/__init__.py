"""Opens, creates or refuses the database that holds the review state."""

from __future__ import annotations

from review.store.errors import refusal_of
from review.store.opening import Use, ensure_store, is_there, recheck_store
