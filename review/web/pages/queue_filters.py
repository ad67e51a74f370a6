"""The filters of the queue, as its address, its facets and the pages of its findings share them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from review import settings
from review.queue.facets import QueueFacets
from review.queue.queue import AGES, OLDER, Queue, QueueFilter, queue_now
from review.queue.sorting import QueueSort
from review.vocabulary import QUEUED_DECISIONS, DispositionState, NoteNow, Seen, Severity
from review.web.core.filters import Facet, Filters, parse_filters
from review.web.core.template_tags import label

KNOWN = {
    "state": DispositionState.values,
    "severity": Severity.values,
    "decision": [decision.value for decision in QUEUED_DECISIONS],
    "seen": Seen.values,
    "age": (*AGES, OLDER),
    "since": NoteNow.values,
    "lens": None,
    "gate": None,
    "folder": None,
    "note": None,
    "partition": None,
    "confirmed-by": None,
    "q": None,
    "sort": [sort.value for sort in QueueSort],
}
LINES_A_PAGE = 50
OPTIONS_SHOWN = 60
_AGES = {"day": "a day", "week": "a week", "month": "a month", "older": "longer"}
_SINCE = {"same": "as reviewed", "changed": "changed since the review", "gone": "gone"}
# Filter to its facet: its name among the counts, its title, and the words for its values.
_FACETS: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "severity": ("severities", "Severity", label),
    "seen": ("seen", "Reported", label),
    "lens": ("lenses", "Lens", str),
    "gate": ("gates", "Gate", str),
    "folder": ("folders", "Folder", str),
    "since": ("since", "Note", _SINCE.__getitem__),
    "age": ("ages", "First reported within", _AGES.__getitem__),
    "partition": ("partitions", "Model partition", str),
    "decision": ("decisions", "Review says", label),
}


def read_filters(request: HttpRequest) -> Filters:
    """The filters in the address, for links to the queue."""
    return parse_filters(request, KNOWN, path=reverse("queue"))


def queue_filter(filters: Filters) -> QueueFilter:
    values: dict[str, Any] = {
        field: filters.all(name) for name, (field, _title, _labels) in _FACETS.items()
    }
    values["folders"] = tuple(folder.strip("/") for folder in filters.all("folder"))
    return QueueFilter(
        **values,
        notes=filters.all("note"),
        states=filters.all("state"),
        words=filters.one("q").strip(),
        confirmed_by=filters.one("confirmed-by"),
        sort=QueueSort(filters.one("sort", QueueSort.PLACE)),
    )


def find(filters: Filters) -> Queue:
    return queue_now(settings.current(), queue_filter(filters), now=timezone.now())


def make_facets(filters: Filters, found: QueueFacets) -> list[Facet]:
    """The facets, without those that have nothing to choose."""
    facets = []
    for name, (field, title, labels) in _FACETS.items():
        chosen, counts = filters.all(name), found.counts[field].items()
        shown = (
            (value, number) for value, number in counts if value and (number or value in chosen)
        )
        bounded = dict(islice(shown, OPTIONS_SHOWN))
        # One folder at a time: choosing one below replaces it, so that it narrows.
        is_folder = name == "folder"
        facets.append(filters.facet(name, title, bounded, labels=labels, single=is_folder))
    return [facet for facet in facets if len(facet.options) > 1 or facet.selected]
