"""Opens a store: made when missing, refused when older, newer or not ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections

import review
from review import settings
from review.errors import StoreRefused
from review.store.errors import (
    MIGRATE,
    StoreForeign,
    StoreNewer,
    StoreOlder,
    not_there,
    setting_of,
    store_name,
    translate_db_errors,
)
from review.store.sqlite import file as sqlite_file


class Use(Enum):
    """The access to the store that a command needs."""

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
    :param before_making: called where the store's file is missing, even if none is made; it may
        refuse.
    :raises StoreRefused: it is missing and not to be made, older, newer, foreign, corrupt, or
        cannot be opened or written.
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


def is_there(using: str = DEFAULT_DB_ALIAS) -> bool:
    """Return whether there is a store to be opened; that of a server is taken to be there."""
    file = sqlite_file.file_of(using) if connections[using].vendor == "sqlite" else None
    return file is None or sqlite_file.has_content(file)


def prepare_migration(*, before_making: Callable[[], None] | None = None) -> None:
    """Make the store when it is missing, and refuse any but an older one, as `ensure_store` does."""
    with suppress(StoreOlder):
        ensure_store(write=True, before_making=before_making)


def known_migrations() -> frozenset[str]:
    """The names of this version's migrations, from their files, without an import."""
    folder = Path(review.__file__).parent / "migrations"
    return frozenset(file.stem for file in folder.glob("[0-9]*.py"))


def _opened(
    *, write: bool, make: bool, using: str, before_making: Callable[[], None] | None
) -> frozenset[str]:
    connection = connections[using]
    if connection.vendor == "unknown":
        settings.current()  # says why the settings were read without a configuration
        raise StoreRefused("there was no configuration when this process started")
    if connection.vendor == "sqlite" and connection.connection is None:
        _open_file(write=write, make=make, using=using, before_making=before_making)
    applied = applied_migrations(using=using)
    if not applied:
        from review.store import creation

        if creation.is_empty(using=using):
            if not make:
                raise not_there(using)
            creation.create_tables(using=using)
            applied = applied_migrations(using=using)
    if not applied:
        raise StoreForeign(
            f"{store_name(using)} holds something else than a review store; it was not touched",
            hint=f"point {setting_of(using)} at a new file or an empty database",
        )
    return applied


def _open_file(
    *, write: bool, make: bool, using: str, before_making: Callable[[], None] | None
) -> None:
    file = sqlite_file.file_of(using)
    if file is None:
        return
    if sqlite_file.has_content(file):
        sqlite_file.open_file(file, write=write, using=using)
        return
    if before_making is not None:
        before_making()
    if not make:
        raise not_there(using)
    from review.store import creation

    creation.prepare_file(file, using=using)


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
    """Return whether the database says that a statement names a table that it does not have."""
    state = getattr(error.__cause__, "sqlstate", None)
    return state == "42P01" or "no such table" in str(error)


@contextmanager
def checks_without_reviews(using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Leave the tables of reviews out of the checks if none of their migrations is to be applied.

    Django checks every row of an SQLite database after each of the twenty migrations that make the
    tables for people: minutes, in a store of millions of rows.
    """
    connection = connections[using]
    if connection.vendor != "sqlite" or applied_migrations(using=using) != known_migrations():
        yield
        return
    ours = {model._meta.db_table for model in apps.get_app_config("review").get_models()}
    check = connection.check_constraints

    def check_others(table_names: Iterable[str] | None = None) -> None:
        check(table_names or set(connection.introspection.table_names()) - ours)

    connection.check_constraints = check_others  # type: ignore[method-assign]
    try:
        yield
    finally:
        del connection.check_constraints
