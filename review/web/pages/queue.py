"""The queue's pages: findings by note with facets, and all that match, to be confirmed at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from msgspec import UNSET

from review import settings
from review.documents.problems import problem_json
from review.findings.documents import QueueJson
from review.knowledge_base.notes import in_order
from review.knowledge_base.opening import open_corpus
from review.queue.entries import read_entry_page, read_page
from review.queue.facets import read_facets
from review.queue.queue import QueueCursor, queue_now
from review.queue.sorting import QueueSort
from review.selection.path_filters import is_below
from review.vocabulary import DispositionState, NoteNow
from review.web.core.filters import Filters
from review.web.core.responses import page
from review.web.pages.findings import LAST_ACTION
from review.web.pages.queue_filters import (
    LINES_A_PAGE,
    find,
    make_facets,
    queue_filter,
    read_filters,
)

LINES_A_DOCUMENT = 200


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
    with open_corpus(settings.current()) as corpus:
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
    with open_corpus(settings.current()) as corpus:
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


urlpatterns = [path("queue/", queue, name="queue")]
