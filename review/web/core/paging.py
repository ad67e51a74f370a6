"""Keyset paging: a page of a list starts after a key, so that deep pages cost what the first does."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from review.errors import UsageRefused
from review.web.core.filters import AFTER, Filters

T = TypeVar("T")
Key = tuple[str | int, ...]
_MAX_INT = (1 << 63) - 1


class BadPlace(UsageRefused):
    """The address names no place in the list."""

    code = "bad-place"


@dataclass(frozen=True)
class Paged(Generic[T]):
    """One page of a list; the URLs are empty where there is nothing to go to."""

    items: tuple[T, ...]
    next_url: str
    first_url: str


def read_place(filters: Filters, *kinds: type[str] | type[int]) -> Key | None:
    """The key after which the page starts, or None at the start.

    :param kinds: the type of each part of the key.
    :raises BadPlace: the address holds something else.
    """
    if not filters.after:
        return None
    try:
        parts = json.loads(filters.after)
    except (ValueError, RecursionError):
        parts = None
    fits = isinstance(parts, list) and [type(part) for part in parts] == list(kinds)
    if not fits or not all(_is_plain(part) for part in parts):
        raise BadPlace(f"{AFTER!r} holds no place in this list", hint="start at the first page")
    return tuple(parts)


def _is_plain(part: str | int) -> bool:
    if isinstance(part, int):
        return abs(part) <= _MAX_INT
    return "\0" not in part and part.isprintable()


def write_place(key: Key) -> str:
    return json.dumps(list(key), ensure_ascii=False, separators=(",", ":"))


def document_url(next_url: str) -> str | None:
    """The next page as a document, for the document of this one; None on the last page."""
    return f"{next_url}&format=json" if next_url else None


def paged(rows: Sequence[T], *, size: int, key: Callable[[T], Key], filters: Filters) -> Paged[T]:
    """Cut a page from rows that start after the place and hold one more than `size`, if there is."""
    items = tuple(rows[:size])
    has_more = len(rows) > size
    return Paged(
        items=items,
        next_url=filters.url(**{AFTER: write_place(key(items[-1]))}) if has_more else "",
        first_url=filters.url() if filters.after else "",
    )
