"""A full-text index in a file beside the store: a cache, which may be deleted at any time.

It is no part of the store, so an ingest never waits for it, and it serves a store on a database
server as well. The texts themselves stay where they are: the index holds words and names alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from review.errors import TryAgain
from review.private_files import FILE_MODE, make_private

_VERSION = "4"
KINDS = ("note", "finding", "review")
_WAIT = 2.0  # seconds for another process that is adding
# Of a word that stands nearly everywhere, so many of the latest texts are ranked and counted.
MAX_RANKED = 20_000
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_UNWRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_IDENTITY = "SELECT value FROM marks WHERE name = 'identity'"
_SCHEMA = (
    *(
        f"DROP TABLE IF EXISTS {name}"
        for name in ("marks", "items", *(f"{k}_words" for k in KINDS))
    ),
    "CREATE TABLE marks (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE items (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,"
    " name TEXT NOT NULL, digest TEXT NOT NULL, UNIQUE (kind, name))",
    # One a kind: a word that stands in every review costs nothing where notes are searched.
    *(
        f"CREATE VIRTUAL TABLE {kind}_words USING fts5"
        " (title, body, content='', tokenize=\"unicode61 remove_diacritics 2\")"
        for kind in KINDS
    ),
)
# A text that was replaced or removed has no item any more. A cross join keeps the order: words first.
_MATCHES = """
    FROM {kind}_words AS words CROSS JOIN items
    WHERE items.id = words.rowid AND {kind}_words MATCH ? AND words.rowid >= ? AND items.kind = ?
"""
_FIND = f"SELECT items.name {_MATCHES} ORDER BY bm25({{kind}}_words, 4.0, 1.0), items.name LIMIT ? OFFSET ?"
_OLDEST_RANKED = """
    SELECT rowid FROM {kind}_words WHERE {kind}_words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?
"""


class SearchBusy(TryAgain):
    """The search index cannot be used now."""

    code = "search-busy"


@dataclass(frozen=True, slots=True)
class Entry:
    """A text to be found, of one of the `KINDS`; `digest` tells whether it is indexed already."""

    kind: str
    name: str
    title: str
    body: str
    digest: str = ""


class WordIndex:
    """The index of one store; use it as a context manager.

    A file of another version or another store is emptied, and a damaged one is deleted. Where none
    can be written, the index lives in memory for this one use.
    """

    def __init__(self, path: Path, *, store_id: str) -> None:
        """Open or make the file at `path`.

        :raises SearchBusy: another process is making it, and takes long.
        """
        self._path, self._identity = path, f"{_VERSION} {store_id}"
        try:
            make_private(path.parent)
            self._open(str(path))
        except OSError:
            self._open(":memory:")
        except SearchBusy as error:
            code = _code(error.__cause__)
            if code not in (*_DAMAGED, *_UNWRITABLE):
                raise
            self._open(str(path) if code in _DAMAGED else ":memory:")

    def __enter__(self) -> WordIndex:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def _open(self, name: str) -> None:
        self._connection = sqlite3.connect(name, timeout=_WAIT, isolation_level=None)
        with self._refusing():
            self._connection.execute("PRAGMA synchronous = OFF")
            if self._has_identity():
                return
            # Not by opening it: to close a file releases the locks of all threads on it.
            if name == str(self._path):
                self._path.chmod(FILE_MODE)
        with self._writing():
            # Another process may have made it while this one waited.
            if not self._has_identity():
                for statement in _SCHEMA:
                    self._connection.execute(statement)
                self._connection.execute(
                    "INSERT INTO marks VALUES ('identity', ?)", (self._identity,)
                )

    def _has_identity(self) -> bool:
        tables = self._connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'marks'")
        if tables.fetchone() is None:
            return False
        return bool(self._connection.execute(_IDENTITY).fetchone() == (self._identity,))

    def mark(self, name: str) -> int:
        """How far something was read; 0 at the beginning."""
        row = self._fetch("SELECT value FROM marks WHERE name = ?", (name,))
        return int(row[0][0]) if row else 0

    def digests(self, kind: str) -> dict[str, str]:
        """Name to digest of all that is indexed of a kind."""
        rows = self._fetch("SELECT name, digest FROM items WHERE kind = ?", (kind,))
        return {name: digest for name, digest in rows}  # noqa: C416 - rows of any length, to mypy

    def add(self, entries: Iterable[Entry], *, marks: Mapping[str, int] | None = None) -> None:
        """Index texts, in place of earlier ones of their names, and set marks: all or nothing.

        :raises SearchBusy: another process holds the file for long.
        """
        with self._writing():
            for entry in entries:
                self._add(entry)
            for name, value in (marks or {}).items():
                self._connection.execute(
                    "INSERT OR REPLACE INTO marks VALUES (?, ?)", (name, str(value))
                )

    def forget(self, kind: str, names: Collection[str]) -> None:
        """Remove texts.

        :raises SearchBusy: another process holds the file for long.
        """
        with self._writing():
            self._connection.executemany(
                "DELETE FROM items WHERE kind = ? AND name = ?", ((kind, name) for name in names)
            )

    def find(self, words: Sequence[str], *, kind: str, limit: int, offset: int = 0) -> list[str]:
        """Names of what holds all the words, the best first; the last word may be a beginning."""
        if not words:
            return []
        rows = self._fetch(_FIND.format(kind=kind), (*self._condition(words, kind), limit, offset))
        return [name for (name,) in rows]

    def count(self, words: Sequence[str], *, kind: str) -> int:
        """How many texts hold all the words, up to `MAX_RANKED`."""
        statement = f"SELECT COUNT(*) {_MATCHES}".format(kind=kind)
        return int(self._fetch(statement, self._condition(words, kind))[0][0]) if words else 0

    def _condition(self, words: Sequence[str], kind: str) -> tuple[str, int | str, str]:
        *whole, last = (f'"{word.replace(chr(34), " ")}"' for word in words)
        query = " AND ".join((*whole, f"{last} *"))
        oldest = self._fetch(_OLDEST_RANKED.format(kind=kind), (query, MAX_RANKED - 1))
        return query, oldest[0][0] if oldest else 0, kind

    def _add(self, entry: Entry) -> None:
        # A row of words cannot be removed; an item under a new key leaves it behind.
        self._connection.execute(
            "DELETE FROM items WHERE kind = ? AND name = ?", (entry.kind, entry.name)
        )
        values = (entry.kind, entry.name, entry.digest)
        key = self._connection.execute(
            "INSERT INTO items (kind, name, digest) VALUES (?, ?, ?)", values
        ).lastrowid
        insert = f"INSERT INTO {entry.kind}_words (rowid, title, body) VALUES (?, ?, ?)"  # noqa: S608
        self._connection.execute(insert, (key, entry.title, entry.body))

    def _fetch(self, statement: str, values: Sequence[object]) -> list[tuple[str, ...]]:
        with self._refusing():
            return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._refusing(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if _code(error) not in _DAMAGED:
                raise SearchBusy(f"the search index is busy ({error})") from error
            self._connection.close()
            for ending in ("-journal", ""):
                Path(f"{self._path}{ending}").unlink(missing_ok=True)
            raise SearchBusy(f"the search index was damaged and is rebuilt ({error})") from error


def _code(error: BaseException | None) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
