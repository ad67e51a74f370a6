"""The mark on a store that is being filled with another's rows: nobody else uses it until it is whole.

It stands among the store's migrations, which every command reads at its start anyway; a version of
the program that does not know it takes the store for a newer one, and refuses it too.
"""

from __future__ import annotations

from collections.abc import Iterable

from review.errors import StoreRefused
from review.store.refusals import store_name

MARK_PREFIX = "filled_from_"


class StoreUnfinished(StoreRefused):
    """The store holds a part of another's rows: a copy has not finished."""


def mark_of(store_id: str) -> str:
    """The mark of a store that is filled from the one of this id."""
    return f"{MARK_PREFIX}{store_id}"


def filled_from(applied: Iterable[str]) -> str:
    """The id of the store whose rows are being copied in, by the names of migrations; "" if none."""
    marks = (name for name in applied if name.startswith(MARK_PREFIX))
    return next(marks, "").removeprefix(MARK_PREFIX)


def refuse_unfinished(applied: Iterable[str], *, using: str) -> None:
    """Refuse a store that is being filled.

    :raises StoreUnfinished: it is.
    """
    if filled_from(applied):
        raise StoreUnfinished(
            f"{store_name(using)} is being filled with the rows of another store",
            hint="wait for review_store_copy to finish, or run it again: it goes on where it was",
        )
