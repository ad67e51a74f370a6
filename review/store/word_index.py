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

from review.store.word_file import WordFile

_VERSION = "3"
KINDS = ("note", "finding", "review")
_WAIT = 2.0  # seconds for another process that is adding
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS items (
        id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, name TEXT NOT NULL, digest TEXT NOT NULL,
        UNIQUE (kind, name));
"""
# One a kind: a word that stands in every review costs nothing where notes are searched.
_WORDS = """
    CREATE VIRTUAL TABLE IF NOT EXISTS {kind}_words
        USING fts5 (title, body, content='', tokenize="unicode61 remove_diacritics 2");
"""
# What was replaced or forgotten has no item any more.
_FIND = """
    SELECT items.name FROM {kind}_words AS words JOIN items ON items.id = words.rowid
    WHERE {kind}_words MATCH ? AND words.rowid >= ? AND items.kind = ?
    ORDER BY bm25({kind}_words, 4.0, 1.0), items.name LIMIT ?
"""
_OLDEST_RANKED = """
    SELECT rowid FROM {kind}_words WHERE {kind}_words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?
"""
_INSERT = "INSERT INTO {kind}_words (rowid, title, body) VALUES (?, ?, ?)"
# Of a word that stands nearly everywhere, so many of the latest texts are ranked.
_RANKED = 20_000


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

    A file that is corrupt, of another version or of another store is made anew. Where none can be
    written, the index lives in memory for this one use.
    """

    def __init__(self, path: Path, *, store_id: str) -> None:
        """Open or make the file at `path`.

        :raises SearchBusy: another process is making it, and takes long.
        """
        words = "".join(_WORDS.format(kind=kind) for kind in KINDS)
        identity = f"{_VERSION} {store_id}"
        self._file = WordFile(path, schema=_SCHEMA + words, identity=identity, wait=_WAIT)
        self._connection = self._file.connection

    def __enter__(self) -> WordIndex:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

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
        """Take out what is there no more.

        :raises SearchBusy: another process holds the file for long.
        """
        with self._writing():
            self._connection.executemany(
                "DELETE FROM items WHERE kind = ? AND name = ?", ((kind, name) for name in names)
            )

    def find(self, words: Sequence[str], *, kind: str, limit: int) -> list[str]:
        """Names of what holds all the words, the best first; the last word may go on.

        Only the latest texts are ranked where very many hold them.
        """
        if not words:
            return []
        *whole, last = (f'"{word.replace(chr(34), " ")}"' for word in words)
        query = " AND ".join((*whole, f"{last} *"))
        oldest = self._fetch(_OLDEST_RANKED.format(kind=kind), (query, _RANKED))
        first = oldest[0][0] if oldest else 0
        rows = self._fetch(_FIND.format(kind=kind), (query, first, kind, limit))
        return [name for (name,) in rows]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
        except sqlite3.DatabaseError as error:
            raise self._file.refusal(error) from error

    def _add(self, entry: Entry) -> None:
        # A row of words cannot be taken out again; an item under a new key leaves it behind.
        self._connection.execute(
            "DELETE FROM items WHERE kind = ? AND name = ?", (entry.kind, entry.name)
        )
        values = (entry.kind, entry.name, entry.digest)
        key = self._connection.execute(
            "INSERT INTO items (kind, name, digest) VALUES (?, ?, ?)", values
        ).lastrowid
        self._connection.execute(_INSERT.format(kind=entry.kind), (key, entry.title, entry.body))

    def _fetch(self, statement: str, values: Sequence[object]) -> list[tuple[str, ...]]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._file.refusal(error) from error
