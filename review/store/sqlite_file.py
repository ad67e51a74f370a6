"""Looks at an SQLite store before it is opened: missing, foreign, read-only, or ready."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from review import conf
from review.errors import InputRejected
from review.store.header import HEADER_BYTES, has_our_mark, is_database
from review.store.refusals import (
    CORRUPT_HINT,
    IF_STORE_HINT,
    READ_ONLY_HINT,
    StoreCorrupt,
    StoreForeign,
    StoreNotOpened,
    StoreReadOnly,
    not_there,
    setting_of,
)

# By device and inode: see `_descriptor`.
_descriptors: dict[tuple[int, int], int] = {}


class StoreFolderMissing(InputRejected):
    """There is no folder where the store is to be; a mistyped name is not made one."""


class StoreAmongNotes(InputRejected):
    """A store would be made in `kb/` outside the reports, where a person's files are."""


@dataclass(frozen=True)
class _ReadOnly:
    """A store that was opened read-only, and how its settings said that it is opened."""

    path: Path
    name: str
    options: dict[str, Any]


_read_only: dict[str, _ReadOnly] = {}  # by alias


def prepare(
    *,
    write: bool,
    make: bool = True,
    using: str = DEFAULT_DB_ALIAS,
    before_making: Callable[[], None] | None = None,
) -> None:
    """Make the configured file when it is missing or empty, and open it read-only if it must be.

    :param make: whether a missing one is made; else it is refused.
    :param before_making: called where it is missing; it may refuse.
    :raises StoreNotThere: it is missing and not to be made.
    :raises StoreFolderMissing: its folder is not there, and is not the one of reports.
    :raises StoreAmongNotes: it would lie among notes, gates and settings.
    :raises StoreRefused: it is no store of ours, or cannot be opened, made or written.
    """
    name = str(connections[using].settings_dict["NAME"])
    if name.startswith("file:") or name == ":memory:":
        return
    path = Path(os.path.realpath(name))
    if not has_content(path):
        if before_making is not None:
            before_making()
        if not make:
            raise not_there(using)
        _refuse_place(path, using)
        from review.store import creation

        creation.create_file(path, using=using)
        return
    _refuse_strangers(path, using)
    if not _writable(path):
        if write:
            raise StoreReadOnly(f"the store {path} is read-only", hint=READ_ONLY_HINT)
        _open_read_only(path, using)


def look_again(using: str = DEFAULT_DB_ALIAS) -> None:
    """Open a read-only store anew, as it must be opened now; for a process that lives long.

    Somebody may write to it by now, or it may have become writable: opened as before, it would show
    for ever what it was. Any other store is left alone. It costs two looks at the file system.

    :raises StoreNotOpened: it cannot be read at the moment.
    """
    found = _read_only.get(using)
    if found is None:
        return
    connection = connections[using]
    connection.close()
    if _writable(found.path):
        connection.settings_dict.update(NAME=found.name, OPTIONS=found.options)
        _read_only.pop(using, None)
    else:
        _name_read_only(found.path, using)


def has_content(path: Path) -> bool:
    """Whether there is a file that is not empty.

    :raises StoreNotOpened: it cannot be looked at, or is no file.
    """
    try:
        info = path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _not_opened(path, error) from error
    if not stat.S_ISREG(info.st_mode):
        raise StoreNotOpened(f"{path} is not a file, and cannot be a store", hint="name a file")
    return info.st_size > 0


def _refuse_place(path: Path, using: str) -> None:
    """A mistyped path is not made one; the folder of reports is made with the first store."""
    config = _configured()
    if config is not None and config.holds_sources(path):
        raise StoreAmongNotes(
            f"the store {path} would lie in the knowledge base; nothing was made",
            hint=f"let {setting_of(using)} name a file below {conf.REPORTS_FOLDER}/, or outside kb/",
        )
    folder = path.parent
    reports = config and Path(os.path.realpath(config.root / conf.REPORTS_FOLDER))
    if not folder.exists() and folder != reports:
        raise StoreFolderMissing(
            f"there is no folder {folder} for the store {path.name}; nothing was made",
            hint=f"make it first, or correct {setting_of(using)}",
        )


def _configured() -> conf.Config | None:
    try:
        return conf.current()
    except conf.RootNotFound:
        return None  # a store is copied elsewhere


def _refuse_strangers(path: Path, using: str = DEFAULT_DB_ALIAS) -> None:
    try:
        header = os.pread(_descriptor(path), HEADER_BYTES, 0)
    except OSError as error:
        raise _not_opened(path, error) from error
    if not is_database(header):
        raise StoreCorrupt(
            f"{path} is not an SQLite database; it was not touched",
            hint=f"see what {setting_of(using)} names; {IF_STORE_HINT}",
        )
    if not has_our_mark(header):
        _refuse_foreign(path, using)


def _descriptor(path: Path) -> int:
    """A descriptor of the file, opened once for each file that this process looks at, never closed.

    To close any descriptor of a file drops all the locks that the process has on it, those of
    another thread's connection too. Whoever closes the store next elsewhere then takes himself for
    the last, and removes the log that our thread still writes to, with what it commits.
    """
    found = _descriptors.get(_identity(path.stat()))
    if found is None:
        found = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        _descriptors[_identity(os.fstat(found))] = found
    return found


def _identity(info: os.stat_result) -> tuple[int, int]:
    return (info.st_dev, info.st_ino)


def _refuse_foreign(path: Path, using: str) -> None:
    """Look for our migrations in a database without our mark, in a way that cannot change it."""
    try:
        with closing(sqlite3.connect(read_only_uri(path), uri=True)) as peek:
            rows = peek.execute("SELECT 1 FROM django_migrations WHERE app = 'review' LIMIT 1")
            ours = rows.fetchone() is not None
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise StoreCorrupt(
                f"the store {path} is damaged: {error}", hint=CORRUPT_HINT
            ) from error
        ours = False
    if not ours:
        raise StoreForeign(
            f"{path} is a database, but not a review store; it was not touched",
            hint=f"let {setting_of(using)} name another file",
        )


def _writable(path: Path) -> bool:
    # The folder too: a write makes files beside the store.
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _open_read_only(path: Path, using: str) -> None:
    settings = connections[using].settings_dict
    _read_only[using] = _ReadOnly(path, settings["NAME"], settings["OPTIONS"])
    _name_read_only(path, using)
    # A write lock, which IMMEDIATE takes at BEGIN, is not to be had.
    settings["OPTIONS"] = settings["OPTIONS"] | {"transaction_mode": "DEFERRED"}


def _name_read_only(path: Path, using: str) -> None:
    if _has_log(path) and not Path(f"{path}-shm").exists():
        raise StoreNotOpened(
            f"the store {path} holds recent writes that cannot be read without writing beside it",
            hint="run a command once where its folder is writable, or copy the store and its -wal",
        )
    connections[using].settings_dict["NAME"] = read_only_uri(path)


def read_only_uri(path: Path) -> str:
    """An SQLite URI that reads `path` and makes no file beside it.

    Without a log of recent writes nobody has the store open, or nobody wrote yet: `immutable`
    spares the shared-memory file that WAL wants, and that could not be made, or would belong to
    the wrong user. With one, `immutable` would not see those writes.
    """
    return f"{path.as_uri()}?mode=ro" + ("" if _has_log(path) else "&immutable=1")


def _has_log(path: Path) -> bool:
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0


def _not_opened(path: Path, error: OSError) -> StoreNotOpened:
    return StoreNotOpened(
        f"the store {path} cannot be opened: {error.strerror}",
        hint="check the path and its permissions, or set COMMONPLACE_REVIEW_DB",
    )
