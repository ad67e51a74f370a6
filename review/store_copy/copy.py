"""Copy of a store into another database: every row, in one transaction, counted and hashed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from django.apps import apps
from django.core.management.color import no_style
from django.db import DEFAULT_DB_ALIAS, DataError, IntegrityError, connections, transaction
from django.db.models import Model, QuerySet
from django.db.utils import load_backend

from review.documents.base import Document
from review.errors import Conflict, InputRejected, ReviewError
from review.models import ReviewStore
from review.store.errors import (
    NAMED,
    StoreNotThere,
    database_settings,
    store_name,
    translate_db_errors,
)
from review.store.opening import ensure_store


class TableCopiedJson(Document, kw_only=True):
    """One table; `sha256` is of its rows in the order of their keys, whatever the database."""

    table: str
    rows: int
    sha256: str
    added: int = 0
    changed: int = 0
    removed: int = 0


class StoreCopyJson(Document, kw_only=True, tag_field="schema", tag="review-store-copy/1"):
    """The answer of `review_store_copy`; `target_was` is `missing`, `empty` or `whole`."""

    source: str
    target: str
    store_id: str
    target_was: str
    dry_run: bool
    verified: bool
    tables: list[TableCopiedJson]


SOURCE, TARGET = "copied_from", "copied_to"
_ROWS_AT_ONCE = 500
_encode = msgspec.msgpack.Encoder().encode

Row = tuple[Any, ...]
# What is done, the table, and how many of its rows are done.
Progress = Callable[[str, str, int], None]


def copy_store(
    source: str,
    target: str,
    *,
    source_named: str = "--from",
    dry_run: bool = False,
    report: Progress,
) -> StoreCopyJson:
    """Copy what is committed in the source now into an empty target, or compare with a copy.

    A process that is killed leaves the target empty; tables not of reviews are left as they are.
    """
    if place_of(source) == place_of(target):
        raise InputRejected(f"{source_named} and --to name one store", "same-place")
    with (
        temporary_alias(SOURCE, source, named=source_named),
        temporary_alias(TARGET, target, named="--to"),
    ):
        with translate_db_errors(SOURCE):
            _open_source()
            store_id = ReviewStore.objects.using(SOURCE).identity()
        with translate_db_errors(TARGET):
            target_was, tables = _copy(store_id, report, writes=not dry_run)
        return StoreCopyJson(
            source=store_name(SOURCE),
            target=store_name(TARGET),
            store_id=store_id,
            target_was=target_was,
            dry_run=dry_run,
            verified=not dry_run,
            tables=tables,
        )


def _copy(store_id: str, report: Progress, *, writes: bool) -> tuple[str, list[TableCopiedJson]]:
    """Return what the target was, and each table as the source holds it."""
    # Parents come first: a class refers to classes that exist already.
    models = list(apps.get_app_config("review").get_models())
    was_missing = _open_target(make=writes)
    if was_missing and not writes:
        return "missing", [_fill(model, report, writes=False) for model in models]
    with transaction.atomic(using=TARGET):
        if writes:
            ReviewStore.objects.using(TARGET).take_turn()
        if any(_rows(TARGET, model).exists() for model in models if model is not ReviewStore):
            held = ReviewStore.objects.using(TARGET).identity()
            if held != store_id:
                raise Conflict(
                    f"{store_name(TARGET)} holds rows of the store {held}, not of {store_id}",
                    "target-taken",
                    hint="name an empty database or a new file; nothing was written",
                )
            return "whole", [_compare(model, report) for model in models]
        filled = [_fill(model, report, writes=writes) for model in models]
        if writes:
            for sql in connections[TARGET].ops.sequence_reset_sql(no_style(), models):
                _query(TARGET, sql)
    return "missing" if was_missing else "empty", filled


def _compare(model: type[Model], report: Progress) -> TableCopiedJson:
    wanted = _scan(SOURCE, model, partial(report, "comparing"))
    found = _scan(TARGET, model, partial(report, "comparing"))
    if found != wanted:
        raise Conflict(
            f"{wanted.table} differs: {wanted.rows} rows in {store_name(SOURCE)},"
            f" {found.rows} in {store_name(TARGET)}, or other values",
            "target-differs",
            hint="the source went on since the copy was made, or the copy was used;"
            " name an empty target to copy anew",
        )
    return wanted


def _fill(model: type[Model], report: Progress, *, writes: bool) -> TableCopiedJson:
    sent = _scan(SOURCE, model, partial(report, "copying"), insert=writes)
    if writes and _scan(TARGET, model, partial(report, "verifying")) != sent:
        raise ReviewError(
            f"{sent.table} in {store_name(TARGET)} is not as in {store_name(SOURCE)};"
            " nothing was kept",
            "copy-not-verified",
            hint="commonplace review_doctor --check looks at the source",
        )
    return msgspec.structs.replace(sent, added=sent.rows)


def _scan(
    using: str, model: type[Model], report: Callable[[str, int], None], *, insert: bool = False
) -> TableCopiedJson:
    """Count and hash the rows of a table; `insert` adds them to the target."""
    table, count, digest = model._meta.db_table, 0, sha256()
    for rows in _batches(using, model):
        if insert:
            _insert(model, rows)
        for row in rows:
            digest.update(_encode([_comparable(value) for value in row]))
        count += len(rows)
        report(table, count)
    if insert:
        try:
            connections[TARGET].check_constraints(table_names=[table])
        except IntegrityError as error:
            raise _refused(table, error) from error
    return TableCopiedJson(table=table, rows=count, sha256=digest.hexdigest())


def _rows(using: str, model: type[Model]) -> QuerySet[Model]:
    return model._base_manager.using(using).order_by("pk")


def _batches(using: str, model: type[Model]) -> Iterator[list[Row]]:
    """The values of all fields of each row, by key. No cursor stays open, which a pooler forbids."""
    values = _rows(using, model).values_list("pk", *_fields(model))
    rows = values[:_ROWS_AT_ONCE]
    with translate_db_errors(using):
        while found := list(rows):
            yield [row[1:] for row in found]
            rows = values.filter(pk__gt=found[-1][0])[:_ROWS_AT_ONCE]


def _fields(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def _comparable(value: Any) -> Any:
    """JSON as one text for equal values: a database may write 100 for 1e2."""
    if isinstance(value, (dict, list)):
        return json.dumps(json.loads(json.dumps(value), parse_int=float), sort_keys=True)
    return value


def _insert(model: type[Model], rows: Sequence[Row]) -> None:
    manager = model._base_manager.using(TARGET)
    try:
        with transaction.atomic(using=TARGET):
            if model is ReviewStore:  # its one row is there from the start
                manager.update(**dict(zip(_fields(model), rows[0], strict=True)))
            else:
                manager.bulk_create([model(*row) for row in rows])
    except (DataError, IntegrityError) as error:
        if len(rows) == 1:
            raise _refused(f"{model._meta.db_table} row {rows[0][0]}", error) from error
        for row in rows:  # one of them is refused, and named
            _insert(model, [row])


def _refused(what: str, error: Exception) -> ReviewError:
    return ReviewError(
        f"{store_name(TARGET)} cannot hold {what}: {str(error).splitlines()[0]}",
        "row-refused",
        hint="commonplace review_doctor --check looks at the source; nothing was kept",
    )


def _open_source() -> None:
    """Open the source, and see until its connection is closed what is committed now."""
    try:
        ensure_store(write=False, make=False, using=SOURCE)
    except StoreNotThere as error:
        raise InputRejected(
            f"{store_name(SOURCE)} holds no review store to copy",
            "store-missing",
            hint="name one that is there: --from PATH, or --from postgres://user@host/name",
        ) from error
    # Not `atomic`, which takes the write lock of an SQLite store.
    is_sqlite = connections[SOURCE].vendor == "sqlite"
    _query(SOURCE, "BEGIN" if is_sqlite else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")


def _open_target(*, make: bool) -> bool:
    """Open the target, and make it if it was missing; give whether it was."""
    try:
        ensure_store(write=make, make=False, using=TARGET)
    except StoreNotThere:
        if make:
            ensure_store(write=True, using=TARGET)
        return True
    if "sqlite" not in (connections[SOURCE].vendor, connections[TARGET].vendor):
        which = "SELECT pg_postmaster_start_time(), current_database()"
        if _query(SOURCE, which) == _query(TARGET, which):
            raise InputRejected(
                f"{store_name(SOURCE)} and {store_name(TARGET)} are one database", "same-place"
            )
    return False


def _query(using: str, statement: str) -> Any:
    with connections[using].cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone() if cursor.description else None


def place_of(database: str) -> str:
    """`database` as it is compared and opened: a URL as it is, a path made absolute."""
    return database if "://" in database else str(Path(database).expanduser().resolve())


@contextmanager
def temporary_alias(using: str, database: str, *, named: str) -> Iterator[None]:
    """Let `using` be the alias of the store at `database`, which was `named` there, for a time."""
    settings = database_settings(place_of(database), named=named) | {NAMED: named}
    configured = connections.configure_settings({DEFAULT_DB_ALIAS: {}, using: settings})[using]
    connection = load_backend(configured["ENGINE"]).DatabaseWrapper(configured, using)
    connections[using] = connection
    try:
        yield
    finally:
        connection.close()
        del connections[using]
