"""Turns the configured store, a path or a `postgres://` URL, into Django's database settings."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from review.errors import InputRejected

BUSY_SECONDS = 20
CONNECT_SECONDS = 10
_SCHEMES = ("postgres", "postgresql")


class DatabaseRefused(InputRejected):
    """COMMONPLACE_REVIEW_DB names a database that cannot be used."""


def database_settings(database: str) -> dict[str, Any]:
    """Django's settings for `database`.

    :raises DatabaseRefused: the URL is malformed, or of a kind that is not supported.
    """
    return postgres(database) if "://" in database else sqlite(database)


def sqlite(path: str) -> dict[str, Any]:
    """Writers queue for up to BUSY_SECONDS and take the lock at BEGIN.

    A transaction that reads first and writes later fails at once, whatever the timeout, when
    somebody else wrote in between; IMMEDIATE rules that out. WAL is a property of the file and is
    set once, when the store is made: setting it here would break read-only stores.
    """
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": path,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": BUSY_SECONDS,
            "init_command": "PRAGMA synchronous=FULL;",
        },
    }


def postgres(url: str) -> dict[str, Any]:
    """The parts of a `postgres://user:password@host:port/name?option=value` URL.

    :raises DatabaseRefused: it is malformed, of another scheme, or the driver is not installed.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        # Without the error's own words, which may be a part of the password.
        raise DatabaseRefused(
            "COMMONPLACE_REVIEW_DB is not a valid URL",
            hint="in a user or a password write : / @ ? # as %3A %2F %40 %3F %23",
        ) from error
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme not in _SCHEMES or not name:
        raise DatabaseRefused(
            f"COMMONPLACE_REVIEW_DB is a {parts.scheme}:// URL that cannot be used",
            hint="give a path, or postgres://user:password@host:port/name",
        )
    if find_spec("psycopg") is None:
        raise DatabaseRefused(
            "a postgres:// store needs the psycopg driver, which is not installed",
            hint="pip install 'commonplace-review[team]'",
        )
    options = dict(parse_qsl(parts.query))
    server_options = f"-c lock_timeout={BUSY_SECONDS}s {options.pop('options', '')}".strip()
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": options.pop("port", "") or str(port or ""),
        "OPTIONS": {"connect_timeout": CONNECT_SECONDS, "options": server_options, **options},
    }
