"""Encodes the items of long JSON arrays in pieces: whole they are tens of megabytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from review.models import batched


def encode_items(items: Iterable[msgspec.Struct], *, at_once: int) -> Iterator[str]:
    """What stands between the brackets of the array, so many items a piece."""
    comma = ""
    for some in batched(items, at_once):
        array = msgspec.json.encode(some)
        yield comma + array[1:-1].decode("utf-8", "surrogatepass")
        comma = ","
