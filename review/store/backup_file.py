"""Copies an SQLite store that is in use into one file, which appears whole and checked or not at all."""

from __future__ import annotations

import fcntl
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from review.errors import Conflict, InputRejected, ReviewError
from review.folders import FILE_MODE
from review.store.refusals import AGAIN, StoreBusy
from review.store.sqlite_file import read_only_uri

_UNFINISHED = ".unfinished-backup"
_PAGES_A_STEP = 2048
_COMPANIONS = ("", "-wal", "-shm", "-journal")
_WAIT = 30.0  # seconds for whoever recovers the log at this moment


class BackupExists(Conflict):
    """Something has the backup's name already."""


class BackupFolderMissing(InputRejected):
    """There is no folder where the backup is to go; a mistyped name is not made one."""


class BackupFailed(ReviewError):
    """The backup could not be written, or did not hold what the store holds; there is none."""


@dataclass(frozen=True)
class BackedUp:
    """A backup that was checked: its size in bytes, and the rows of each table."""

    byte_size: int
    rows: dict[str, int]


def back_up_file(source: Path, target: Path, *, overwrite: bool) -> BackedUp:
    """Copy the store at `source` to `target` as it is at one moment, while others go on writing.

    It is written under another name beside `target`, held against the store and put onto the disk
    before it gets its own. A killed attempt leaves at most such a file, which the next one removes.

    :param overwrite: whether a file at `target` is replaced.
    :raises BackupExists: something is at `target`, or it is the store itself.
    :raises BackupFolderMissing: its folder is not there.
    :raises BackupFailed: the system refused, or the copy is not what the store was.
    :raises StoreBusy: somebody holds the store for himself.
    """
    _refuse_taken(source, target, overwrite=overwrite)
    try:
        with _draft_beside(target) as draft:
            rows = _copy(source, draft)
            _verify(draft, rows)
            size = draft.stat().st_size
            _publish(draft, target, overwrite=overwrite)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise StoreBusy(f"the store {source} is busy: {error}", hint=AGAIN) from error
        raise BackupFailed(
            f"the store {source} could not be copied to {target}: {error}",
            hint="see to the space there; review_doctor --check looks at the store",
        ) from error
    except OSError as error:
        raise BackupFailed(
            f"cannot write {target}: {error.strerror or error}",
            hint="name a file in a folder that can be written",
        ) from error
    return BackedUp(size, rows)


def _refuse_taken(source: Path, target: Path, *, overwrite: bool) -> None:
    real = os.path.realpath(target)
    if real in {f"{os.path.realpath(source)}{suffix}" for suffix in _COMPANIONS}:
        raise BackupExists(f"{target} is the store itself", hint="name another file")
    if not target.parent.is_dir():
        raise BackupFolderMissing(
            f"there is no folder {target.parent}",
            hint="make it first, or name a file in one that is there",
        )
    if not os.path.lexists(target):
        return
    if not target.is_file():
        raise BackupExists(f"{target} is there and is no file", hint="name another file")
    if not overwrite:
        raise _exists(target)


def _exists(target: Path) -> BackupExists:
    return BackupExists(
        f"{target} is there already; it was not touched",
        hint="name another file, or replace it with --overwrite",
    )


@contextmanager
def _draft_beside(target: Path) -> Iterator[Path]:
    """An empty file for this user alone, locked while it is in use and removed if it is still there."""
    _clear_remains(target.parent)
    draft = target.with_name(f".{secrets.token_hex(8)}{_UNFINISHED}")
    handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield draft
    finally:
        # After SQLite has closed it: that would let go of SQLite's own locks.
        os.close(handle)
        draft.unlink(missing_ok=True)


def _clear_remains(folder: Path) -> None:
    """Remove what killed attempts left: the files of this kind that nobody holds."""
    for left in folder.glob(f".*{_UNFINISHED}"):
        with suppress(OSError):
            handle = os.open(left, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink()
            finally:
                os.close(handle)


def _copy(source: Path, draft: Path) -> dict[str, int]:
    with closing(_connected(_readable_uri(source))) as store:
        # One moment for all of it; without this a write of somebody else starts the copy again.
        store.execute("BEGIN")
        rows = _count_rows(store)
        with closing(sqlite3.connect(draft, isolation_level=None)) as copy:
            # Nobody reads the draft before it is whole, and it is put onto the disk at the end.
            copy.execute("PRAGMA journal_mode = OFF")
            copy.execute("PRAGMA synchronous = OFF")
            store.backup(copy, pages=_PAGES_A_STEP, progress=_let_signals_in)
    return rows


def _let_signals_in(status: int, remaining: int, total: int) -> None:
    """Nothing: that Python is called at all between two steps lets Ctrl-C end the copy."""
    del status, remaining, total


def _readable_uri(path: Path) -> str:
    real = Path(os.path.realpath(path))
    if os.access(real, os.W_OK) and os.access(real.parent, os.W_OK):
        return f"{real.as_uri()}?mode=rw"
    return read_only_uri(real)


def _connected(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_WAIT)


def _count_rows(connection: sqlite3.Connection) -> dict[str, int]:
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        " ORDER BY name"
    ).fetchall()
    return {
        name: connection.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0]  # noqa: S608
        for (name,) in names
    }


def _verify(draft: Path, rows: dict[str, int]) -> None:
    """Hold the copy against the store, without making a file beside it.

    :raises BackupFailed: it is damaged, or has other rows.
    """
    with closing(_connected(f"{draft.as_uri()}?mode=ro&immutable=1")) as copy:
        faults = [line for (line,) in copy.execute("PRAGMA integrity_check(5)") if line != "ok"]
        dangling = copy.execute("PRAGMA foreign_key_check").fetchone()
        if dangling is not None:
            faults.append(f"{dangling[0]} refers to a row of {dangling[2]} that is not there")
        found = _count_rows(copy)
    faults += [f"{name} has not all its rows" for name in rows if rows[name] != found.get(name)]
    if faults:
        raise BackupFailed(
            f"the copy does not hold: {'; '.join(faults)}; no backup was made",
            hint="review_doctor --check looks at the store itself",
        )


def _publish(draft: Path, target: Path, *, overwrite: bool) -> None:
    _sync(draft)
    if overwrite:
        draft.replace(target)
    else:
        _name_new(draft, target)
    _sync(target.parent)


def _name_new(draft: Path, target: Path) -> None:
    """Give the draft its name, unless somebody else took it meanwhile."""
    try:
        target.hardlink_to(draft)
    except FileExistsError as error:
        raise _exists(target) from error
    except OSError:
        # A file system without hard links: whoever takes the name now is overwritten.
        if os.path.lexists(target):
            raise _exists(target) from None
        draft.replace(target)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
