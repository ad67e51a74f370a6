"""Lists of the administration that stay quick however long: bounded pages, a search that starts from paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
# Rows that a search looks through where no index finds them.
LOOKED_THROUGH = 100_000


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


@dataclass(frozen=True)
class Searched:
    """What a list can be searched by.

    :param paths: fields that are files, the first of which has an index of its own.
    :param numbers: fields that are numbers.
    :param texts: lookups of other fields, which have no index.
    """

    paths: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def search_rows(rows: QuerySet[Any], words: str, *, by: Searched) -> QuerySet[Any]:
    """Rows that hold every word.

    A number is a row's; a word stands in a path, else in another text: there are few paths and many
    rows, so that paths are searched first, and rows by the keys of those found. What no index
    answers is looked for among the latest rows, so that no search reads a table of millions.
    """
    is_indexed = False
    for word in words.split():
        number = read_number(word)
        if number is not None and by.numbers:
            condition, by_index = _any(by.numbers, number), True
        else:
            condition, by_index = _of_word(word, by)
        rows = rows.filter(condition)
        is_indexed = is_indexed or by_index
    return rows if is_indexed or not words.split() else _latest(rows)


def _latest(rows: QuerySet[Any]) -> QuerySet[Any]:
    newest = rows.model._default_manager.order_by("-pk").values_list("pk", flat=True).first() or 0
    return rows.filter(pk__gt=newest - LOOKED_THROUGH)


def _of_word(word: str, by: Searched) -> tuple[Q, bool]:
    """The condition, and whether an index finds its rows."""
    texts = _any(by.texts, word)
    if not by.paths:
        return texts, False
    found = KbPath.objects.filter(path__icontains=word).values_list("pk", "path")[: MAX_PATHS + 1]
    if len(found) > MAX_PATHS:
        return _any([f"{name}__path__icontains" for name in by.paths], word) | texts, False
    folder = f"{conf.current().gates_folder}/"
    gates = [key for key, path in found if path.startswith(folder)]
    notes = [key for key, path in found if not path.startswith(folder)]
    first, *others = by.paths
    if not others:
        return (Q(**{f"{first}__in": notes + gates}), True) if found else (texts, False)
    # Only what can match: a condition on gates has no index, and nor has one of both.
    conditions = [
        Q(**{f"{name}__in": keys})
        for name, keys in zip(by.paths, (notes, gates), strict=True)
        if keys
    ]
    return (reduce(or_, conditions), not gates) if conditions else (texts, False)


def _any(names: Sequence[str], value: object) -> Q:
    return reduce(or_, (Q(**{name: value}) for name in names), Q(pk__in=()))
