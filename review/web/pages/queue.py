"""The queue's pages: findings by note, their filters and facets; and the queue as a document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from msgspec import UNSET

from review import settings
from review.documents.base import problem_json
from review.domain.problems import in_order
from review.findings.documents import QueueJson
from review.knowledge_base import Corpus
from review.queue.entries import read_entry_page, read_page
from review.queue.facets import QueueFacets, read_facets
from review.queue.queue import AGES, OLDER, Queue, QueueCursor, QueueFilter, queue_now
from review.queue.sorting import QueueSort
from review.selection.names import is_below
from review.vocabulary import QUEUED_DECISIONS, DispositionState, NoteNow, Seen, Severity
from review.web.core.filters import Facet, Filters, parse_filters
from review.web.core.responses import page
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
LINES_A_DOCUMENT = 200
# What the person did last in this browser, and can undo: `at` and `what`.
LAST_ACTION = "queue-last-act"
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


def queue(request: HttpRequest) -> HttpResponse:
    """The findings that want an edit, or those with another status."""
    filters = read_filters(request)
    after = cast(QueueCursor | None, filters.place(int, str, str, int))
    return page(
        request,
        "review/queue.html",
        lambda: _context(request, filters, after),
        document=lambda: _document(filters, after),
    )


def _context(request: HttpRequest, filters: Filters, after: QueueCursor | None) -> dict[str, Any]:
    found = find(filters)
    facets = read_facets(found)
    with Corpus(settings.current()) as corpus:
        notes, next_cursor = read_page(found, corpus, after=after, limit=LINES_A_PAGE)
    lines = [row.line for note in notes for row in note.rows]
    first = found.rank(lines[0].cursor) + 1 if after and lines else min(len(lines), 1)
    return {
        "filters": filters,
        "facets": make_facets(filters, facets),
        "queue": found,
        "states": facets.counts["states"],
        "chosen": filters.all("state") or (DispositionState.OPEN.value,),
        "state": filters.one("state", DispositionState.OPEN),
        "is_filtered": filters.narrowed and set(filters.values) != {"state"},
        "has_findings": any(facets.counts["states"].values()),
        "total": facets.total,
        "notes": notes,
        "first": first,
        "last": first + len(lines) - 1,
        "paged": filters.page(following=next_cursor),
        "gone": facets.counts["since"][NoteNow.GONE],
        "waiting": facets.waiting,
        "sorts": [
            (word, filters.url(sort=None if word == QueueSort.PLACE else word))
            for word in QueueSort
        ],
        "last_action": request.session.get(LAST_ACTION),
    }


def _document(filters: Filters, after: QueueCursor | None) -> QueueJson:
    wanted = queue_filter(filters)
    # The command gives those of notes that are gone too, apart from the others.
    whole = replace(wanted, since=wanted.since or tuple(NoteNow.values))
    found = queue_now(settings.current(), whole, now=timezone.now())
    with Corpus(settings.current()) as corpus:
        entries, next_cursor = read_entry_page(found, corpus, after=after, limit=LINES_A_DOCUMENT)
        problems = list(corpus.notes_at(found.note_paths).problems)
        folder = corpus.gates.folder
        gates = [f"{folder}/{gate}.md" for gate in wanted.gates]
        lenses = [f"{folder}/{lens}" for lens in wanted.lenses]
        problems += [
            problem
            for problem in corpus.gates.problems
            if problem.skipped and is_below(problem.path, gates) and is_below(problem.path, lenses)
        ]
    document = QueueJson(
        entries=[entry for entry in entries if entry.note_path in found.notes.digests],
        deleted_notes=[entry for entry in entries if entry.note_path not in found.notes.digests],
        problems=[problem_json(problem) for problem in in_order(problems)],
        waiting_findings=found.waiting,
        muted_findings=found.muted,
    )
    document.next = filters.page(following=next_cursor).next_document or UNSET
    return document
