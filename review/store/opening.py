"""Opens a store, and the file of an SQLite one: made when missing, refused when it is not ours."""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections, transaction

from review import settings
from review.errors import InputRejected, StoreRefused
from review.private_files import FILE_MODE, make_private
from review.store import errors

# In the header of each store's file, so that a store is known without being opened.
APPLICATION_ID = 0x436D5052
_MAGIC = b"SQLite format 3\0"
_ID_OFFSET = 68

COMPANIONS = ("-wal", "-journal", "-shm")

_configured: dict[str, dict[str, Any]] = {}  # of stores that were opened read-only, by alias


def file_of(using: str) -> Path | None:
    """The file of the store under this alias; None on a server, or for a URI, which is open."""
    name = str(connections[using].settings_dict["NAME"])
    is_uri = name.startswith("file:") or name == ":memory:"
    is_file = connections[using].vendor == "sqlite" and not is_uri
    return Path(os.path.realpath(name)) if is_file else None


def open_file(path: Path, *, write: bool, using: str) -> None:
    """Have the store's existing file opened read-only if it must be, unless `write`."""
    if is_writable(path):
        return
    if write:
        raise StoreRefused(
            f"the store {path} is read-only", "store-read-only", hint=errors.READ_ONLY_HINT
        )
    if _has_log(path) and not Path(f"{path}-shm").exists():
        raise StoreRefused(
            f"the store {path} holds recent writes that cannot be read without writing beside it",
            "store-not-opened",
            hint="run a command once where its folder is writable, or copy the store and its -wal",
        )
    named = connections[using].settings_dict
    _configured[using] = named.copy()
    # Without the write lock that IMMEDIATE takes at BEGIN.
    named.update(
        NAME=read_only_uri(path), OPTIONS=named["OPTIONS"] | {"transaction_mode": "DEFERRED"}
    )


def recheck_store(using: str = DEFAULT_DB_ALIAS) -> None:
    """Reopen a store that was opened read-only: an `immutable` one never sees others write."""
    if (named := _configured.pop(using, None)) is not None:
        connections[using].close()
        connections[using].settings_dict.update(named)
        open_file(Path(os.path.realpath(named["NAME"])), write=False, using=using)


def has_content(path: Path) -> bool:
    """Return whether there is a file that is not empty; refuse what is no file."""
    try:
        info = path.stat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreRefused(
            f"the store {path} cannot be opened: {error.strerror}",
            "store-not-opened",
            hint="check the path and its permissions",
        ) from error
    if not stat.S_ISREG(info.st_mode):
        raise StoreRefused(
            f"{path} is not a file, and cannot be a store", "store-not-opened", hint="name a file"
        )
    return info.st_size > 0


def is_marked_store(path: Path) -> bool:
    """Return whether a file that is not open (closing it drops its locks) bears our mark."""
    with path.open("rb") as stream:
        header = stream.read(_ID_OFFSET + 4)
    mark = int.from_bytes(header[_ID_OFFSET:], "big")
    return header.startswith(_MAGIC) and mark == APPLICATION_ID


def integrity_faults(execute: Callable[[str], Any], *, most: int) -> list[str]:
    """The first faults of pages, indexes and references; `execute` is a connection's or cursor's."""
    return [line for (line,) in execute(f"PRAGMA integrity_check({most})") if line != "ok"] + [
        f"{table} row {row_id} refers to a row of {parent} that is not there"
        for table, row_id, parent, _key in execute("PRAGMA foreign_key_check")
    ]


def companions_of(path: Path) -> list[Path]:
    """The files that SQLite left beside the file of that name, which may be gone."""
    return [left for suffix in COMPANIONS if os.path.lexists(left := Path(f"{path}{suffix}"))]


def read_only_uri(path: Path) -> str:
    """An SQLite URI that reads `path` and makes no file beside it.

    `immutable` spares the shared-memory file that WAL wants, but would not see a log's writes.
    """
    return f"{path.as_uri()}?mode=ro" + ("" if _has_log(path) else "&immutable=1")


def is_writable(path: Path) -> bool:
    # The folder too: a write makes files beside the store.
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _has_log(path: Path) -> bool:
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0


def prepare_file(path: Path, *, using: str) -> None:
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
        raise StoreRefused(
            f"the store {path} cannot be made: {error.strerror}",
            "store-not-opened",
            hint=f"make its folder writable, or let {errors.setting_of(using)} name another file",
        ) from error


def _refuse_place(path: Path, using: str) -> None:
    """Refuse a mistyped path; only the reports folder is made with the first store."""
    try:
        config = settings.current()
    except settings.RootNotFound:
        config = None  # the target of a copy needs no knowledge base around it
    if config is not None and config.holds_sources(path):
        raise InputRejected(
            f"the store {path} would lie in the knowledge base; nothing was made",
            "store-among-notes",
            hint=f"let {errors.setting_of(using)} name a file below {settings.REPORTS_FOLDER}/, or outside kb/",
        )
    reports = config and Path(os.path.realpath(config.root / settings.REPORTS_FOLDER))
    if not path.parent.exists() and path.parent != reports:
        raise InputRejected(
            f"there is no folder {path.parent} for the store {path.name}; nothing was made",
            "store-folder-missing",
            hint=f"make it first, or correct {errors.setting_of(using)}",
        )


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
    """Make sure that the store can be used: made when missing if `make`, read-only if it must be.

    :param before_making: called where the store's file is missing; it may refuse.
    """
    with errors.translate_db_errors(using):
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
        raise errors.StoreNewer(
            f"{errors.store_name(using)} was made by a newer version (it has {max(applied - known)})",
            hint="install the version that the others use",
        )
    if known - applied:
        raise errors.StoreOlder(
            f"{errors.store_name(using)} was made by an older version (it lacks {min(known - applied)})",
            hint=f"run: {errors.MIGRATE}",
        )


def _make(file: Path | None, *, make: bool, using: str) -> frozenset[str]:
    """Make an empty store in its missing `file`, or the tables in a database without ours."""
    if file is None and not _is_empty(using=using):
        raise StoreRefused(
            f"{errors.store_name(using)} holds something else than a review store; it was not touched",
            "store-foreign",
            hint=f"point {errors.setting_of(using)} at a new file or an empty database",
        )
    if not make:
        raise errors.StoreNotThere(
            f"{errors.store_name(using)} is missing or empty: no store was made yet",
            hint=f"see where {errors.setting_of(using)} points; the first other command makes a new store",
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
    folder = Path(__file__).parents[1] / "migrations"
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
    return getattr(error.__cause__, "sqlstate", None) == "42P01" or "no such table" in str(error)


@contextmanager
def checks_without_reviews(using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Leave the tables of reviews out of the checks if none of their migrations is to be applied.

    Django checks every row of an SQLite database after each migration, which takes minutes.
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
