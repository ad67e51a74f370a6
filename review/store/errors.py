"""A store by its name, a path or a `postgres://` URL; the refusals of one; retries while it is busy."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections

from review.errors import InputRejected, ReviewError, StoreRefused, TryAgain

SETTING = "COMMONPLACE_REVIEW_DB"
# The key among Django's settings of a database that says where else it was named, for messages.
NAMED = "NAMED"
BUSY_SECONDS = 20
# Compiling a query took ten times as long as running it; and with the costs of turning disks the
# planner read whole tables, where indexes give the few thousand rows that a question is about.
_SESSION = f"-c lock_timeout={BUSY_SECONDS}s -c jit=off -c random_page_cost=1.1"
MIGRATE = "commonplace migrate"


class DatabaseRefused(InputRejected):
    """The name of a store is none that can be used."""


class StoreOlder(StoreRefused): ...


class StoreNewer(StoreRefused): ...


class StoreNotThere(StoreRefused):
    """There is no store where one is configured, and this command makes none."""


AGAIN = "run the same command again"
READ_ONLY_HINT = "reading commands work; to write, make the file and its folder writable"

_BETWEEN = "is behind a pooler that gave our connection to others between two transactions"
_POOLED = "add pooler=transaction to its URL, after ?; see docs/deploy.md"
_BUSY = ("store-busy", "is busy: another process is writing", AGAIN)
_FIRST = ("store-busy", "is busy: another transaction came first", AGAIN)
# By SQLite's code, by PostgreSQL's state or its class, or by a word of ours: the refusal's code,
# what the store does or is, and what to do about it.
_MEANINGS = {
    "sqlite 5": _BUSY,
    "sqlite 6": _BUSY,
    "sqlite 8": ("store-read-only", "is read-only", READ_ONLY_HINT),
    "sqlite 10": ("store-not-opened", "cannot be read or written", "check the disk"),
    "sqlite 11": (
        "store-corrupt", "is damaged",
        "move the file away, with its -wal and -shm beside it, and put a copy in its place",
    ),
    "sqlite 13": (
        "store-full", "cannot grow: the disk is full", "make room, then run the same command again"
    ),
    "sqlite 14": ("store-not-opened", "cannot be opened", "check the path and its permissions"),
    # SQLite gives up after a hundred attempts where very many begin to read at one moment.
    "sqlite 15": ("store-busy", "is busy: too many others use it at this moment", AGAIN),
    "sqlite 26": (
        "store-corrupt", "is not an SQLite database; it was not touched",
        "see what {setting} names; if this was a store, put a copy in its place, and the -wal and"
        " -shm beside it away",
    ),
    "08": (
        "store-unreachable", "cannot be reached",
        "see that the server runs, and that host and port are right; then run the same command again",
    ),
    "25006": ("store-read-only", "is read-only", "reading commands work"),
    # A cursor or a prepared statement that was there a moment ago.
    "26000": ("store-not-opened", _BETWEEN, _POOLED),
    "34000": ("store-not-opened", _BETWEEN, _POOLED),
    "28": ("store-not-opened", "refused the login", "check the user and the password in its URL"),
    "3D000": ("store-not-opened", "does not exist", "create the database, or name another"),
    "3F000": ("store-not-opened", "has no such schema", "check search_path in the options of its URL"),
    "40001": _FIRST,
    "40P01": _FIRST,
    "42501": (
        "store-not-opened", "does not let this user do that",
        "docs/deploy.md names the rights that each role needs, and how its owner gives them",
    ),
    "53100": ("store-full", "cannot grow: the disk is full", "make room, then try again"),
    "53300": ("store-busy", "has too many connections", AGAIN),
    "55P03": ("store-busy", "is busy: another process holds the lock", AGAIN),
    "54": ("store-not-opened", "cannot hold so long a path or so large a value", "shorten it"),
    "57": ("store-unreachable", "is shutting down or starting", AGAIN),
    "options": (
        "store-not-opened", "cannot be opened with these options", "check what follows ? in its URL"
    ),
    "pooler": ("store-not-opened", "is behind a pooler that takes no such options", _POOLED),
    "tls": (
        "store-not-opened", "does not offer the encryption that its URL asks for",
        "check sslmode and sslrootcert",
    ),
    "too old": (
        "store-server-old", "cannot be used: {error}",
        "upgrade the database server, then run the same command again",
    ),
}  # fmt: skip
# Input or output that fails, a file beside the store that cannot be made.
_MAY_BE_FULL = (10, 14)
_ROOM = 256 * 1024  # bytes; the log and its index take 64 KiB at the least
# libpq gives no state for a connection that was never made, only a message.
_UNCONNECTED = (
    (r"authentication failed|no pg_hba.conf entry|no password supplied", "28"),
    (r"unsupported startup parameter", "pooler"),
    (r"invalid (connection option|sslmode|integer value)|bad value for", "options"),
    (r"unrecognized configuration parameter|definition of service", "options"),
    (r"does not support SSL|certificate", "tls"),
    (r"does not exist", "3D000"),
)


def database_settings(database: str, *, named: str = SETTING) -> dict[str, Any]:
    """Django's settings for a path or a `postgres://user:password@host:port/name?option=value` URL.

    Writers of SQLite take the lock at BEGIN: a transaction that reads first would fail at once
    when another process wrote in between.
    """
    if "://" in database:
        return _postgres(database, named)
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": database,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": BUSY_SECONDS,
            "init_command": "PRAGMA synchronous=FULL;",
        },
    }


def _postgres(url: str, named: str) -> dict[str, Any]:
    parts, port = _split(url, named)
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme not in ("postgres", "postgresql") or not name:
        raise DatabaseRefused(
            f"{named} is a {parts.scheme}:// URL that cannot be used",
            hint="give a path, or postgres://user:password@host:port/name",
        )
    if find_spec("psycopg") is None:
        raise DatabaseRefused(
            "a postgres:// store needs the psycopg driver, which is not installed",
            hint="install the project with what it needs: pip install 'commonplace-review[team]'",
        )
    options = dict(parse_qsl(parts.query))
    # `transaction`: the pooler gives the connection to others between our transactions.
    pooler = options.pop("pooler", "session")
    if pooler not in ("transaction", "session"):
        raise DatabaseRefused(
            f"{named} says pooler={pooler}", hint="expected one of transaction, session"
        )
    is_pooled = pooler == "transaction"
    server_options = f"{'' if is_pooled else _SESSION} {options.pop('options', '')}".strip()
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": options.pop("port", "") or port,
        "DISABLE_SERVER_SIDE_CURSORS": is_pooled,
        "OPTIONS": {"connect_timeout": 10}
        | ({"options": server_options} if server_options else {})
        | options,
    }


def _split(url: str, named: str) -> tuple[SplitResult, str]:
    try:
        parts = urlsplit(url)
        return parts, str(parts.port or "")
    except ValueError as error:
        # Without the error's message, which may hold a part of the password.
        raise DatabaseRefused(
            f"{named} is not a valid URL",
            hint="in a user or a password write : / @ ? # as %3A %2F %40 %3F %23",
        ) from error


def store_name(using: str = DEFAULT_DB_ALIAS) -> str:
    """Name the store for messages: its path, or its server and name without the password."""
    connection = connections[using]
    settings = connection.settings_dict
    name = str(settings["NAME"])
    if connection.vendor == "postgresql":
        host = settings["HOST"] or "the local server"
        return f"the database {name!r} at {host}"
    return f"the store {_sqlite_path(name)}"


def setting_of(using: str = DEFAULT_DB_ALIAS) -> str:
    """Name the place where the store was configured: an environment variable, or an option of the command."""
    return str(connections[using].settings_dict.get(NAMED, SETTING))


def _sqlite_path(name: str) -> str:
    """The path of a store by its name in the settings, which may be a URI."""
    return unquote(urlsplit(name).path) if name.startswith("file:") else name


def refusal_of(error: DatabaseError, *, using: str = DEFAULT_DB_ALIAS) -> ReviewError | None:
    """The refusal that `error` means to an operator; None for a fault of ours."""
    state = _state_of(error, using)
    meaning = _MEANINGS.get(state) or _MEANINGS.get(state[:2])
    if meaning is None:
        return None
    code, what, hint = meaning
    kind = TryAgain if code in ("store-busy", "store-unreachable") else StoreRefused
    message = f"{store_name(using)} {what.format(error=str(error).rstrip('.'))}"
    return kind(message, code, hint=hint.format(setting=setting_of(using)))


@contextmanager
def translate_db_errors(using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Turn errors of the database into refusals that name the store."""
    try:
        yield
    except DatabaseError as error:
        known = refusal_of(error, using=using)
        if known is None:
            raise
        raise known from error


def _state_of(error: DatabaseError, using: str) -> str:
    """The key of its meaning, if it has one."""
    cause = error.__cause__
    if cause is None:
        # Django's own: "PostgreSQL 14 or later is required (found 13.2)."
        return "too old" if "or later is required (found" in str(error) else ""
    if hasattr(cause, "sqlstate"):
        return cause.sqlstate or _unconnected_state(cause)
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    return f"sqlite {13 if code in _MAY_BE_FULL and _has_no_room(using) else code}"


def _has_no_room(using: str) -> bool:
    """Return whether the disk of the store is as good as full: readers make files beside it too."""
    path = _sqlite_path(str(connections[using].settings_dict["NAME"]))
    try:
        told = os.statvfs(os.path.dirname(os.path.realpath(path)))  # noqa: PTH120
    except (OSError, ValueError):
        return False
    return told.f_bavail * told.f_frsize < _ROOM


def _unconnected_state(cause: BaseException) -> str:
    kind, text = type(cause).__name__, str(cause)
    found = next((state for words, state in _UNCONNECTED if re.search(words, text)), "")
    if kind in ("OperationalError", "ConnectionTimeout"):
        return found or "08"
    # What the driver raises for a URL that it cannot read; also for a statement of ours.
    return found if kind == "ProgrammingError" and found in ("options", "pooler") else ""


T = TypeVar("T")

# Threads share a processor, and on SQLite would poll for the lock of its writer.
_ONE_AT_A_TIME = threading.RLock()
_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)


def retry_while_busy(step: Callable[[], T], *, stop: threading.Event) -> T:
    """The result of `step`, one transaction, retried for half a minute while the store is busy."""
    pauses = iter(_PAUSES)
    while True:
        try:
            with _ONE_AT_A_TIME, translate_db_errors():
                return step()
        except TryAgain:
            if not connection.in_atomic_block:
                connection.close()  # the next try makes a new one
            if (pause := next(pauses, None)) is None:
                raise
            stop.wait(pause)
