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
from review.store.lineage import Lineage, lineage_at, lineage_of, refuse_loss
from review.store.refusals import AGAIN, StoreBusy
from review.store.sqlite_file import read_only_uri
from review.store.succession import (
    COMPANIONS,
    Earlier,
    companions_of,
    held,
    refuse_what_is_no_store,
    sync,
)

_UNFINISHED = ".unfinished-backup"
_PAGES_A_STEP = 2048
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
    before it gets its own; then it is looked at under that name. A killed attempt leaves at most such
    a file, which the next one removes, and an earlier backup at `target` as it was.

    :param overwrite: whether a store at `target`, or the log of one, is replaced.
    :raises BackupExists: something is at `target` or beside it, or it is the store itself.
    :raises PlaceTaken, PlaceInUse, LogNotKept: what is there is not to be replaced, see there; so is
        the backup of another store, or of later work than the store holds.
    :raises BackupFolderMissing: its folder is not there.
    :raises BackupFailed: the system refused, or the copy is not what the store was.
    :raises StoreBusy: somebody holds the store for himself.
    """
    try:
        _refuse_taken(source, target, overwrite=overwrite)
        with held(target) as earlier, _draft_beside(target) as draft:
            replaced = lineage_at(target, earlier.connection)
            refuse_loss(target, earlier=replaced, ours=_lineage(source))
            rows = _copy(source, draft)
            _verify(draft, rows)
            size = draft.stat().st_size
            _publish(draft, target, earlier, overwrite=overwrite)
            _verify_named(target, rows)
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
    if _is_store_itself(source, target):
        raise BackupExists(f"{target} is the store itself", hint="name another file")
    if not target.parent.is_dir():
        raise BackupFolderMissing(
            f"there is no folder {target.parent}",
            hint="make it first, or name a file in one that is there",
        )
    refuse_what_is_no_store(target)
    if not overwrite:
        _refuse_any(target)


def _is_store_itself(source: Path, target: Path) -> bool:
    names = {f"{os.path.realpath(source)}{suffix}" for suffix in ("", *COMPANIONS)}
    if os.path.realpath(target) in names:
        return True
    return target.exists() and target.samefile(source)


def _refuse_any(target: Path) -> None:
    """Refuse a name that something has, or beside which the log of something lies."""
    if os.path.lexists(target):
        raise _exists(target)
    for left in companions_of(target):
        raise BackupExists(
            f"{left} is there already, the log of another file of that name; it was not touched",
            hint="name another file, or have it removed with --overwrite",
        )


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


def _lineage(source: Path) -> Lineage | None:
    with closing(_connected(_readable_uri(source))) as store:
        return lineage_of(store)


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


def _publish(draft: Path, target: Path, earlier: Earlier, *, overwrite: bool) -> None:
    sync(draft)
    if overwrite:
        earlier.make_way()
        draft.replace(target)
    else:
        _refuse_any(target)
        _name_new(draft, target)
    sync(target.parent)


def _verify_named(target: Path, rows: dict[str, int]) -> None:
    """Read the backup under its name as whoever opens it will, with a log that lies beside it.

    :raises BackupFailed: it has other rows.
    """
    with closing(_connected(read_only_uri(target.absolute()))) as named:
        if _count_rows(named) != rows:
            raise BackupFailed(
                f"{target} was written, and somebody else wrote to it or beside it at once",
                hint="name a file that nobody else uses",
            )


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
