"""Rows of a query as one value."""

from __future__ import annotations

from typing import Any

from django.db.models import Aggregate, TextField


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
        """PostgreSQL's spelling of the same; a moment is written with `T` and its zone."""
        template = "JSON_AGG(JSON_BUILD_ARRAY(%(expressions)s))::text"
        return self.as_sql(compiler, connection, template=template, **context)
