"""Lets SQLite hold against its keys, after a step of a migration, what the step can have broken.

Django has it look at every row of the store after each step, and the tables for people take twenty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.recorder import MigrationRecorder

_APP = "review"
_EXISTING = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
_KEYS = """SELECT child.name, key."table" FROM sqlite_master AS child
    JOIN pragma_foreign_key_list(child.name) AS key WHERE child.type = 'table'"""


@contextmanager
def checks_by_step(using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Check the whole store only after steps whose statements name a table of reviews.

    After any other, the tables that are not of reviews are checked, and each that refers to them.
    On a server, which checks as it writes, nothing changes.
    """
    connection = connections[using]
    if connection.vendor != "sqlite":
        yield
        return
    steps = _Steps(connection)
    connection.check_constraints = steps.check  # type: ignore[method-assign]
    try:
        with connection.execute_wrapper(steps.look_at):
            yield
    finally:
        del connection.check_constraints


class _Steps:
    """The steps of one migration of an SQLite store, one after the other."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self._check = connection.check_constraints
        steps_taken = MigrationRecorder.Migration._meta.db_table
        others = _tables_of_models(of_reviews=False) | {steps_taken}
        # What nobody has a model of may have been ours.
        self._ours = (self._tables() - others) | _tables_of_models(of_reviews=True)
        self._names_ours = False

    def look_at(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        """Remember whether a statement names a table of reviews, and execute it."""
        self._names_ours = self._names_ours or any(name in sql for name in self._ours)
        return execute(sql, params, many, context)

    def check(self, table_names: Iterable[str] | None = None) -> None:
        """Check what the step can have broken, and begin the next.

        :raises IntegrityError: a row refers to one that is not there.
        """
        if table_names is None and not self._names_ours:
            table_names = sorted(self._in_reach_of_others())
        self._check(table_names)
        self._names_ours = False

    def _in_reach_of_others(self) -> set[str]:
        others = self._tables() - self._ours
        with self._connection.cursor() as cursor:
            cursor.execute(_KEYS)
            return others | {child for child, parent in cursor.fetchall() if parent in others}

    def _tables(self) -> set[str]:
        with self._connection.cursor() as cursor:
            cursor.execute(_EXISTING)
            return {name for (name,) in cursor.fetchall()}


def _tables_of_models(*, of_reviews: bool) -> set[str]:
    return {
        model._meta.db_table
        for model in apps.get_models(include_auto_created=True)
        if (model._meta.app_label == _APP) is of_reviews
    }
