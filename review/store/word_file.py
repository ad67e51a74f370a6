"""The file that an index of words lives in: shared while it is used, made anew by one alone."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from review.errors import TryAgain
from review.folders import FILE_MODE, make_private

_ATTEMPTS = 5
_POLL = 0.01  # seconds between two looks at a lock
_IDENTITY = "SELECT value FROM marks WHERE name = 'identity'"
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_RUINED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SearchBusy(TryAgain):
    """The index of words cannot be read now."""

    code = "search-busy"


class WordFile:
    """A connection to the file, under a lock that all users share.

    The file is removed only by who holds that lock alone. A log that is mapped by one thread and
    cut by another ends the whole process, and what was added to a removed file is lost.
    """

    def __init__(self, path: Path, *, schema: str, identity: str, wait: float) -> None:
        """Open the file at `path`; make it anew where it is missing, ruined or of another identity.

        :param schema: makes the tables, a table of marks (name, value) among them.
        :param wait: seconds to wait for others.
        :raises SearchBusy: others held it for longer.
        """
        self._path, self._schema, self._identity, self._wait = path, schema, identity, wait
        self._lock: _Lock | None = None
        try:
            make_private(path.parent)
            self._lock = _Lock(path.with_name(f"{path.name}.lock"))
            self.connection = self._open(self._lock)
        except (OSError, sqlite3.Error):
            # There is no place for a file: the index lives for this one use.
            self._release()
            self.connection = self._connect(":memory:")
            self._fill(self.connection)
        except BaseException:
            self._release()
            raise

    def close(self) -> None:
        """Close the file; the last one to do so folds its log."""
        self.connection.close()
        self._release()

    def refusal(self, error: sqlite3.Error) -> SearchBusy:
        """What an error in use means; a file that is ruined is removed, unless others use it."""
        if _kind(error) in _RUINED:
            self.connection.close()
            if self._lock is not None and self._lock.taken(fcntl.LOCK_EX, wait=0):
                self._remove()
            return SearchBusy(f"the index of words was ruined and is made anew ({error})")
        return SearchBusy(f"the index of words is busy ({error})")

    def _open(self, lock: _Lock) -> sqlite3.Connection:
        for _attempt in range(_ATTEMPTS):
            if not lock.taken(fcntl.LOCK_SH, wait=self._wait):
                raise SearchBusy("the index of words is being made by another process")
            if found := self._existing():
                return found
            if not lock.taken(fcntl.LOCK_EX, wait=self._wait):
                raise SearchBusy("the index of words is to be made anew, and others use it")
            # Somebody may have made it while nobody held the lock.
            if found := self._existing():
                found.close()
            else:
                self._make()
        raise SearchBusy("the index of words is made anew by others again and again")

    def _existing(self) -> sqlite3.Connection | None:
        if not self._path.exists():
            return None
        connection = self._connect(str(self._path))
        try:
            connection.execute("PRAGMA synchronous = OFF")
            with closing(connection.execute(_IDENTITY)) as rows:
                if rows.fetchone() == (self._identity,):
                    return connection
        except sqlite3.DatabaseError as error:
            if _kind(error) in _BUSY:
                connection.close()
                raise SearchBusy(f"the index of words is busy ({error})") from error
        connection.close()
        return None

    def _make(self) -> None:
        self._remove()
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, FILE_MODE))
        with closing(self._connect(str(self._path))) as connection:
            connection.executescript("PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL;")
            self._fill(connection)

    def _fill(self, connection: sqlite3.Connection) -> None:
        connection.executescript(self._schema)
        # Last: a file without its identity is none, whenever its maker was killed.
        connection.execute("INSERT INTO marks VALUES ('identity', ?)", (self._identity,))

    def _connect(self, name: str) -> sqlite3.Connection:
        return sqlite3.connect(name, timeout=self._wait, isolation_level=None)

    def _remove(self) -> None:
        """Remove the file and its log: SQLite would play what is in an old log into the new file."""
        for ending in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                self._path.with_name(f"{self._path.name}{ending}").unlink()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


class _Lock:
    """An advisory lock of an open file: threads of one process are kept apart as well."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)

    def taken(self, kind: int, *, wait: float) -> bool:
        """Change the lock to `kind` within `wait` seconds; answers whether it was."""
        end = time.monotonic() + wait
        while not self._try(kind):
            if time.monotonic() >= end:
                return False
            time.sleep(_POLL)
        return True

    def release(self) -> None:
        os.close(self._handle)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self._handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _kind(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
