"""Encodes documents of long JSON arrays in pieces: whole they are tens of megabytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from review.documents.base import encode
from review.models import batched

_EMPTY = '":[]'


def encode_filled(
    frame: msgspec.Struct, *arrays: Iterable[msgspec.Struct], at_once: int
) -> Iterator[str]:
    """The document in pieces, byte for byte as `encode` would give it whole.

    :param frame: the document, with these arrays empty; they come first of its arrays, in this order.
        What stands behind an array is encoded when the array was read.
    """
    yield encode(frame).split(_EMPTY, len(arrays))[0]
    for number, items in enumerate(arrays, 1):
        yield '":['
        comma = ""
        for some in batched(items, at_once):
            array = msgspec.json.encode(some)[1:-1]
            yield comma + array.decode("utf-8", "surrogatepass")
            comma = ","
        yield f"]{encode(frame).split(_EMPTY, len(arrays))[number]}"
