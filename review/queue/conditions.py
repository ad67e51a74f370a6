"""Conditions that select rows of the queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q

from review.models import FindingState, NamedKeys
from review.selection.path_filters import within


@dataclass(frozen=True)
class ColumnFilter:
    """The values of a column that a filter lets through."""

    column: str
    values: Sequence[Any]

    @property
    def condition(self) -> Q:
        is_key = self.column.endswith("_id")
        return Q(**{f"{self.column}__in": NamedKeys(self.values) if is_key else self.values})


def values_below(paths: tuple[str, ...], path: str, value: str) -> list[Any]:
    """Return the values of a column in rows whose path is at or below one of these paths."""
    if not paths:  # the filter is not set
        return []
    is_wanted = within(paths)
    found = FindingState.objects.order_by().values_list(path, value).distinct()
    return [kept for found_path, kept in found if is_wanted(found_path)] or [0]


def flagged_by(partition: str) -> Q:
    """Select the rows whose pair a partition's current review warns or fails, too."""
    same = {name: OuterRef(name) for name in ("note_id", "gate_id", "gate_snapshot_id")}
    return Q(Exists(FindingState.objects.filter(model_partition__name=partition, **same)))


def beyond(order: Sequence[str], cursor: Sequence[str | int], way: str) -> Q:
    """Select the rows after a cursor (`gt`) or before it (`lt`); its end has the values of `order`."""
    places = list(zip(order, cursor[-len(order) :], strict=True))
    found = Q(pk__in=())
    for name, value in reversed(places):
        found = Q(**{f"{name}__{way}": value}) | Q(**{name: value}) & found
    # The first condition lets the database start in the index.
    return Q(**{f"{places[0][0]}__{way}e": places[0][1]}) & found
