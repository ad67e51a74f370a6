"""Creation of a new store: its tables are made in one transaction."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from django.db.migrations.exceptions import MigrationSchemaMissing
from django.db.migrations.executor import MigrationExecutor

from review import settings
from review.errors import InputRejected
from review.private_files import FILE_MODE, make_private
from review.store.errors import StoreNotOpened, setting_of
from review.store.sqlite.file import APPLICATION_ID, companions_of, has_content

_LOCK_KEY = 0x436D5052
_RAISED_BY_DJANGO = (MigrationSchemaMissing, transaction.TransactionManagementError)


class StoreFolderMissing(InputRejected):
    """There is no folder where the store is to be; a mistyped one is not made."""


class StoreAmongNotes(InputRejected):
    """A store would be made in `kb/` outside the reports."""


def prepare_file(path: Path, *, using: str = DEFAULT_DB_ALIAS) -> None:
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


def create_tables(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Make the tables in an empty database, all or none; leave one that has tables as it is."""
    connection = connections[using]
    # Django migrates SQLite only without these checks, which no transaction can switch off.
    connection.disable_constraint_checking()
    try:
        with transaction.atomic(using=using), connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_KEY])
            if is_empty(using=using):
                _migrate(using)
                if connection.vendor == "sqlite":
                    cursor.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    finally:
        connection.enable_constraint_checking()


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


def is_empty(*, using: str = DEFAULT_DB_ALIAS) -> bool:
    connection = connections[using]
    with connection.cursor() as cursor:
        return not connection.introspection.table_names(cursor, include_views=True)


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


def _migrate(using: str) -> None:
    executor = MigrationExecutor(connections[using])
    try:
        executor.migrate(executor.loader.graph.leaf_nodes())
    except _RAISED_BY_DJANGO as error:
        # What Django tried after the database had refused something: a full disk, no permission.
        cause: BaseException | None = error
        while isinstance(cause, _RAISED_BY_DJANGO):
            cause = cause.__context__
        if isinstance(cause, DatabaseError):
            raise cause from cause.__cause__
        raise
