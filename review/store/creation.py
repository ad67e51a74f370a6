"""Makes a new store: beside its place and linked into it, or in one transaction on a server."""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path

from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction
from django.db.migrations.exceptions import MigrationSchemaMissing
from django.db.migrations.executor import MigrationExecutor

from review.folders import FILE_MODE, make_private
from review.store.header import APPLICATION_ID
from review.store.refusals import StoreNotOpened, setting_of
from review.store.succession import COMPANIONS, companions_of

_LOCK_KEY = 0x436D5052
_DRAFT_SUFFIX = ".new"
_OF_DJANGO = (MigrationSchemaMissing, transaction.TransactionManagementError)


def create_file(path: Path, *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Make an SQLite store at `path`, which is missing or empty.

    Whoever comes second finds the first one's store; a killed attempt leaves no store at all.

    :raises StoreNotOpened: there is no permission, or no such place.
    """
    try:
        make_private(path.parent)
        with _one_at_a_time(path.parent) as alone:
            if not _is_empty(path):
                return
            _clear_remains(path, alone=alone)
            _build_and_publish(path, using)
    except OSError as error:
        raise StoreNotOpened(
            f"the store {path} cannot be made: {error.strerror}",
            hint=f"make its folder writable, or let {setting_of(using)} name another file",
        ) from error


def is_empty_on_server(*, using: str = DEFAULT_DB_ALIAS) -> bool:
    """Whether the database has no table yet."""
    connection = connections[using]
    with connection.cursor() as cursor:
        return not connection.introspection.table_names(cursor, include_views=True)


def create_on_server(*, using: str = DEFAULT_DB_ALIAS) -> None:
    """Make the tables in an empty database, all or none; leave one that has tables alone."""
    with transaction.atomic(using=using):
        with connections[using].cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK_KEY])
        if not is_empty_on_server(using=using):
            return
        _migrate(using)


def _build_and_publish(path: Path, using: str) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}{_DRAFT_SUFFIX}")
    try:
        os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE))
        with _pointed_at(draft, using):
            _migrate(using)
            with connections[using].cursor() as cursor:
                cursor.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                # Once and here: it stays with the file, and on a read-only store it would fail.
                cursor.execute("PRAGMA journal_mode = WAL")
        _publish(draft, path)
    finally:
        for suffix in ("", *COMPANIONS):
            Path(f"{draft}{suffix}").unlink(missing_ok=True)


def _publish(draft: Path, path: Path) -> None:
    if path.exists():
        draft.replace(path)
        return
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        return
    except OSError:
        # A file system without hard links; the lock on the folder is what keeps us apart.
        if not path.exists():
            draft.replace(path)


@contextmanager
def _pointed_at(path: Path, using: str) -> Iterator[None]:
    connection = connections[using]
    settings = connection.settings_dict
    configured = settings["NAME"]
    settings["NAME"] = str(path)
    try:
        yield
    finally:
        connection.close()
        settings["NAME"] = configured


def _migrate(using: str) -> None:
    executor = MigrationExecutor(connections[using])
    try:
        executor.migrate(executor.loader.graph.leaf_nodes())
    except _OF_DJANGO as error:
        # Django's words for what it tried after the database refused something: a full disk, no right.
        refused = _refused_first(error)
        if refused is None:
            raise
        raise refused from refused.__cause__


def _refused_first(error: BaseException | None) -> DatabaseError | None:
    while error is not None:
        if isinstance(error, DatabaseError) and not isinstance(error, _OF_DJANGO):
            return error
        error = error.__context__
    return None


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[bool]:
    """Hold the folder's lock, which leaves no file behind; False where folders have none."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        alone = False
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
            alone = True
        yield alone
    finally:
        os.close(handle)


def _is_empty(path: Path) -> bool:
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True


def _clear_remains(path: Path, *, alone: bool) -> None:
    """Clear what a killed attempt left, and put aside the log of a store that is gone.

    SQLite would play such a log into the new file.

    :param alone: whether nobody else makes a store here now, whose files these could be.
    :raises StoreNotOpened: somebody may, and there is such a log.
    """
    if not alone:
        for left in companions_of(path):
            raise StoreNotOpened(
                f"{left} is the log of a store that is gone; none was made beside it",
                hint="put it away, then run the same command again",
            )
        return
    for draft in path.parent.glob(f".{path.name}.*{_DRAFT_SUFFIX}*"):
        draft.unlink(missing_ok=True)
    for left in companions_of(path):
        left.replace(_free_name(left))


def _free_name(log: Path) -> Path:
    """A name beside the log under which nothing plays it, and no earlier one is."""
    name = f"{log.name}.of-a-lost-store"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(free for free in map(log.with_name, names) if not os.path.lexists(free))
