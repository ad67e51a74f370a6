"""Counts of the queue for each value that its filters can take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import commonpath
from typing import Any

from django.db.models import Count

from review.domain.paths import lens_of
from review.queue.queue import AGES, FILTERS, OLDER, Queue
from review.selection.names import is_below
from review.vocabulary import DispositionState, NoteNow

_SEVERITIES = ("fail", "warn", "info")


@dataclass(frozen=True)
class QueueFacets:
    """Lines of each value, under all filters but its own; `waiting`: of gates that changed."""

    total: int
    waiting: int
    counts: Mapping[str, Mapping[str, int]]


# Two of them hide lines without being a facet.
_NAMES = tuple(name for name in FILTERS if name != "notes")
_COLUMNS = list(dict.fromkeys(FILTERS[name] for name in _NAMES))


def read_facets(queue: Queue) -> QueueFacets:
    """Count all facets with one query: rows have few combinations of values."""
    rows = queue.rows(without=_NAMES).order_by().values_list(*_COLUMNS)
    positions = {name: _COLUMNS.index(FILTERS[name]) for name in _NAMES}
    filters = [name for name in _NAMES if name in queue.filters]
    allowed = [(name, positions[name], frozenset(queue.filters[name])) for name in filters]
    counts: dict[str, Counter[Any]] = {name: Counter() for name in _NAMES}
    for *kind, number in rows.annotate(number=Count("pk")):
        hidden_by = {name for name, at, values in allowed if kind[at] not in values}
        for name in _counted_in(hidden_by):
            counts[name][kind[positions[name]]] += number
    return _facets(queue, counts)


def _counted_in(hidden_by: set[str]) -> Collection[str]:
    """Return the facets that count a line: all, or the only one whose own filter hides it."""
    if not hidden_by:
        return _NAMES
    if len(hidden_by) == 1:
        # Of each partition its own reviews, as they are when it is set: not only the latest.
        return ["partitions"] if hidden_by == {"shown"} else hidden_by
    return ["partitions"] if hidden_by == {"shown", "partitions"} else ()


def _facets(queue: Queue, counts: Mapping[str, Counter[Any]]) -> QueueFacets:
    def gate_id(key: int) -> str:
        return queue.gate_id(queue.gates[key])

    total = sum(counts["shown"].values())
    shown = {
        "states": _ordered(counts["states"], DispositionState.values),
        "severities": _ordered(counts["severities"], _SEVERITIES),
        "decisions": _ordered(counts["decisions"], _SEVERITIES[:2]),
        "seen": dict(counts["seen"].most_common()),
        "ages": _ordered(counts["ages"], (*AGES, OLDER)),
        "since": _ordered(counts["since"], NoteNow.values),
        "lenses": _relabelled(counts["lenses"], lambda key: lens_of(gate_id(key))),
        "gates": _relabelled(counts["gates"], gate_id),
        "folders": _folders(counts["folders"], queue.wanted.folders),
        "partitions": _relabelled(counts["partitions"], queue.partitions.__getitem__),
    }
    return QueueFacets(total, sum(counts["gate_now"].values()) - total, shown)


def _ordered(counts: Counter[Any], words: Iterable[str]) -> dict[str, int]:
    return {word: counts[word] for word in words}


def _relabelled(counts: Counter[Any], label: Callable[[Any], str]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for value, number in counts.items():
        found[label(value)] += number
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _folders(counts: Counter[str], chosen: tuple[str, ...]) -> dict[str, int]:
    """Count the folders that are set, with all below them, and the ones a step below them."""
    tops = chosen or (commonpath(counts) if counts else "",)
    steps = _relabelled(counts, lambda folder: _step_below(folder, tops))
    steps.pop("", None)
    whole = {top: sum(n for f, n in counts.items() if is_below(f, (top,))) for top in chosen}
    return {**whole, **{step: n for step, n in steps.items() if step not in tops}}


def _step_below(folder: str, tops: Sequence[str]) -> str:
    """Return the part of a folder one step below the top that contains it; "" if none does."""
    for top in tops:
        if not top or is_below(folder, (top,)):
            steps = len(top.split("/")) + 1 if top else 1
            return "/".join(folder.split("/")[:steps])
    return ""
