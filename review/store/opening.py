"""Decides whether the configured store can be used: made when missing, refused when not ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections

import review
from review import conf
from review.errors import StoreRefused
from review.store import sqlite_file
from review.store.refusals import (
    MIGRATE,
    StoreForeign,
    StoreNewer,
    StoreOlder,
    not_there,
    setting_of,
    store_name,
    translate_db_errors,
)

_MIGRATION = re.compile(r"(\d{4}_\w+)\.py")


class Use(Enum):
    """What a command needs of the store."""

    NONE = "none"
    READ = "read"
    WRITE = "write"


def ensure_store(
    *,
    write: bool,
    make: bool = True,
    using: str = DEFAULT_DB_ALIAS,
    before_making: Callable[[], None] | None = None,
) -> None:
    """Make sure that the store can be used: made when missing, read-only when it must be.

    :param make: whether a missing one is made; else it is refused.
    :param before_making: called where the store's file is missing, whether one is made or not; it
        may refuse.
    :raises StoreNotThere: it is missing and not to be made.
    :raises StoreRefused: it is older, newer, foreign, corrupt, or cannot be opened or written.
    :raises TryAgain: it is busy, or its server does not answer.
    """
    with translate_db_errors(using):
        applied = _opened(write=write, make=make, using=using, before_making=before_making)
    known = known_migrations()
    if applied == known:
        return
    if applied - known:
        raise StoreNewer(
            f"{store_name(using)} was made by a newer version (it has {max(applied - known)})",
            hint="install the version that the others use",
        )
    raise StoreOlder(
        f"{store_name(using)} was made by an older version (it lacks {min(known - applied)})",
        hint=f"run: {MIGRATE}",
    )


def prepare_migration(*, before_making: Callable[[], None] | None = None) -> None:
    """Make the store when it is missing, and let only an older one of ours be migrated.

    :param before_making: as for `ensure_store`.
    :raises StoreRefused: it is newer, foreign, corrupt, or cannot be opened or written.
    """
    try:
        ensure_store(write=True, before_making=before_making)
    except StoreOlder:
        return


def known_migrations() -> frozenset[str]:
    """The names of this version's migrations, from their files: nothing is imported to know."""
    folder = Path(review.__file__).parent / "migrations"
    matches = (_MIGRATION.fullmatch(file.name) for file in folder.iterdir())
    return frozenset(match[1] for match in matches if match)


def _opened(
    *, write: bool, make: bool, using: str, before_making: Callable[[], None] | None
) -> frozenset[str]:
    connection = connections[using]
    if connection.vendor == "unknown":
        # There was no configuration when the settings were read; this says why.
        conf.current()
        raise StoreRefused("there was no configuration when this process started")
    if connection.vendor == "sqlite" and connection.connection is None:
        sqlite_file.prepare(write=write, make=make, using=using, before_making=before_making)
    applied = applied_migrations(using=using)
    if applied:
        return applied
    if connection.vendor == "postgresql":
        from review.store import creation

        if not make and creation.is_empty_on_server(using=using):
            raise not_there(using)
        creation.create_on_server(using=using)
        applied = applied_migrations(using=using)
    if not applied:
        raise StoreForeign(
            f"{store_name(using)} holds something else than a review store; it was not touched",
            hint=f"point {setting_of(using)} at a new file or an empty database",
        )
    return applied


def applied_migrations(*, using: str = DEFAULT_DB_ALIAS) -> frozenset[str]:
    """The migrations of ours that the store has; none when it has no such table."""
    try:
        with connections[using].cursor() as cursor:
            cursor.execute("SELECT name FROM django_migrations WHERE app = 'review'")
            return frozenset(name for (name,) in cursor.fetchall())
    except DatabaseError as error:
        if says_no_table(error):
            return frozenset()
        raise


def says_no_table(error: DatabaseError) -> bool:
    """Whether the database says that a statement names a table that it does not have."""
    state = getattr(error.__cause__, "sqlstate", None)
    return state == "42P01" or "no such table" in str(error)
