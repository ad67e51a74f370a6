"""The filters of the queue, as its address, its facets and the pages of its findings share them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from review import settings
from review.queue.facets import QueueFacets
from review.queue.queue import AGES, OLDER, Queue, QueueFilter, queue_now
from review.queue.sorting import QueueSort
from review.vocabulary import QUEUED_DECISIONS, DispositionState, NoteNow, Seen, Severity
from review.web.core.filters import Facet, FacetOption, Filters, make_facet, parse_filters
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
FOLDERS_SHOWN = 12
OPTIONS_SHOWN = 60
_AGES = {"day": "a day", "week": "a week", "month": "a month", "older": "longer"}
_SINCE = {"same": "as reviewed", "changed": "changed since the review", "gone": "gone"}


def read_filters(request: HttpRequest) -> Filters:
    """The filters in the address, for links to the queue."""
    return parse_filters(request, KNOWN, path=reverse("queue"))


def queue_filter(filters: Filters) -> QueueFilter:
    return QueueFilter(
        notes=filters.all("note"),
        folders=tuple(folder.strip("/") for folder in filters.all("folder")),
        gates=filters.all("gate"),
        lenses=filters.all("lens"),
        partitions=filters.all("partition"),
        severities=filters.all("severity"),
        decisions=filters.all("decision"),
        states=filters.all("state"),
        seen=filters.all("seen"),
        ages=filters.all("age"),
        since=filters.all("since"),
        words=filters.one("q").strip(),
        confirmed_by=filters.one("confirmed-by"),
        sort=QueueSort(filters.one("sort", QueueSort.PLACE)),
    )


def find(filters: Filters) -> Queue:
    return queue_now(settings.current(), queue_filter(filters), now=timezone.now())


def make_facets(filters: Filters, counts: QueueFacets) -> list[Facet]:
    """The facets, without those that have nothing to choose."""
    facets = [
        _facet(filters, "severity", "Severity", counts.counts["severities"]),
        _facet(filters, "seen", "Reported", counts.counts["seen"]),
        _facet(filters, "lens", "Lens", counts.counts["lenses"], labels={}),
        _facet(filters, "gate", "Gate", counts.counts["gates"], labels={}),
        _folders(filters, counts.counts["folders"]),
        _facet(filters, "since", "Note", counts.counts["since"], labels=_SINCE),
        _facet(filters, "age", "First reported within", counts.counts["ages"], labels=_AGES),
        _facet(filters, "partition", "Model partition", counts.counts["partitions"], labels={}),
        _facet(filters, "decision", "Review says", counts.counts["decisions"]),
    ]
    return [facet for facet in facets if len(facet.options) > 1 or facet.selected]


def _facet(
    filters: Filters,
    name: str,
    title: str,
    counts: Mapping[str, int],
    *,
    labels: Mapping[str, str] | None = None,
) -> Facet:
    shown = {value: n for value, n in counts.items() if value and (n or value in filters.all(name))}
    bounded = dict(list(shown.items())[:OPTIONS_SHOWN])
    words = {value: label(value) for value in bounded} if labels is None else labels
    return make_facet(filters, name, title, bounded, labels=words)


def _folders(filters: Filters, counts: Mapping[str, int]) -> Facet:
    """One folder at a time: choosing one below replaces it, so that it narrows."""
    chosen = filters.all("folder")
    options = list(_folder_options(filters, counts, chosen))[:OPTIONS_SHOWN]
    return Facet(
        name="folder",
        title="Folder",
        options=tuple(options[:FOLDERS_SHOWN]),
        more=tuple(options[FOLDERS_SHOWN:]),
        clear_url=filters.url(folder=None),
    )


def _folder_options(
    filters: Filters, counts: Mapping[str, int], chosen: tuple[str, ...]
) -> Iterator[FacetOption]:
    missing = {folder: 0 for folder in chosen if folder not in counts}
    for folder, count in {**counts, **missing}.items():
        selected = folder in chosen
        url = filters.toggled("folder", folder) if selected else filters.url(folder=folder)
        yield FacetOption(folder, folder, count, selected, url)
