"""The pages of notes: the list, and one note with its reviews, findings, text and past."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.safestring import SafeString

from review import settings
from review.acceptance.pair_actions import Pick
from review.documents.base import timestamp
from review.documents.problems import problem_json
from review.knowledge_base import Corpus
from review.knowledge_base.opening import open_corpus
from review.models import ModelPartition
from review.overview.documents import NotesJson
from review.overview.note_list import (
    NOTES_A_PAGE,
    ListRequest,
    NoteListing,
    Place,
    list_notes,
    row_json,
)
from review.overview.note_page import NotePage, NotePageRequest, read_note_page
from review.overview.note_pairs import ACT, NOTHING, REVIEW, PairRow, read_since
from review.reviews.pair_states import FAIL, FRESH, STATES, WARN, PairStates
from review.settings.config import Config
from review.vocabulary import Staleness
from review.web.core.cached import Answer, pair_states
from review.web.core.filters import (
    Filters,
    make_facet,
    paged,
    parse_filters,
    read_place,
)
from review.web.core.responses import page
from review.web.core.template_tags import label
from review.web.pages.pair_actions import write_pick
from review.web.render.diff import render_diff
from review.web.render.markdown import (
    Look,
    NoteLinks,
    mark_findings,
    render_markdown,
    render_plain,
)

_LINES = "lines"
_NO_STATUS = "none"
_BY_PATH = "path"
_HISTORY = 30
_KNOWN = {
    "folder": None,
    "state": STATES,
    "status": None,
    "model": None,
    "q": None,
    "sort": [_BY_PATH],
}
# Fresh pairs are shown by their decision.
_STATE_LABELS = {state: label(state) for state in STATES} | {
    FRESH: "fresh: pass",
    WARN: "fresh: warn",
    FAIL: "fresh: fail",
}


def notes(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, _KNOWN)
    by_path = filters.one("sort") == _BY_PATH
    answer = pair_states()
    listing = list_notes(
        answer.value,
        ListRequest(
            folders=filters.all("folder"),
            states=filters.all("state"),
            statuses=tuple("" if word == _NO_STATUS else word for word in filters.all("status")),
            partitions=filters.all("model"),
            words=tuple(" ".join(filters.all("q")).lower().split()),
            by_path=by_path,
            after=cast(Place | None, read_place(filters, int, int, int, int, str)),
        ),
    )
    part = paged(listing.notes, size=NOTES_A_PAGE, key=lambda item: item.place, filters=filters)
    with open_corpus(settings.current()) as corpus:
        rows = [row_json(corpus, item) for item in part.items]
    return page(
        request,
        "review/notes.html",
        lambda: _list_context(filters, answer, listing) | {"paged": part, "rows": rows},
        document=lambda: NotesJson(
            total=listing.total,
            notes=rows,
            next=part.next_document,
            problems=[problem_json(problem) for problem in answer.value.problems],
            counted_at=timestamp(answer.at),
        ),
    )


def _list_context(
    filters: Filters, answer: Answer[PairStates], listing: NoteListing
) -> dict[str, Any]:
    states = answer.value
    statuses = {status or _NO_STATUS: number for status, number in listing.statuses.items()}
    facets = [
        make_facet(filters, "state", "With a pair that is", listing.states, labels=_STATE_LABELS),
        make_facet(filters, "folder", "Folder", listing.folders),
        make_facet(filters, "status", "Status", statuses),
        make_facet(filters, "model", "Model partition", dict.fromkeys(states.partitions)),
    ]
    by_path = filters.one("sort") == _BY_PATH
    return {
        "filters": filters,
        "total": listing.total,
        "by_path": by_path,
        "skipped": [problem for problem in states.problems if problem.skipped],
        "counted_at": answer.at,
        "facets": facets,
        "note_roots": settings.current().note_roots,
    }


def note(request: HttpRequest, note_path: str) -> HttpResponse:
    filters = parse_filters(request, {"model": None, "as": [_LINES]})
    config = settings.current()
    place = read_place(filters, int)
    with open_corpus(config) as corpus:
        wanted = NotePageRequest(
            path=note_path,
            partitions=filters.all("model"),
            before=int(place[0]) if place else None,
            history_size=_HISTORY,
        )
        shown = read_note_page(corpus, wanted, config=config)
        return page(
            request,
            "review/note.html",
            lambda: _context(filters, shown, corpus, config),
            document=shown.document,
        )


def _context(filters: Filters, shown: NotePage, corpus: Corpus, config: Config) -> dict[str, Any]:
    by_lines = filters.one("as") == _LINES
    names = ModelPartition.objects.order_by("name").values_list("name", flat=True)
    return {
        "filters": filters,
        "shown": shown,
        "note": shown.now,
        "changed": read_changed(shown),
        "groups": _groups(shown),
        "trivial": [
            write_pick(pick_of(shown, row))
            for row in shown.pairs
            if row.is_trivial and can_pick(shown, row)
        ],
        "can_pick": any(can_pick(shown, row) for row in shown.pairs),
        "findings": shown.document.findings,
        "history": paged(
            shown.document.history,
            size=_HISTORY,
            key=lambda event: (event.acceptance_event_id,),
            filters=filters,
        ),
        "html": _html(shown, corpus, config, by_lines=by_lines),
        "by_lines": by_lines,
        "models": make_facet(
            filters, "model", "Model partition", dict.fromkeys((*names, *config.partitions))
        ),
    }


def _groups(shown: NotePage) -> list[dict[str, Any]]:
    """The rows by what they want; the first group that has any is open."""
    titles = {
        ACT: "stale by a change, warn, fail, or without a decision",
        REVIEW: "stale: missing review",
        NOTHING: "fresh and passed, or the gate no longer applies",
    }
    groups = [
        {
            "title": title,
            "name": wants,
            "rows": [_row(shown, row) for row in shown.pairs if row.wants == wants],
        }
        for wants, title in titles.items()
    ]
    return [group for group in groups if group["rows"]]


def _row(shown: NotePage, row: PairRow) -> dict[str, Any]:
    changed = row.accepted_at is not None and bool(row.reasons) and not row.is_gone
    return {
        "pair": row,
        "percent": _percent(row),
        "has_diff": changed and shown.now.text is not None,
        "pick": write_pick(pick_of(shown, row)) if can_pick(shown, row) else "",
    }


def _percent(row: PairRow) -> str:
    """The share of the body's words that changed; "<1" for a change that rounds to none."""
    if row.change is None or row.change.body_ratio is None:
        return ""
    percent = 100 * row.change.body_ratio
    return "<1" if 0 < percent < 1 else f"{percent:.0f}"


def _html(shown: NotePage, corpus: Corpus, config: Config, *, by_lines: bool) -> SafeString:
    """The note's text, or the last one that is kept, with its open findings."""
    text = shown.now.text
    if text is None and shown.kept is not None:
        text = shown.kept.text
    if text is None:
        return SafeString("")
    marks = mark_findings(
        (item.finding, item.finding.line_now or item.finding.line)
        for item in shown.document.findings
    )
    if by_lines:
        return render_plain(text, quotes=marks)
    links = NoteLinks(corpus, shown.now.path, config=config)
    look = Look(link_to=links, headings=(2, 3), flavour=links.flavour)
    return render_markdown(text, line_anchors=True, quotes=marks, look=look)


urlpatterns = [
    path("notes/", notes, name="notes"),
    path("notes/<path:note_path>", note, name="note"),
]


# Characters of written changes on one page, which has the note itself to show, too.
_ROOM = 120_000


def read_changed(shown: NotePage) -> dict[str, Any]:
    """Return what changed since each accepted text of the note, and the gates that changed.

    `reasons` counts the accepted pairs that are stale, each by the first reason that holds; `picks`
    are the pairs that an ack of a change makes fresh.
    """
    rows = [row for row in shown.pairs if not row.is_gone]
    left = _ROOM
    texts = []
    for since in read_since(rows, shown.now.text):
        html = render_diff(since.diff) if since.diff else SafeString("")
        left -= len(html)
        picks = [write_pick(pick_of(shown, row)) for row in since.rows if _is_acked(shown, row)]
        texts.append({"since": since, "html": html if left >= 0 else "", "picks": picks})
    return {
        "texts": texts,
        "gates": [row for row in rows if Staleness.GATE_CHANGED in row.reasons],
        "reasons": Counter(row.state for row in rows if row.reasons and row.accepted_at),
        "accepted": any(row.accepted_at is not None for row in rows),
    }


def _is_acked(shown: NotePage, row: PairRow) -> bool:
    """True if an ack of the note's change alone makes the pair fresh."""
    only_the_note = row.reasons == [Staleness.NOTE_CHANGED]
    return only_the_note and row.review_pair_id is not None and can_pick(shown, row)


def can_pick(shown: NotePage, row: PairRow) -> bool:
    return shown.now.facts is not None and not row.is_gone


def pick_of(shown: NotePage, row: PairRow) -> Pick:
    facts = shown.now.facts
    return Pick(
        note_path=shown.now.path,
        gate_id=row.gate_id,
        model_partition=row.model_partition,
        note_sha256=facts.sha256 if facts else None,
        gate_sha256=row.gate_sha256,
        review_pair_id=row.review_pair_id,
    )
