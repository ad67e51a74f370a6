"""Right sides of `…__in` that are written out in the statement, without a parameter for each value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.db.models import Expression, IntegerField, TextField

_WORD = re.compile(r"[a-z-]+")


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

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        """One literal: it takes this server longer to read a list of a thousand than to find their rows."""
        return f"(SELECT UNNEST('{{{','.join(map(str, self.keys))}}}'::bigint[]))", []


class NamedWords(Expression):
    """The right side of `…__in`, words of a closed list written out: SQLite takes an index of some rows
    only where the statement itself says that no other is wanted, and not for what a parameter holds.
    """

    output_field = TextField()

    def __init__(self, words: Iterable[str]) -> None:
        """Take words; anything but lowercase letters and hyphens raises here."""
        super().__init__()
        self.words = tuple(map(str, words))
        if not self.words or not all(map(_WORD.fullmatch, self.words)):
            raise ValueError(f"no words of a closed list: {self.words}")

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """A list in parentheses, in the order given."""
        quoted = (f"'{word}'" for word in self.words)
        return f"({', '.join(quoted)})", []
