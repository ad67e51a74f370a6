"""The file of an SQLite store: whether it is there, where it may be made, and how it is opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from review import conf
from review.errors import InputRejected
from review.store.refusals import (
    READ_ONLY_HINT,
    StoreNotOpened,
    StoreReadOnly,
    not_there,
    setting_of,
)

# In the header of each store's file, so that a store is known without being opened.
APPLICATION_ID = 0x436D5052
_MAGIC = b"SQLite format 3\0"
_ID_OFFSET = 68

COMPANIONS = ("-wal", "-journal", "-shm")


class StoreFolderMissing(InputRejected):
    """There is no folder where the store is to be; a mistyped one is not made."""


class StoreAmongNotes(InputRejected):
    """A store would be made in `kb/` outside the reports."""


# The configured settings of stores that were opened read-only, by alias.
_configured: dict[str, dict[str, Any]] = {}


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
    :raises StoreFolderMissing, StoreAmongNotes: it cannot be made there.
    :raises StoreRefused: it cannot be opened, made or written.
    """
    name = str(connections[using].settings_dict["NAME"])
    if name.startswith("file:") or name == ":memory:":
        return
    path = Path(os.path.realpath(name))
    if has_content(path):
        if not _writable(path):
            _open_read_only(path, using, write=write)
        return
    if before_making is not None:
        before_making()
    if not make:
        raise not_there(using)
    _refuse_place(path, using)
    from review.store import creation

    creation.create_file(path, using=using)


def recheck_store(using: str = DEFAULT_DB_ALIAS) -> None:
    """Reopen a read-only store, in a process that lives long; leave any other as it is.

    Another process may write to it by now, or it may have become writable; a connection that was
    opened as `immutable` never sees that.

    :raises StoreRefused: it cannot be read at the moment.
    """
    if (settings := _configured.pop(using, None)) is not None:
        connections[using].close()
        connections[using].settings_dict.update(settings)
        prepare(write=False, make=False, using=using)


def has_content(path: Path) -> bool:
    """Whether there is a file that is not empty.

    :raises StoreNotOpened: it cannot be looked at, or is no file.
    """
    try:
        info = path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreNotOpened(
            f"the store {path} cannot be opened: {error.strerror}",
            hint="check the path and its permissions",
        ) from error
    if not stat.S_ISREG(info.st_mode):
        raise StoreNotOpened(f"{path} is not a file, and cannot be a store", hint="name a file")
    return info.st_size > 0


def is_marked_store(path: Path) -> bool:
    """Whether the file bears our mark. This process must not have it open: closing any descriptor
    of a file drops all locks that the process holds on it.

    :raises OSError: it cannot be read.
    """
    with path.open("rb") as stream:
        header = stream.read(_ID_OFFSET + 4)
    mark = int.from_bytes(header[_ID_OFFSET:], "big")
    return header.startswith(_MAGIC) and mark == APPLICATION_ID


def companions_of(path: Path) -> list[Path]:
    """The files that SQLite left beside the file of that name, which may be gone."""
    return [left for suffix in COMPANIONS if os.path.lexists(left := Path(f"{path}{suffix}"))]


def read_only_uri(path: Path) -> str:
    """An SQLite URI that reads `path` and makes no file beside it.

    Without a log of recent writes nobody writes: `immutable` spares the shared-memory file that WAL
    wants, and that could not be made, or would belong to the wrong user. With one, `immutable`
    would not see those writes.
    """
    return f"{path.as_uri()}?mode=ro" + ("" if _has_log(path) else "&immutable=1")


def _refuse_place(path: Path, using: str) -> None:
    """Refuse a mistyped path; only the folder of reports is made with the first store."""
    try:
        config = conf.current()
    except conf.RootNotFound:
        config = None  # the target of a copy needs no knowledge base around it
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


def _writable(path: Path) -> bool:
    # The folder too: a write makes files beside the store.
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _open_read_only(path: Path, using: str, *, write: bool) -> None:
    if write:
        raise StoreReadOnly(f"the store {path} is read-only", hint=READ_ONLY_HINT)
    if _has_log(path) and not Path(f"{path}-shm").exists():
        raise StoreNotOpened(
            f"the store {path} holds recent writes that cannot be read without writing beside it",
            hint="run a command once where its folder is writable, or copy the store and its -wal",
        )
    settings = connections[using].settings_dict
    _configured[using] = {name: settings[name] for name in ("NAME", "OPTIONS")}
    # Without the write lock that IMMEDIATE takes at BEGIN.
    options = settings["OPTIONS"] | {"transaction_mode": "DEFERRED"}
    settings.update(NAME=read_only_uri(path), OPTIONS=options)


def _has_log(path: Path) -> bool:
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0
