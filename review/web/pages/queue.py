"""The queue's pages: findings by note with facets, and all that match, to be confirmed at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone

from review import settings
from review.documents.problems import problem_json
from review.findings.documents import QueuePageJson
from review.knowledge_base.notes import in_order
from review.knowledge_base.opening import open_corpus
from review.queue.entries import read_entry_page, read_page
from review.queue.facets import QueueFacets, read_facets
from review.queue.queue import QueueCursor, queue_now
from review.queue.sorting import QueueSort
from review.selection.path_filters import is_below
from review.vocabulary import DispositionState, NoteNow
from review.web.core.actions import may
from review.web.core.filters import AFTER, Filters
from review.web.core.paging import Paged, document_url, read_place, write_place
from review.web.core.responses import page
from review.web.pages.findings import PERMISSION, last_action
from review.web.pages.queue_filters import (
    LINES_A_PAGE,
    find,
    make_facets,
    queue_filter,
    read_filters,
)

LINES_A_DOCUMENT = 200


@dataclass(frozen=True)
class StateTab:
    """A status of findings, with how many have it under the other filters."""

    state: str
    count: int
    url: str
    selected: bool


@dataclass(frozen=True)
class Emptiness:
    """Why a list is empty, what to do, and what to type for it."""

    why: str
    then: str = ""
    command: str = ""


def queue(request: HttpRequest) -> HttpResponse:
    """The findings that want an edit, or those with another status."""
    filters = read_filters(request)
    after = _cursor(filters)
    return page(
        request,
        "review/queue.html",
        lambda: _context(request, filters, after),
        document=lambda: _document(filters, after),
    )


def _cursor(filters: Filters) -> QueueCursor | None:
    return cast(QueueCursor | None, read_place(filters, int, str, str, int))


def _context(request: HttpRequest, filters: Filters, after: QueueCursor | None) -> dict[str, Any]:
    found, files = find(filters)
    facets = read_facets(found)
    with open_corpus(settings.current()) as corpus:
        notes, next_cursor = read_page(found, corpus, after=after, limit=LINES_A_PAGE)
    lines = [row.line for note in notes for row in note.rows]
    first = found.rank(lines[0].cursor) + 1 if after and lines else min(len(lines), 1)
    return {
        "filters": filters,
        "facets": make_facets(filters, facets),
        "tabs": _tabs(filters, facets),
        "state": filters.one("state", DispositionState.OPEN),
        "total": facets.total,
        "note_count": found.note_count,
        "notes": notes,
        "first": first,
        "last": first + len(lines) - 1,
        "paged": _paged(filters, next_cursor),
        "gone": facets.counts["since"][NoteNow.GONE],
        "waiting": facets.waiting,
        "muted": found.muted,
        "sorts": [
            (
                word,
                filters.url(sort=None if word == QueueSort.PLACE else word),
                word == found.wanted.sort,
            )
            for word in QueueSort
        ],
        "empty": None if notes else _why_empty(facets, filters, after),
        "looked_at": files.looked_at,
        "may_dispose": may(request, PERMISSION),
        "last_action": last_action(request),
        "other_fields": [item for item in filters.fields if item[0] != "q"],
    }


def _document(filters: Filters, after: QueueCursor | None) -> QueuePageJson:
    wanted = queue_filter(filters)
    # The command gives those of notes that are gone too, apart from the others.
    whole = replace(wanted, since=wanted.since or tuple(NoteNow.values))
    found, _files = queue_now(settings.current(), whole, now=timezone.now())
    with open_corpus(settings.current()) as corpus:
        entries, next_cursor = read_entry_page(found, corpus, after=after, limit=LINES_A_DOCUMENT)
        listed = corpus.notes_at(found.note_paths)
        folder = corpus.gates.folder
        gates = [f"{folder}/{gate}.md" for gate in wanted.gates]
        lenses = [f"{folder}/{lens}" for lens in wanted.lenses]
        problems = [
            problem
            for problem in corpus.gates.problems
            if problem.skipped and is_below(problem.path, gates) and is_below(problem.path, lenses)
        ]
    document = QueuePageJson(
        entries=[entry for entry in entries if entry.note_path in found.notes.digests],
        deleted_notes=[entry for entry in entries if entry.note_path not in found.notes.digests],
        problems=[problem_json(problem) for problem in in_order([*problems, *listed.problems])],
        waiting_findings=found.waiting,
        muted_findings=found.muted,
    )
    if following := document_url(_paged(filters, next_cursor).next_url):
        document.next = following
    return document


def _paged(filters: Filters, next_cursor: QueueCursor | None) -> Paged[None]:
    return Paged(
        items=(),
        next_url=filters.url(**{AFTER: write_place(next_cursor)}) if next_cursor else "",
        first_url=filters.url() if filters.after else "",
    )


def _tabs(filters: Filters, facets: QueueFacets) -> list[StateTab]:
    chosen = filters.all("state") or (DispositionState.OPEN.value,)
    return [
        StateTab(
            state=state,
            count=count,
            url=filters.url(state=None if state == DispositionState.OPEN else state),
            selected=state in chosen,
        )
        for state, count in facets.counts["states"].items()
    ]


def _why_empty(facets: QueueFacets, filters: Filters, after: QueueCursor | None) -> Emptiness:
    """Why there is nothing to show, and what to do about it."""
    state = filters.one("state", DispositionState.OPEN)
    if after is not None:
        return Emptiness("This is the end of the list.")
    if filters.narrowed and set(filters.values) != {"state"}:
        return Emptiness("No finding matches these filters.")
    if state != DispositionState.OPEN:
        return Emptiness(
            f"No finding is {state}.", "What you dispose of in the queue is listed here."
        )
    if any(facets.counts["states"].values()):
        return Emptiness(
            "Nothing is open: every finding has a disposition.",
            "New ones come with new reviews. What waits for one:",
            "commonplace review_target_selector --all-gates --model MODEL",
        )
    return Emptiness(
        "No current review says warn or fail.",
        "Findings come with reviews. Select what lacks one, and have it reviewed:",
        "commonplace review_sweep --all-gates --runner claude-code --model MODEL",
    )


urlpatterns = [path("queue/", queue, name="queue")]
