"""Hashes every kept text again, a few at a time, whatever their number and size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import connections

from review.domain.identity import sha256_hex

_KEYS_AT_ONCE = 2000
_TEXTS_AT_ONCE = 200
_BYTES_AT_ONCE = 8_000_000
# As bytes, so that what is no UTF-8 any more is a wrong digest and not a failure to read.
_AS_BYTES = {"sqlite": "CAST(text AS BLOB)", "postgresql": "convert_to(text, 'UTF8')"}


def altered_snapshots(using: str) -> Iterator[str]:
    """The snapshots whose text has another digest or size than is kept with it."""
    as_bytes = _AS_BYTES[connections[using].vendor]
    columns = f"id, content_sha256, byte_size, {as_bytes}"
    for keys in _portions(using, "review_file_snapshots", "byte_size"):
        for key, sha256, size, text in _rows(using, "review_file_snapshots", columns, keys):
            data = bytes(text)
            if sha256_hex(data) != sha256 or len(data) != size:
                yield f"snapshot {key} is not the text it was taken of ({sha256})"


def altered_outputs(using: str) -> Iterator[str]:
    """The raw outputs whose bytes have another digest than is kept with them."""
    for keys in _portions(using, "review_job_outputs", "LENGTH(raw)"):
        for key, sha256, raw in _rows(using, "review_job_outputs", "id, content_sha256, raw", keys):
            if sha256_hex(bytes(raw)) != sha256:
                yield f"output {key} has not the digest {sha256}"


def _portions(using: str, table: str, size: str) -> Iterator[list[int]]:
    """Keys in rising order, as many at once as can be held in memory."""
    portion: list[int] = []
    held = 0
    for key, length in _keys(using, table, size):
        if portion and (len(portion) >= _TEXTS_AT_ONCE or held + length > _BYTES_AT_ONCE):
            yield portion
            portion, held = [], 0
        portion.append(key)
        held += length
    if portion:
        yield portion


def _keys(using: str, table: str, size: str) -> Iterator[tuple[int, int]]:
    """Keys and sizes. By key and not by a cursor, which a server would fill a file for."""
    statement = f"SELECT id, {size} FROM {table} WHERE id > %s ORDER BY id LIMIT {_KEYS_AT_ONCE}"  # noqa: S608
    last = 0
    while rows := _fetch(using, statement, [last]):
        yield from ((key, length) for key, length in rows)
        last = rows[-1][0]


def _rows(using: str, table: str, columns: str, keys: list[int]) -> list[tuple[Any, ...]]:
    places = ", ".join(["%s"] * len(keys))
    return _fetch(
        using,
        f"SELECT {columns} FROM {table} WHERE id IN ({places}) ORDER BY id",  # noqa: S608
        keys,
    )


def _fetch(using: str, statement: str, values: list[int]) -> list[tuple[Any, ...]]:
    with connections[using].cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
