"""A full-text index in a file beside the store: a cache, which may be deleted at any time.

It is no part of the store, so an ingest never waits for it, and it serves a store on a database
server as well. The texts themselves stay where they are: the index holds words and names alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from review.errors import TryAgain

_VERSION = "1"
_WAIT = 2.0  # seconds for another process that is adding
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS items (
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
        UNIQUE (kind, name));
    CREATE VIRTUAL TABLE IF NOT EXISTS words
        USING fts5 (title, body, content='', tokenize="unicode61 remove_diacritics 2");
"""


class SearchBusy(TryAgain):
    """The index of words cannot be read now."""

    code = "search-busy"


@dataclass(frozen=True, slots=True)
class Entry:
    """A text to be found; `digest` tells whether it is the one that is indexed already."""

    kind: str
    name: str
    title: str
    body: str
    digest: str = ""


class WordIndex:
    """The index of one store; use it as a context manager.

    A file that is corrupt, of another version or of another store is made anew. Where none can be
    written, the index lives in memory for this one use.
    """

    def __init__(self, path: Path, *, store_id: str) -> None:
        """Open or make the file at `path`."""
        self._path = path
        self._identity = f"{_VERSION} {store_id}"
        self._connection = self._open()

    def __enter__(self) -> WordIndex:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

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
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                for entry in entries:
                    self._add(entry)
                for name, value in (marks or {}).items():
                    self._connection.execute(
                        "INSERT OR REPLACE INTO marks VALUES (?, ?)", (name, str(value))
                    )
        except sqlite3.OperationalError as error:
            raise SearchBusy(f"the index of words is busy ({error})") from error

    def forget(self, kind: str, names: Collection[str]) -> None:
        """Take out what is there no more."""
        with self._connection:
            self._connection.executemany(
                "DELETE FROM items WHERE kind = ? AND name = ?", ((kind, name) for name in names)
            )

    def find(self, words: Sequence[str], *, kind: str, limit: int) -> list[str]:
        """Names of what holds all the words, the best first; the last word may go on."""
        if not words:
            return []
        *whole, last = (f'"{word.replace(chr(34), " ")}"' for word in words)
        rows = self._fetch(
            # What was replaced or forgotten has no item any more.
            "SELECT items.name FROM words JOIN items ON items.id = words.rowid"
            " WHERE words MATCH ? AND items.kind = ?"
            " ORDER BY bm25(words, 4.0, 1.0), items.name LIMIT ?",
            (" AND ".join((*whole, f"{last} *")), kind, limit),
        )
        return [name for (name,) in rows]

    def _add(self, entry: Entry) -> None:
        # A row of words cannot be taken out again; an item under a new key leaves it behind.
        self._connection.execute(
            "DELETE FROM items WHERE kind = ? AND name = ?", (entry.kind, entry.name)
        )
        key = self._connection.execute(
            "INSERT INTO words (title, body) VALUES (?, ?)", (entry.title, entry.body)
        ).lastrowid
        self._connection.execute(
            "INSERT INTO items VALUES (?, ?, ?, ?)", (key, entry.kind, entry.name, entry.digest)
        )

    def _fetch(self, statement: str, values: Sequence[object]) -> list[tuple[str, ...]]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise SearchBusy(f"the index of words cannot be read ({error})") from error

    def _open(self) -> sqlite3.Connection:
        for attempt in range(2):
            try:
                return self._connect(str(self._path))
            except (sqlite3.DatabaseError, _OfAnother):
                if attempt:
                    break
                with suppress(OSError):
                    self._path.unlink()
            except OSError:
                break
        return self._connect(":memory:")

    def _connect(self, name: str) -> sqlite3.Connection:
        if name != ":memory:":
            self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(name, timeout=_WAIT, isolation_level=None)
        try:
            connection.executescript(
                f"PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;{_SCHEMA}"
            )
            self._check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        with closing(connection.execute("SELECT value FROM marks WHERE name = 'identity'")) as rows:
            row = rows.fetchone()
        if row is None:
            connection.execute(
                "INSERT OR IGNORE INTO marks VALUES ('identity', ?)", (self._identity,)
            )
        elif row[0] != self._identity:
            raise _OfAnother


class _OfAnother(Exception):
    """The file was made by another version, or for another store."""
