"""Opens, creates or refuses the database that holds the review state."""

from __future__ import annotations

from enum import Enum

from django.db import DatabaseError

from review.errors import ReviewError, TryAgain


class Use(Enum):
    """What a command needs of the store."""

    NONE = "none"
    READ = "read"
    WRITE = "write"


def ensure_store(*, write: bool) -> None:
    """Make sure that the store can be used."""


def refusal_of(error: DatabaseError) -> ReviewError | None:
    """The refusal that tells an operator about `error`, or None for a fault of ours."""
    if "locked" in str(error):
        return TryAgain("the database is busy", hint="run the same command again")
    return None


def prepare_migration() -> None:
    """Make the store where it is missing, and refuse to migrate what is not ours."""
