"""The file of an SQLite store: whether it is there, and how it is opened."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from review.store.errors import READ_ONLY_HINT, StoreNotOpened, StoreReadOnly

# In the header of each store's file, so that a store is known without being opened.
APPLICATION_ID = 0x436D5052
_MAGIC = b"SQLite format 3\0"
_ID_OFFSET = 68

COMPANIONS = ("-wal", "-journal", "-shm")

_configured: dict[str, dict[str, Any]] = {}  # of stores that were opened read-only, by alias


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
    settings = connections[using].settings_dict
    _configured[using] = settings.copy()
    # Without the write lock that IMMEDIATE takes at BEGIN.
    options = settings["OPTIONS"] | {"transaction_mode": "DEFERRED"}
    settings.update(NAME=read_only_uri(path), OPTIONS=options)


def recheck_store(using: str = DEFAULT_DB_ALIAS) -> None:
    """Reopen a store that was opened read-only: a connection opened as `immutable` never sees that
    another process writes to it by now, or that it has become writable."""
    if (settings := _configured.pop(using, None)) is not None:
        connections[using].close()
        connections[using].settings_dict.update(settings)
        open_file(Path(os.path.realpath(settings["NAME"])), write=False, using=using)


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
