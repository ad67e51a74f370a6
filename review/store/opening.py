"""Opens a store: made when missing, refused when older, newer or not ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction

import review
from review import settings
from review.errors import StoreRefused
from review.store.errors import (
    MIGRATE,
    StoreForeign,
    StoreNewer,
    StoreNotThere,
    StoreOlder,
    setting_of,
    store_name,
    translate_db_errors,
)
from review.store.sqlite.file import APPLICATION_ID, file_of, has_content, open_file, prepare_file

_LOCK_KEY = 0x436D5052


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
    before_making: Callable[[], None] = lambda: None,
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
        if connections[using].vendor == "unknown":
            settings.current()  # says why the settings were read without a configuration
            raise StoreRefused("there was no configuration when this process started")
        if connections[using].connection is None and (file := file_of(using)):
            if has_content(file):
                open_file(file, write=write, using=using)
            else:
                before_making()
                _make(file, make=make, using=using)
        applied = applied_migrations(using=using) or _make(None, make=make, using=using)
    known = known_migrations()
    if applied - known:
        raise StoreNewer(
            f"{store_name(using)} was made by a newer version (it has {max(applied - known)})",
            hint="install the version that the others use",
        )
    if known - applied:
        raise StoreOlder(
            f"{store_name(using)} was made by an older version (it lacks {min(known - applied)})",
            hint=f"run: {MIGRATE}",
        )


def _make(file: Path | None, *, make: bool, using: str) -> frozenset[str]:
    """Make an empty store in its missing `file`, or the tables in a database without ours."""
    if file is None and not _is_empty(using=using):
        raise StoreForeign(
            f"{store_name(using)} holds something else than a review store; it was not touched",
            hint=f"point {setting_of(using)} at a new file or an empty database",
        )
    if not make:
        raise StoreNotThere(
            f"{store_name(using)} is missing or empty: no store was made yet",
            hint=f"see where {setting_of(using)} points; the first other command makes a new store",
        )
    if file is not None:
        prepare_file(file, using=using)
    _create_tables(using=using)
    return applied_migrations(using=using)


def _create_tables(*, using: str) -> None:
    """Make the tables in an empty database, all or none; leave one that has tables as it is."""
    connection = connections[using]
    # Django migrates SQLite only without these checks, which no transaction can switch off.
    connection.disable_constraint_checking()
    try:
        with transaction.atomic(using=using), connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_KEY])
            if _is_empty(using=using):
                _migrate(using)
                if connection.vendor == "sqlite":
                    cursor.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    finally:
        connection.enable_constraint_checking()


def _is_empty(*, using: str) -> bool:
    connection = connections[using]
    with connection.cursor() as cursor:
        return not connection.introspection.table_names(cursor, include_views=True)


def _migrate(using: str) -> None:
    # Imported only where a store is made: commands start without it.
    from django.db.migrations.exceptions import MigrationSchemaMissing
    from django.db.migrations.executor import MigrationExecutor

    after = (MigrationSchemaMissing, transaction.TransactionManagementError)
    executor = MigrationExecutor(connections[using])
    try:
        executor.migrate(executor.loader.graph.leaf_nodes())
    except after as error:
        # What Django tried after the database had refused something: a full disk, no permission.
        cause: BaseException | None = error
        while isinstance(cause, after):
            cause = cause.__context__
        if isinstance(cause, DatabaseError):
            raise cause from cause.__cause__
        raise


def is_there(using: str = DEFAULT_DB_ALIAS) -> bool:
    """Return whether there is a store to be opened; that of a server is taken to be there."""
    file = file_of(using)
    return file is None or has_content(file)


def known_migrations() -> frozenset[str]:
    """The names of this version's migrations, from their files, without an import."""
    folder = Path(review.__file__).parent / "migrations"
    return frozenset(file.stem for file in folder.glob("[0-9]*.py"))


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
