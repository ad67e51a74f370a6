"""SQL that Django does not have, and constraints in one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from django.db import models
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now

_T = TypeVar("_T")


class JoinedKeys(models.Aggregate):
    """The integers of a group, in rising order, joined by commas: one comparable string a group."""

    function = "GROUP_CONCAT"
    name = "JoinedKeys"
    output_field = models.TextField()
    allow_distinct = False

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        joined = self.copy()
        # Not as an argument: an aggregate with a filter adds to the template that it has.
        joined.template = "STRING_AGG(%(expressions)s::text, ',' ORDER BY %(expressions)s)"
        return joined.as_sql(compiler, connection, **context)


class NamedKeys(RawSQL):
    """The right side of `…__in`, written out: preparing thousands takes longer than reading."""

    def __init__(self, keys: Iterable[int]) -> None:
        """Take keys; anything but an integer raises here."""
        listed = ",".join(str(int(key)) for key in keys)
        super().__init__(listed or "NULL", (), models.IntegerField())


class DatabaseClock(Now):
    """The time at the database, the one clock that all machines share, when the row is written."""

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="CLOCK_TIMESTAMP()", **extra)


def check(name: str, condition: models.Q | models.Lookup[int]) -> models.CheckConstraint:
    return models.CheckConstraint(condition=condition, name=name)


def unique(name: str, fields: str) -> models.UniqueConstraint:
    return models.UniqueConstraint(fields=fields.split(), name=name)


def index(name: str, fields: str, *, where: models.Q | None = None) -> models.Index:
    return models.Index(fields=fields.split(), name=name, condition=where)


def batched(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """`items` in lists of at most `size`: databases bound the parameters of one statement."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
