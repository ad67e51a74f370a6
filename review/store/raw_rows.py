"""Rows of any table, read and written past the ORM in the two databases, as the same plain values.

A row is a tuple of integers, texts, bytes and None in the order of the table's columns, the key
first. A moment is a text in UTC with six digits of a second; JSON is its text. So rows of two
databases can be compared, and moved, as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from django.db import connections

from review.store.elsewhere import telling

Row = tuple[Any, ...]
BEFORE_ALL = -(1 << 63)


class Kind(Enum):
    """What a column holds."""

    INTEGER = "int8"
    TEXT = "text"
    BYTES = "bytea"
    MOMENT = "moment"
    JSON = "json"


@dataclass(frozen=True)
class Column:
    """A column; `limit` is the most characters, or the largest number, that it is made for."""

    name: str
    kind: Kind
    limit: int | None = None


@dataclass(frozen=True)
class Table:
    """A table whose first column is its key, an integer.

    :param grows_only: a row is never changed and never removed.
    :param derived: its rows can be made again from others', and may come and go.
    :param counts: the database counts its keys up.
    """

    name: str
    columns: tuple[Column, ...]
    grows_only: bool
    derived: bool
    counts: bool

    @property
    def key(self) -> str:
        """The name of the key."""
        return self.columns[0].name

    def places_of(self, kind: Kind) -> tuple[int, ...]:
        """Where in a row the columns of a kind stand."""
        return tuple(at for at, column in enumerate(self.columns) if column.kind is kind)


class Rows(Protocol):
    """The rows of one store."""

    using: str

    def hold_still(self) -> None:
        """See from now on what is committed now, and nothing later."""

    def read(
        self, table: Table, *, after: int = BEFORE_ALL, upto: int | None = None
    ) -> Iterator[Row]:
        """Rows in the order of their keys, `after` left out; few are held at a time."""

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows; call it in a transaction."""

    def last_issued(self, table: Table) -> int:
        """The highest key that the database ever counted out, as far as it knows."""

    def count_on_from(self, table: Table, last: int) -> None:
        """Let the database count out keys above `last`, and above those that are there."""


def rows_of(using: str) -> Rows:
    """The rows of the store under this alias."""
    is_sqlite = connections[using].vendor == "sqlite"
    return SqliteRows(using) if is_sqlite else PostgresRows(using)


def last_key(using: str, table: Table) -> int:
    """The highest key there is; BEFORE_ALL where there is no row."""
    with telling(using), connections[using].cursor() as cursor:
        cursor.execute(f'SELECT MAX("{table.key}") FROM "{table.name}"')  # noqa: S608
        found = cursor.fetchone()[0]
    return BEFORE_ALL if found is None else int(found)


def delete(using: str, table: Table, keys: Iterable[int]) -> None:
    """Remove rows; call it in a transaction."""
    statement = f'DELETE FROM "{table.name}" WHERE "{table.key}" = %s'  # noqa: S608
    with telling(using), connections[using].cursor() as cursor:
        cursor.executemany(statement, [(key,) for key in keys])


class SqliteRows:
    """Rows in an SQLite file."""

    def __init__(self, using: str) -> None:
        self.using = using

    def hold_still(self) -> None:
        """See `Rows`. A read transaction; in a log of their own, writers go on."""
        with telling(self.using), connections[self.using].cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            cursor.execute("SELECT 1 FROM review_store")

    def read(
        self, table: Table, *, after: int = BEFORE_ALL, upto: int | None = None
    ) -> Iterator[Row]:
        """See `Rows`."""
        statement = _select(table, _SQLITE_READS, after=after, upto=upto)
        with telling(self.using), closing(_driver(self.using).execute(statement)) as cursor:
            yield from cursor

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """See `Rows`."""
        values = ", ".join(_SQLITE_WRITES.get(column.kind, "?") for column in table.columns)
        statement = f'INSERT INTO "{table.name}" ({_names(table)}) VALUES ({values})'  # noqa: S608
        with telling(self.using):
            _driver(self.using).executemany(statement, rows)

    def last_issued(self, table: Table) -> int:
        """See `Rows`."""
        statement = "SELECT MAX(seq) FROM sqlite_sequence WHERE name = %s"
        with telling(self.using), connections[self.using].cursor() as cursor:
            cursor.execute(statement, [table.name])
            return int(cursor.fetchone()[0] or 0)

    def count_on_from(self, table: Table, last: int) -> None:
        """See `Rows`. What is there was counted when it was inserted."""
        last = max(last, self.last_issued(table))
        with telling(self.using), connections[self.using].cursor() as cursor:
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table.name])
            cursor.execute("INSERT INTO sqlite_sequence VALUES (%s, %s)", [table.name, last])


class PostgresRows:
    """Rows in a PostgreSQL database, by COPY both ways."""

    def __init__(self, using: str) -> None:
        self.using = using

    def hold_still(self) -> None:
        """See `Rows`."""
        with telling(self.using), connections[self.using].cursor() as cursor:
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute("SELECT 1 FROM review_store")

    def read(
        self, table: Table, *, after: int = BEFORE_ALL, upto: int | None = None
    ) -> Iterator[Row]:
        """See `Rows`."""
        select = _select(table, _POSTGRES_READS, after=after, upto=upto)
        statement = f"COPY ({select}) TO STDOUT (FORMAT BINARY)"
        with (
            telling(self.using),
            _driver(self.using).cursor() as cursor,
            cursor.copy(statement.encode()) as copy,
        ):
            copy.set_types([_POSTGRES_TYPES.get(c.kind, c.kind.value) for c in table.columns])
            yield from copy.rows()

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """See `Rows`."""
        statement = f'COPY "{table.name}" ({_names(table)}) FROM STDIN'
        with (
            telling(self.using),
            _driver(self.using).cursor() as cursor,
            cursor.copy(statement.encode()) as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def last_issued(self, table: Table) -> int:
        """See `Rows`."""
        # Of a sequence itself, who may only count up cannot read.
        statement = "SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, %s)::regclass)"
        with telling(self.using), connections[self.using].cursor() as cursor:
            cursor.execute(statement, [table.name, table.key])
            return int(cursor.fetchone()[0] or 0)

    def count_on_from(self, table: Table, last: int) -> None:
        """See `Rows`."""
        last = max(last, last_key(self.using, table))
        if last > 0:
            statement = "SELECT setval(pg_get_serial_sequence(%s, %s), %s)"
            with telling(self.using), connections[self.using].cursor() as cursor:
                cursor.execute(statement, [table.name, table.key, last])


# A column as it is read into plain values. Without a cast, Django's converters would read moments.
_SQLITE_READS = {
    Kind.MOMENT: "CAST({0} || CASE LENGTH({0}) WHEN 19 THEN '.000000' ELSE '' END AS TEXT)",
}
_POSTGRES_READS = {
    Kind.INTEGER: "{0}::int8",
    Kind.TEXT: "{0}::text",
    Kind.BYTES: "{0}",
    Kind.MOMENT: "to_char({0} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')",
    Kind.JSON: "{0}::text",
}
_POSTGRES_TYPES = {Kind.MOMENT: "text", Kind.JSON: "text"}
# As Django writes them: without the digits of a whole second.
_SQLITE_WRITES = {Kind.MOMENT: "REPLACE(?, '.000000', '')"}


def _driver(using: str) -> Any:
    """The driver's own connection."""
    connections[using].ensure_connection()
    return connections[using].connection


def _names(table: Table) -> str:
    return ", ".join(f'"{column.name}"' for column in table.columns)


def _select(table: Table, reads: dict[Kind, str], *, after: int, upto: int | None) -> str:
    columns = ", ".join(
        reads.get(column.kind, "{0}").format(f'"{column.name}"') for column in table.columns
    )
    until = "" if upto is None else f' AND "{table.key}" <= {upto:d}'
    return (
        f'SELECT {columns} FROM "{table.name}"'  # noqa: S608 - names of our own tables, and numbers
        f' WHERE "{table.key}" > {after:d}{until} ORDER BY "{table.key}"'
    )
