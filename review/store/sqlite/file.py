"""The file of an SQLite store: whether it is there, how it is opened, and made."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from review import settings
from review.errors import InputRejected
from review.private_files import FILE_MODE, make_private
from review.store.errors import READ_ONLY_HINT, StoreNotOpened, StoreReadOnly, setting_of

# In the header of each store's file, so that a store is known without being opened.
APPLICATION_ID = 0x436D5052
_MAGIC = b"SQLite format 3\0"
_ID_OFFSET = 68

COMPANIONS = ("-wal", "-journal", "-shm")

_configured: dict[str, dict[str, Any]] = {}  # of stores that were opened read-only, by alias


class StoreFolderMissing(InputRejected):
    """There is no folder where the store is to be; a mistyped one is not made."""


class StoreAmongNotes(InputRejected):
    """A store would be made in `kb/` outside the reports."""


def file_of(using: str) -> Path | None:
    """The file of the store under this alias; None on a server, or for a URI, which is open."""
    name = str(connections[using].settings_dict["NAME"])
    is_uri = name.startswith("file:") or name == ":memory:"
    is_file = connections[using].vendor == "sqlite" and not is_uri
    return Path(os.path.realpath(name)) if is_file else None


def open_file(path: Path, *, write: bool, using: str) -> None:
    """Have the store's existing file opened read-only if it must be.

    :raises StoreReadOnly, StoreNotOpened: then it cannot be written, or read.
    """
    if is_writable(path):
        return
    if write:
        raise StoreReadOnly(f"the store {path} is read-only", hint=READ_ONLY_HINT)
    if _has_log(path) and not Path(f"{path}-shm").exists():
        raise StoreNotOpened(
            f"the store {path} holds recent writes that cannot be read without writing beside it",
            hint="run a command once where its folder is writable, or copy the store and its -wal",
        )
    named = connections[using].settings_dict
    _configured[using] = named.copy()
    # Without the write lock that IMMEDIATE takes at BEGIN.
    options = named["OPTIONS"] | {"transaction_mode": "DEFERRED"}
    named.update(NAME=read_only_uri(path), OPTIONS=options)


def recheck_store(using: str = DEFAULT_DB_ALIAS) -> None:
    """Reopen a store that was opened read-only: a connection opened as `immutable` never sees that
    another process writes to it by now, or that it has become writable."""
    if (named := _configured.pop(using, None)) is not None:
        connections[using].close()
        connections[using].settings_dict.update(named)
        open_file(Path(os.path.realpath(named["NAME"])), write=False, using=using)


def has_content(path: Path) -> bool:
    """Return whether there is a file that is not empty; refuse what is no file."""
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
    """Return whether the file bears our mark. This process must not have it open: closing any descriptor
    of a file drops all locks that the process holds on it."""
    with path.open("rb") as stream:
        header = stream.read(_ID_OFFSET + 4)
    mark = int.from_bytes(header[_ID_OFFSET:], "big")
    return header.startswith(_MAGIC) and mark == APPLICATION_ID


def integrity_faults(execute: Callable[[str], Any], *, most: int) -> list[str]:
    """The first faults of pages, indexes and references; `execute` is a connection's or cursor's."""
    faults = [line for (line,) in execute(f"PRAGMA integrity_check({most})") if line != "ok"]
    for table, row_id, parent, _key in execute("PRAGMA foreign_key_check"):
        faults.append(f"{table} row {row_id} refers to a row of {parent} that is not there")
    return faults


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


def is_writable(path: Path) -> bool:
    # The folder too: a write makes files beside the store.
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _has_log(path: Path) -> bool:
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0


def prepare_file(path: Path, *, using: str) -> None:
    """Make an empty SQLite database at `path`, which is missing or empty, unless another process did."""
    _refuse_place(path, using)
    try:
        make_private(path.parent)
        with _folder_lock(path.parent):
            if has_content(path):
                return
            # SQLite would delete the log of a lost store, which may hold its last writes.
            for log in companions_of(path):
                log.rename(f"{log}.{secrets.token_hex(4)}.of-a-lost-store")
            with path.open("ab") as file:
                os.fchmod(file.fileno(), FILE_MODE)
            with connections[using].cursor() as cursor:
                # Kept in the file; setting it at each connection would fail on a read-only store.
                cursor.execute("PRAGMA journal_mode = WAL")
    except OSError as error:
        raise StoreNotOpened(
            f"the store {path} cannot be made: {error.strerror}",
            hint=f"make its folder writable, or let {setting_of(using)} name another file",
        ) from error


def _refuse_place(path: Path, using: str) -> None:
    """Refuse a mistyped path; only the reports folder is made with the first store."""
    try:
        config = settings.current()
    except settings.RootNotFound:
        config = None  # the target of a copy needs no knowledge base around it
    if config is not None and config.holds_sources(path):
        raise StoreAmongNotes(
            f"the store {path} would lie in the knowledge base; nothing was made",
            hint=f"let {setting_of(using)} name a file below {settings.REPORTS_FOLDER}/, or outside kb/",
        )
    reports = config and Path(os.path.realpath(config.root / settings.REPORTS_FOLDER))
    if not path.parent.exists() and path.parent != reports:
        raise StoreFolderMissing(
            f"there is no folder {path.parent} for the store {path.name}; nothing was made",
            hint=f"make it first, or correct {setting_of(using)}",
        )


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Hold a lock that leaves no file behind; a file system without it lets everybody in."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
