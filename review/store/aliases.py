"""Stores other than the configured one, opened under temporary aliases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.utils import load_backend

from review.store.database_url import NAMED, database_settings


def place_of(database: str) -> str:
    """`database` as it is compared and opened: a URL as it is, a path made absolute."""
    return database if "://" in database else str(Path(database).expanduser().resolve())


@contextmanager
def temporary_alias(using: str, database: str, *, named: str) -> Iterator[None]:
    """Let `using` be the alias of the store at `database`, and close it at the end.

    :param named: where `database` was named, for messages.
    :raises DatabaseRefused: it is no name of a store.
    """
    settings = database_settings(place_of(database), named=named) | {NAMED: named}
    configured = connections.configure_settings({DEFAULT_DB_ALIAS: {}, using: settings})[using]
    connection = load_backend(configured["ENGINE"]).DatabaseWrapper(configured, using)
    connections[using] = connection
    try:
        yield
    finally:
        connection.close()
        del connections[using]
