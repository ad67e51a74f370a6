"""Counts of the queue for each value that its filters can take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import commonpath
from typing import Any

from django.db.models import Count

from review.domain.paths import lens_of
from review.queue.queue import AGES, OLDER, Queue
from review.selection.path_filters import is_below
from review.vocabulary import DispositionState, NoteNow

_SEVERITIES = ("fail", "warn", "info")


@dataclass(frozen=True)
class QueueFacets:
    """How many lines each value has, under all filters but its own, the most frequent first.

    :param waiting: lines that would match, had their gate not changed.
    """

    total: int
    waiting: int
    states: Mapping[str, int]
    severities: Mapping[str, int]
    decisions: Mapping[str, int]
    seen: Mapping[str, int]
    ages: Mapping[str, int]
    since: Mapping[str, int]
    lenses: Mapping[str, int]
    gates: Mapping[str, int]
    folders: Mapping[str, int]
    partitions: Mapping[str, int]


# Facet to the column that it counts.
_COLUMNS = {
    "states": "state_now",
    "severities": "severity",
    "decisions": "decision",
    "seen": "seen",
    "ages": "age",
    "since": "since",
    "lenses": "gate_id",
    "gates": "gate_id",
    "folders": "folder",
    "partitions": "model_partition_id",
}
# Hide lines without being a facet.
_HIDING = {"shown": "shown", "gate_now": "gate_snapshot_id"}


def read_facets(queue: Queue) -> QueueFacets:
    """Count all facets in one look at the rows: they are few kinds, however many."""
    columns = list(dict.fromkeys([*_COLUMNS.values(), *_HIDING.values()]))
    rows = queue.rows(without=[*_COLUMNS, *_HIDING]).order_by().values_list(*columns)
    kinds = rows.annotate(number=Count("pk"))
    places = {name: columns.index(column) for name, column in (_COLUMNS | _HIDING).items()}
    allowed = [
        (name, places[name], frozenset(queue.filters[name].values))
        for name in places
        if name in queue.filters
    ]
    counts: dict[str, Counter[Any]] = {name: Counter() for name in places}
    for *kind, number in kinds:
        hidden_by = {name for name, at, values in allowed if kind[at] not in values}
        for name in _counted_in(hidden_by):
            counts[name][kind[places[name]]] += number
    return _facets(queue, counts)


def _counted_in(hidden_by: set[str]) -> Collection[str]:
    """The facets that count a line: all, or the only one whose own filter hides it."""
    if not hidden_by:
        return (*_COLUMNS, *_HIDING)
    if len(hidden_by) == 1:
        # Of each partition its own reviews, as they are when it is set: not only the latest.
        return ["partitions"] if hidden_by == {"shown"} else hidden_by
    return ["partitions"] if hidden_by == {"shown", "partitions"} else ()


def _facets(queue: Queue, counts: Mapping[str, Counter[Any]]) -> QueueFacets:
    total = sum(counts["shown"].values())
    ids = {key: queue.gate_id(path) for key, path in queue.gates.items()}
    return QueueFacets(
        total=total,
        waiting=sum(counts["gate_now"].values()) - total,
        states=_ordered(counts["states"], DispositionState.values),
        severities=_ordered(counts["severities"], _SEVERITIES),
        decisions=_ordered(counts["decisions"], _SEVERITIES[:2]),
        seen=dict(counts["seen"].most_common()),
        ages=_ordered(counts["ages"], (*AGES, OLDER)),
        since=_ordered(counts["since"], NoteNow.values),
        lenses=_relabelled(counts["lenses"], lambda key: lens_of(ids[key])),
        gates=_relabelled(counts["gates"], ids.__getitem__),
        folders=_folders(counts["folders"], queue.wanted.folders),
        partitions=_relabelled(counts["partitions"], queue.partitions.__getitem__),
    )


def _ordered(counts: Counter[Any], words: Iterable[str]) -> dict[str, int]:
    return {word: counts[word] for word in words}


def _relabelled(counts: Counter[Any], label: Callable[[Any], str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for value, number in counts.items():
        found[label(value)] += number
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _folders(counts: Counter[str], chosen: tuple[str, ...]) -> dict[str, int]:
    """The folders that are set, with all below them; and the ones a step below, else the tops."""
    tops = chosen or (_shared_folder(counts),)
    steps = _relabelled(counts, lambda folder: _step_below(folder, tops))
    steps.pop("", None)
    whole = {top: sum(n for f, n in counts.items() if is_below(f, (top,))) for top in chosen}
    return {**whole, **{step: n for step, n in steps.items() if step not in tops}}


def _shared_folder(folders: Collection[str]) -> str:
    """The longest folder that all of them are or lie in."""
    return commonpath(folders) if folders else ""


def _step_below(folder: str, tops: Sequence[str]) -> str:
    """The part of a folder one step below the top that it lies in; "" where it lies in none."""
    for top in tops:
        if folder == top:
            return folder
        if not top or folder.startswith(f"{top}/"):
            start = len(top) + 1 if top else 0
            end = folder.find("/", start)
            return folder if end < 0 else folder[:end]
    return ""
