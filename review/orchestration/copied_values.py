"""Rows as they are compared, whatever database they come from, and what a database cannot hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any

from review.protocol.telemetry import storable_json
from review.store.raw_rows import BEFORE_ALL, Column, Kind, Row, Table

_ROWS_AT_ONCE = 2_000
_CHARACTERS_AT_ONCE = 4_000_000
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")
_MAX_INTEGER = 2**63 - 1


@dataclass(frozen=True)
class Stretch:
    """Rows of a table that lie together.

    :param after: the key before the first, of the stretch before.
    """

    after: int
    rows: Sequence[Row]

    @property
    def upto(self) -> int:
        """The key of the last row."""
        return int(self.rows[-1][0])


def stretches(table: Table, rows: Iterator[Row]) -> Iterator[Stretch]:
    """`rows` in pieces of bounded size."""
    texts = [
        at
        for at, column in enumerate(table.columns)
        if column.kind in (Kind.TEXT, Kind.BYTES, Kind.JSON) and column.limit is None
    ]
    after, held, size = BEFORE_ALL, [], 0
    for row in rows:
        held.append(row)
        for at in texts:
            size += len(row[at] or "")
        if len(held) >= _ROWS_AT_ONCE or size >= _CHARACTERS_AT_ONCE:
            stretch = Stretch(after, held)
            yield stretch
            after, held, size = stretch.upto, [], 0
    if held:
        yield Stretch(after, held)


def canonical(table: Table, rows: Sequence[Row]) -> Sequence[Row]:
    """`rows` so that equal values are equal: a JSON text says its value in one way."""
    places = table.places_of(Kind.JSON)
    return [_with(row, places, _canonical_json) for row in rows] if places else rows


class Digest:
    """The SHA-256 of rows in the order of their keys, the same wherever they lie."""

    def __init__(self) -> None:
        import msgspec

        self._encode = msgspec.msgpack.Encoder().encode
        self._hash = sha256()
        self.rows = 0

    def add(self, rows: Sequence[Row]) -> bytes:
        """Take in canonical rows; give the digest of these alone."""
        encoded = b"".join(map(self._encode, rows))
        self._hash.update(encoded)
        self.rows += len(rows)
        return sha256(encoded).digest()

    def text(self) -> str:
        """The digest of what was taken in so far."""
        return self._hash.hexdigest()


def for_postgresql(table: Table, rows: Iterator[Row]) -> Iterator[Row]:
    """`rows` with what PostgreSQL's JSON cannot hold replaced by U+FFFD, as an ingest does it."""
    places = table.places_of(Kind.JSON)
    return (_with(row, places, storable_json) for row in rows) if places else rows


def what_is_wrong(table: Table, row: Row) -> str:
    """Why a database refuses the row for its values; "" if nothing is seen in it."""
    for column, value in zip(table.columns, row, strict=True):
        why = "" if value is None else _FAULTS[column.kind](column, value)
        if why:
            return f"{column.name} {why}"
    return ""


def _with(row: Row, places: Sequence[int], change: Callable[[str], str]) -> Row:
    if all(row[at] is None for at in places):
        return row
    return tuple(
        change(value) if at in places and value is not None else value
        for at, value in enumerate(row)
    )


def _canonical_json(text: str) -> str:
    value = json.loads(text, parse_float=_number, parse_int=_number)
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _number(text: str) -> str:
    """A number so that 1.50, 15e-1 and 1.5 are one; marked, so that it is no text of the document."""
    sign, digits, exponent = Decimal(text).as_tuple()
    significant = "".join(map(str, digits)).lstrip("0")
    shorter = significant.rstrip("0")
    if not shorter:
        return "\x00number:0"
    power = int(exponent) + len(significant) - len(shorter)
    return f"\x00number:{'-' if sign else ''}{shorter}e{power}"


def _bad_text(column: Column, value: Any) -> str:
    if not isinstance(value, str):
        return f"holds a {type(value).__name__}, not a text"
    if "\0" in value:
        return "holds a NUL character"
    if column.limit is not None and len(value) > column.limit:
        return f"has {len(value)} characters, and {column.limit} are allowed"
    return ""


def _bad_integer(column: Column, value: Any) -> str:
    if not isinstance(value, int):
        return f"holds a {type(value).__name__}, not an integer"
    largest = column.limit or _MAX_INTEGER
    return f"is {value}, and {largest} is the most" if value > largest else ""


def _bad_moment(_column: Column, value: Any) -> str:
    return "" if isinstance(value, str) and _MOMENT.fullmatch(value) else "holds no moment"


def _bad_json(_column: Column, value: Any) -> str:
    try:
        json.loads(value)
    except (TypeError, ValueError):
        return "holds no JSON"
    return ""


def _bad_bytes(_column: Column, value: Any) -> str:
    return "" if isinstance(value, bytes) else f"holds a {type(value).__name__}, not bytes"


_FAULTS: dict[Kind, Callable[[Column, Any], str]] = {
    Kind.TEXT: _bad_text,
    Kind.INTEGER: _bad_integer,
    Kind.MOMENT: _bad_moment,
    Kind.JSON: _bad_json,
    Kind.BYTES: _bad_bytes,
}
