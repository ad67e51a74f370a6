"""SQL expressions that Django does not have: lists written out, and groups of rows as one value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Aggregate, IntegerField, TextField
from django.db.models.expressions import RawSQL


class JoinedKeys(Aggregate):
    """The integers of a group, in rising order, joined by commas: one comparable string a group."""

    function = "GROUP_CONCAT"
    name = "JoinedKeys"
    output_field = TextField()
    allow_distinct = False

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "STRING_AGG(%(expressions)s::text, ',' ORDER BY %(expressions)s)"
        return self.as_sql(compiler, connection, template=template, **context)


class JsonRows(Aggregate):
    """All rows of a query, as the text of one JSON array of arrays, in any order; NULL may stand for none.

    A driver takes Python's lock again for each row of a cursor, and waits for it where another thread
    works: ten thousand times. For one value it waits once.
    """

    name = "JsonRows"
    template = "JSON_GROUP_ARRAY(JSON_ARRAY(%(expressions)s))"
    output_field = TextField()
    allow_distinct = False

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """Write a moment with `T` and its zone."""
        template = "JSON_AGG(JSON_BUILD_ARRAY(%(expressions)s))::text"
        return self.as_sql(compiler, connection, template=template, **context)


class NamedKeys(RawSQL):
    """The right side of `…__in`, written out: preparing thousands of keys one by one takes longer
    than finding their rows.
    """

    def __init__(self, keys: Iterable[int]) -> None:
        """Take keys; anything but an integer raises here."""
        listed = ",".join(str(int(key)) for key in keys)
        super().__init__(listed or "NULL", (), IntegerField())
