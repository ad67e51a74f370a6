"""Lets one SQLite file take the name of another, and never lie beside that one's log.

SQLite plays a log that lies beside a file into it, whichever file that is: a new file under the name
of an earlier one would come to hold what the earlier one's last user wrote.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from review.errors import Conflict, ReviewError
from review.store.header import is_marked_store

COMPANIONS = ("-wal", "-journal", "-shm")
_OF_RECENT_WRITES = ("-wal", "-journal")
_WAIT = 2.0  # seconds for whoever looks at the earlier store at this moment
_RUINED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class PlaceTaken(Conflict):
    """What has the name, or lies beside it, is not to be replaced."""


class PlaceInUse(Conflict):
    """Another process has the earlier store open."""


class LogNotKept(ReviewError):
    """What an earlier store's log holds cannot be brought into that store, which is left as it is."""


def companions_of(path: Path) -> list[Path]:
    """What SQLite left beside the file of that name, or beside one that is gone."""
    return [left for suffix in COMPANIONS if os.path.lexists(left := Path(f"{path}{suffix}"))]


def refuse_what_is_no_store(path: Path) -> None:
    """Refuse a name that no store of ours has; nothing, or an empty file, is fine.

    :raises PlaceTaken: a folder, a person's file or another program's database is there, or
        something beside it is no file.
    :raises OSError: it cannot be looked at.
    """
    for left in companions_of(path):
        if not left.is_file():
            raise PlaceTaken(f"{left} is there and is no file", hint="name another file")
    if not os.path.lexists(path):
        return
    if not path.is_file():
        raise PlaceTaken(f"{path} is there and is no file", hint="name another file")
    if path.stat().st_size and not is_marked_store(path):
        raise PlaceTaken(
            f"{path} is there and is no review store; it was not touched",
            hint="name another file",
        )


@contextmanager
def held(path: Path) -> Iterator[Earlier]:
    """Keep everybody else away from the store at `path`, if one is there, for as long as this lasts.

    :raises PlaceInUse: another process has it open.
    :raises LogNotKept: it has a log, and cannot be opened to bring that in.
    """
    if path.is_symlink() or not path.is_file() or not path.stat().st_size:
        # A link is replaced itself; the log of what it names lies beside that.
        yield Earlier(path, None)
        return
    uri = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_WAIT)) as connection:
        yield Earlier(path, connection if _is_ours_alone(connection, path) else None)


class Earlier:
    """What has a name so far; `held` makes it.

    `connection` is the one that holds it alone, None where nothing is held.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection | None) -> None:
        self.connection = connection
        self._path = path

    def make_way(self) -> None:
        """Bring the earlier store's log into it, then remove what lies beside its name.

        Whoever is killed here leaves the earlier store whole, with its log or without one.

        :raises LogNotKept: the log cannot be brought in; nothing was removed.
        :raises OSError: a file cannot be removed.
        """
        if self.connection is not None:
            _bring_log_in(self.connection, self._path)
        left = companions_of(self._path)
        for file in left:
            file.unlink(missing_ok=True)
        if left:
            sync(self._path.parent)


def sync(path: Path) -> None:
    """Put a file, or the names in a folder, onto the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_ours_alone(connection: sqlite3.Connection, path: Path) -> bool:
    """Take the store for ourselves; False where that cannot be and nothing could be lost by it."""
    try:
        # Kept until the connection is closed; the log's index is then in memory, not in a file.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        code = _kind(error)
        if code == sqlite3.SQLITE_BUSY:
            raise PlaceInUse(
                f"{path} is in use: another process has it open; it was not touched",
                hint="end that process, or name another file",
            ) from error
        if code in _RUINED:
            return False  # there is nothing that its log could be brought into
        if any(Path(f"{path}{suffix}").exists() for suffix in _OF_RECENT_WRITES):
            why = error if os.access(path, os.W_OK) else "it may not be written"
            raise _not_kept(path, why) from error
        return False
    return True


def _bring_log_in(connection: sqlite3.Connection, path: Path) -> None:
    try:
        busy, *_pages = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        if _kind(error) not in _RUINED:
            raise _not_kept(path, error) from error
        return
    if busy:
        raise _not_kept(path, "it is busy")


def _not_kept(path: Path, why: object) -> LogNotKept:
    return LogNotKept(
        f"{path} has a log of recent writes beside it, which cannot be brought into it: {why}",
        hint="name another file, or move both away",
    )


def _kind(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
