"""Opens stores beside the configured one, under aliases of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.utils import load_backend

from review.errors import InputRejected, StoreRefused
from review.store import sqlite_file
from review.store.database_url import NAMED, database_settings
from review.store.opening import applied_migrations, ensure_store, known_migrations
from review.store.refusals import refusal_of, store_name
from review.store.unfinished import MARK_PREFIX, StoreUnfinished, filled_from


class StoreMissing(InputRejected):
    """There is no store where one was named."""


class BegunElsewhere(StoreRefused):
    """Another version of the program began to fill the store."""


def place_of(database: str) -> str:
    """`database` as it is compared and opened: a URL as it is, a path from its root."""
    return database if "://" in database else str(Path(database).expanduser().resolve())


@contextmanager
def attached(using: str, database: str, *, named: str) -> Iterator[None]:
    """Let `using` mean the store at `database` for a while.

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


def is_missing(*, using: str) -> bool:
    """Whether there is nothing yet: no file, an empty one, a database without a table."""
    connection = connections[using]
    if connection.vendor == "sqlite":
        return not sqlite_file.has_content(Path(connection.settings_dict["NAME"]))
    with telling(using), connection.cursor() as cursor:
        return not connection.introspection.table_names(cursor, include_views=True)


def require_store(*, using: str) -> None:
    """Open a store for reading that must be there.

    :raises StoreMissing: there is none.
    :raises StoreRefused: as for `ensure_store`.
    """
    if is_missing(using=using):
        raise StoreMissing(
            f"{store_name(using)} holds no review store to copy",
            hint="name one that is there: --from PATH, or --from postgres://user@host/name",
        )
    with telling(using):
        ensure_store(write=False, using=using)


def store_to_fill(*, using: str) -> str:
    """Make or open a store to be filled; give the id of the store it is being filled from, or "".

    :raises BegunElsewhere: another version of the program began to fill it.
    :raises StoreRefused: as for `ensure_store`.
    """
    with telling(using):
        try:
            ensure_store(write=True, using=using)
        except StoreUnfinished:
            applied = applied_migrations(using=using)
            if {name for name in applied if not name.startswith(MARK_PREFIX)} != known_migrations():
                raise BegunElsewhere(
                    f"another version of the program began to fill {store_name(using)}",
                    hint="finish with that version, or start again with an empty target",
                ) from None
            return filled_from(applied)
    return ""


@contextmanager
def telling(using: str) -> Iterator[None]:
    """Turn errors of the database, the driver's own among them, into refusals that name the store."""
    try:
        with connections[using].wrap_database_errors:
            yield
    except DatabaseError as error:
        known = refusal_of(error, using=using)
        if known is None:
            raise
        raise known from error
