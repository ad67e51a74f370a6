"""Turns the name of a store, a path or a `postgres://` URL, into Django's database settings."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from review.errors import InputRejected

SETTING = "COMMONPLACE_REVIEW_DB"
# The key among Django's settings of a database that says where else it was named, for messages.
NAMED = "NAMED"
BUSY_SECONDS = 20
# Compiling a query took ten times as long as running it; and with the costs of turning disks the
# planner read whole tables, where indexes give the few thousand rows that a question is about.
_SESSION = f"-c lock_timeout={BUSY_SECONDS}s -c jit=off -c random_page_cost=1.1"


class DatabaseRefused(InputRejected):
    """The name of a store is none that can be used."""


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
            hint="install the project with what it needs: pip install '.[team]'",
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
