"""Parts of sorted listings; a cursor names the last item of a part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
Key = tuple[str | int, ...]
Counts = dict[str, dict[str, int]]
_BETWEEN = "::"


def cursor_of(key: Key) -> str:
    return _BETWEEN.join(map(str, key))


def key_of(cursor: str) -> Key:
    return tuple(int(part) if part.isdecimal() else part for part in cursor.split(_BETWEEN))


class Listed(Generic[T]):
    """A part of a listing, read once; `next` is the cursor of the part behind it, None at the end.

    :param key: what the listing is sorted by.
    :param after: the cursor that an earlier part gave; an item that is gone meanwhile does no harm.
    """

    def __init__(
        self,
        items: Iterable[T],
        *,
        key: Callable[[T], Key],
        after: str | None = None,
        limit: int | None = None,
    ) -> None:
        self._items, self._key = items, key
        self._start = key_of(after) if after else ()
        self._limit = limit
        self.next: str | None = None

    def __iter__(self) -> Iterator[T]:
        given, last = 0, ""
        for item in self._items:
            key = self._key(item)
            if _is_before(key, self._start):
                continue
            if given == self._limit:
                self.next = last
                return
            yield item
            given, last = given + 1, cursor_of(key)


def _is_before(key: Key, start: Key) -> bool:
    """Compare in the order of the listing; nothing follows the cursor of another listing."""
    try:
        return key <= start
    except TypeError:
        return True


def count_by(items: Iterable[T], **words: Callable[[T], str]) -> Counts:
    """Count the items by each word, most frequent first."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in words}
    for item in items:
        for name, word in words.items():
            counts[name][word(item)] += 1
    return {name: dict(found.most_common()) for name, found in counts.items()}
