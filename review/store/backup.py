"""Backup of the SQLite store: one file that is checked before it gets its name."""

from __future__ import annotations

import glob
import os
import shlex
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from review.documents.base import Document
from review.errors import Conflict, InputRejected, ReviewError, StoreRefused, TryAgain, UsageRefused
from review.settings import Config
from review.store import opening
from review.store.errors import AGAIN, StoreNewer, StoreOlder

_UNFINISHED = ".unfinished-backup"
_SHOWN = 5  # faults of a damaged store


class BackupJson(Document, kw_only=True):
    """A backup that was written and checked; `rows` are those of each table."""

    path: str
    byte_size: int
    rows: dict[str, int]


def back_up(target: Path, *, overwrite: bool, config: Config) -> BackupJson:
    """Back the store up into `target` as it is at one moment, while others go on writing.

    A killed process leaves at most a draft, which the next backup removes.
    """
    if not config.uses_sqlite:
        named = shlex.quote(str(target))
        raise UsageRefused(
            "the store is on a PostgreSQL server: the server makes its backups",
            "backup-is-the-servers",
            hint=f'pg_dump --format=custom --file {named} "$COMMONPLACE_REVIEW_DB"; or copy it into'
            f" another store: commonplace review_store_copy --to {named}",
        )
    source = Path(os.path.realpath(config.database))
    if not opening.has_content(source):
        raise StoreRefused(f"there is no store at {source} to back up", "store-not-opened")
    with suppress(StoreOlder, StoreNewer):
        opening.ensure_store(write=False)
    try:
        _refuse_target(source, target, overwrite=overwrite)
        with _draft_beside(target) as draft:
            _copy(source, draft)
            made = _check(draft, target)
            _sync(draft)
            # SQLite would apply a log that another process left there meanwhile to the new file.
            _refuse_target(source, target, overwrite=overwrite)
            draft.replace(target)
            _sync(target.parent)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise TryAgain(
                f"the store {source} is busy: {error}", "store-busy", hint=AGAIN
            ) from error
        raise ReviewError(
            f"the store {source} could not be copied to {target}: {error}",
            "backup-failed",
            hint="see to the space there; commonplace review_doctor --check looks at the store",
        ) from error
    except OSError as error:
        raise ReviewError(
            f"cannot write {target}: {error.strerror or error}",
            "backup-failed",
            hint="name a file in a folder that can be written",
        ) from error
    return made


def _refuse_target(source: Path, target: Path, *, overwrite: bool) -> None:
    real = os.path.realpath(target)
    is_its_own = real in {f"{source}{suffix}" for suffix in ("", *opening.COMPANIONS)}
    if is_its_own or (target.exists() and target.samefile(source)):
        raise Conflict(f"{target} is the store itself", "backup-exists", hint="name another file")
    if not target.parent.is_dir():
        raise InputRejected(
            f"there is no folder {target.parent}",
            "backup-folder-missing",
            hint="make it first, or name a file in one that is there",
        )
    for left in opening.companions_of(target):
        raise Conflict(
            f"{left} is there: the log of a file of that name, which may be in use",
            "place-taken",
            hint="name another file; or, if no process has it open, move both away",
        )
    if not os.path.lexists(target):
        return
    if not target.is_file() or (target.stat().st_size and not opening.is_marked_store(target)):
        raise Conflict(
            f"{target} is there and is no review store; it was not touched",
            "place-taken",
            hint="name another file",
        )
    if not overwrite:
        raise Conflict(
            f"{target} is there already; it was not touched",
            "backup-exists",
            hint="name another file, or replace it with --overwrite",
        )


@contextmanager
def _draft_beside(target: Path) -> Iterator[Path]:
    """An empty file for this user alone, which is removed if it is still there at the end."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*{_UNFINISHED}"):
        left.unlink(missing_ok=True)
    handle, name = tempfile.mkstemp(_UNFINISHED, f".{target.name}.", target.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _copy(source: Path, draft: Path) -> None:
    uri = (
        f"{source.as_uri()}?mode=rw"
        if opening.is_writable(source)
        else opening.read_only_uri(source)
    )
    with closing(_connected(uri)) as store, closing(sqlite3.connect(draft)) as copy:
        # One moment for all of it; else a write of another process starts the copy again.
        store.execute("BEGIN")
        store.execute("SELECT 1 FROM sqlite_master").fetchall()
        copy.execute("PRAGMA journal_mode = OFF")
        copy.execute("PRAGMA synchronous = OFF")
        store.backup(copy, pages=2048, progress=_let_signals_in)


def _let_signals_in(*_steps: int) -> None:
    """Do nothing: the call itself, between two steps, lets Ctrl-C end the copy."""


def _check(draft: Path, target: Path) -> BackupJson:
    with closing(_connected(f"{draft.as_uri()}?mode=ro&immutable=1")) as copy:
        faults = opening.integrity_faults(copy.execute, most=_SHOWN)
        tables = copy.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            " ORDER BY name"
        )
        counts = {
            name: copy.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0]  # noqa: S608
            for (name,) in tables.fetchall()
        }
    if faults:
        raise ReviewError(
            f"the copy does not hold: {'; '.join(faults[:_SHOWN])}; no backup was made",
            "backup-failed",
            hint="commonplace review_doctor --check looks at the store itself",
        )
    return BackupJson(path=str(target), byte_size=draft.stat().st_size, rows=counts)


def _connected(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)


def _sync(path: Path) -> None:
    """Put a file, or the names in a folder, onto the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
