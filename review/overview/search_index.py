"""A full-text index in a file beside the store: a cache, which may be deleted at any time.

It is no part of the store: no ingest waits for it, and a store on a database server is searched in
the same way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from review.errors import TryAgain
from review.private_files import FILE_MODE, make_private

_VERSION = "5"
KINDS = ("note", "finding", "review")
_WAIT = 2.0  # seconds for another process that is adding
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_COLUMNS = "name UNINDEXED, digest UNINDEXED, title, body, tokenize='unicode61 remove_diacritics 2'"


class SearchBusy(TryAgain):
    """The search index cannot be used now."""


class Entry(NamedTuple):
    """A text of one of the `KINDS`; `digest` identifies the version that is indexed."""

    kind: str
    name: str
    title: str
    body: str
    digest: str = ""


@contextmanager
def open_index(path: Path, *, store_id: str) -> Iterator[WordIndex]:
    """Open or create the index of a store; that of another store or version is emptied.

    :raises SearchBusy: the file cannot be used; a damaged one is deleted.
    """
    try:
        make_private(path.parent)
        with closing(sqlite3.connect(path, timeout=_WAIT, isolation_level=None)) as connection:
            index = WordIndex(connection)
            index.prepare(crc32(f"{_VERSION} {store_id}".encode()) & 0x7FFF_FFFF)
            # Not by opening it: closing a file releases the locks of all threads on it.
            path.chmod(FILE_MODE)
            yield index
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            path.unlink(missing_ok=True)
        raise SearchBusy(f"the search index cannot be used now ({error})") from error


class WordIndex:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def prepare(self, identity: int) -> None:
        self._connection.execute("PRAGMA synchronous = OFF")
        if self._number("PRAGMA application_id") == identity:
            return
        with self._writing():
            # Another process may have created it while this one waited.
            if self._number("PRAGMA application_id") != identity:
                for kind in KINDS:
                    self._connection.execute(f"DROP TABLE IF EXISTS {kind}_words")
                    self._connection.execute(
                        f"CREATE VIRTUAL TABLE {kind}_words USING fts5 ({_COLUMNS})"
                    )
                self._connection.execute("PRAGMA user_version = 0")
                self._connection.execute(f"PRAGMA application_id = {identity}")

    def last_event(self) -> int:
        """Return the key of the last job event whose reviews are indexed; 0 at the beginning."""
        return self._number("PRAGMA user_version")

    def digests(self, kind: str) -> dict[str, str]:
        """Return the digest of each indexed text of a kind, by name."""
        return dict(self._connection.execute(f"SELECT name, digest FROM {kind}_words"))  # noqa: S608

    def add(self, entries: Iterable[Entry], *, last_event: int | None = None) -> None:
        """Index texts, replacing earlier ones of the same name, all or nothing."""
        with self._writing():
            for entry in entries:
                insert = (
                    f"INSERT OR REPLACE INTO {entry.kind}_words (rowid, name, digest, title, body)"
                )
                row = (_key(entry.name), entry.name, entry.digest, entry.title, entry.body)
                self._connection.execute(f"{insert} VALUES (?, ?, ?, ?, ?)", row)
            if last_event is not None:
                self._connection.execute(f"PRAGMA user_version = {last_event}")

    def forget(self, kind: str, names: Collection[str]) -> None:
        with self._writing():
            self._connection.executemany(
                f"DELETE FROM {kind}_words WHERE rowid = ?",  # noqa: S608
                ((_key(name),) for name in names),
            )

    def find(self, words: Sequence[str], *, kind: str, limit: int, offset: int = 0) -> list[str]:
        """Return names of texts that contain all words, the best first; the last may be a prefix."""
        rows = self._connection.execute(
            f"SELECT name FROM {kind}_words(?)"  # noqa: S608
            f" ORDER BY bm25({kind}_words, 0, 0, 4, 1), name LIMIT ? OFFSET ?",
            (_query(words), limit, offset),
        )
        return [name for (name,) in rows]

    def count(self, words: Sequence[str], *, kind: str) -> int:
        return self._number(f"SELECT COUNT(*) FROM {kind}_words(?)", _query(words))  # noqa: S608

    def _number(self, statement: str, *values: str) -> int:
        return int(self._connection.execute(statement, values).fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield


def _key(name: str) -> int:
    return int.from_bytes(sha256(name.encode("utf-8", "surrogateescape")).digest()[:7])


def _query(words: Sequence[str]) -> str:
    return " AND ".join(f'"{word.replace(chr(34), " ")}"' for word in words) + " *"
