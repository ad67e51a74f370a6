"""Constraint checks of SQLite while Django migrates tables that are not of reviews."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections

from review.store.opening import applied_migrations, known_migrations


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
