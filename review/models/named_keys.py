"""Many integer keys named in one query, without a parameter for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Expression, IntegerField


class NamedKeys(Expression):
    """The right side of `…__in`, written out: preparing thousands of keys one by one takes longer
    than finding their rows.
    """

    output_field = IntegerField()

    def __init__(self, keys: Iterable[int]) -> None:
        """Take keys; anything but an integer raises here."""
        super().__init__()
        self.keys = tuple(map(int, keys))

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """A list in parentheses; an empty one holds no row."""
        return f"({','.join(map(str, self.keys)) or 'NULL'})", []
