"""Lists of the administration that stay quick however long: bounded pages, a search that starts from paths."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from django.core.paginator import Paginator
from django.db.models import Q, QuerySet

from review import conf
from review.models import KbPath
from review.web.numbers import read_number

# Nobody leafs further, and each page costs as much as all rows before it.
MAX_PAGES = 100
# Paths that a word may stand in before it says too little to search by.
MAX_PATHS = 500


if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator


class BoundedPaginator(_Paginator):
    """All rows are counted; the first hundred pages of them can be turned to."""

    @cached_property
    def num_pages(self) -> int:
        """At most `MAX_PAGES`."""
        rows = max(1, self.count)
        return min(MAX_PAGES, -(-rows // self.per_page))


def search_rows(
    rows: QuerySet[Any], words: str, *, numbers: Sequence[str] = (), texts: Sequence[str] = ()
) -> QuerySet[Any]:
    """Rows of a note and a gate that hold every word.

    A number is a row's; a word stands in the path of note or gate, else in another text: there are few
    paths and many rows, so that paths are searched first, and rows by the keys of those found.

    :param numbers: fields that are numbers; `texts`: fields other than paths.
    """
    for word in words.split():
        number = read_number(word)
        if number is not None and numbers:
            rows = rows.filter(_any(numbers, "", number))
        else:
            rows = rows.filter(_of_path(word) or _any(texts, "__icontains", word))
    return rows


def _of_path(word: str) -> Q | None:
    """Rows of the notes and gates in whose path the word stands; None when it stands in none."""
    found = KbPath.objects.filter(path__icontains=word).values_list("pk", "path")[: MAX_PATHS + 1]
    if len(found) > MAX_PATHS:
        return Q(note__path__icontains=word) | Q(gate__path__icontains=word)
    folder = f"{conf.current().gates_folder}/"
    gates = [key for key, path in found if path.startswith(folder)]
    notes = [key for key, path in found if not path.startswith(folder)]
    # Only what can match: a condition on gates alone has no index, and would have every row read.
    conditions = [
        Q(**{field: keys}) for field, keys in (("note__in", notes), ("gate__in", gates)) if keys
    ]
    return reduce(or_, conditions) if conditions else None


def _any(fields: Sequence[str], lookup: str, value: object) -> Q:
    return reduce(or_, (Q(**{f"{name}{lookup}": value}) for name in fields), Q(pk__in=()))
