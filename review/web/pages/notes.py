"""The pages of notes: the list, and one note with its reviews, findings, text and past."""

from __future__ import annotations

from shlex import quote
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.safestring import SafeString

from review import settings
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
from review.overview.note_pairs import ACT, NOTHING, REVIEW, PairRow
from review.reviews.pair_states import FAIL, FRESH, STATES, WARN, PairStates
from review.settings.config import Config
from review.web.core.actions import may
from review.web.core.cached import Answer, pair_states
from review.web.core.facets import make_facet
from review.web.core.filters import Filters, parse_filters
from review.web.core.labels import label
from review.web.core.paging import document_url, paged, read_place
from review.web.core.responses import page
from review.web.pages.note_changes import can_pick, pick_of, read_changed
from review.web.pages.pair_actions import write_pick
from review.web.render.links import NoteLinks, diff_page, finding_page
from review.web.render.markdown import FindingMark, Look, render_markdown, render_plain

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
# Fresh pairs are told by their decision.
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
            next=document_url(part.next_url),
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
        "sort_url": filters.url(sort=None if by_path else _BY_PATH),
        "skipped": [problem for problem in states.problems if problem.skipped],
        "counted_at": answer.at,
        "facets": [facet for facet in facets if facet.options],
        "words": " ".join(filters.all("q")),
        "other_fields": [(name, value) for name, value in filters.fields if name != "q"],
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
            lambda: _context(request, filters, shown, corpus, config),
            document=shown.document,
        )


def _context(
    request: HttpRequest, filters: Filters, shown: NotePage, corpus: Corpus, config: Config
) -> dict[str, Any]:
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
        "findings": shown.findings,
        "history": paged(
            shown.history,
            size=_HISTORY,
            key=lambda event: (event.acceptance_event_id,),
            filters=filters,
        ),
        "html": _html(shown, corpus, config, by_lines=by_lines),
        "by_lines": by_lines,
        "toggle_url": filters.url(**{"as": None if by_lines else _LINES}),
        "select_command": (
            f"commonplace review_target_selector --all-gates --note {quote(shown.now.path)}"
            " --model MODEL --json | commonplace create_review_jobs --input - --grouping note"
        ),
        "models": make_facet(
            filters, "model", "Model partition", dict.fromkeys((*names, *config.partitions))
        ),
        "may_ack": may(request, "review.change_acceptance"),
        "may_request": may(request, "review.change_reviewjob"),
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
            "rows": [
                _row(shown, row, f"{wants}-{at}")
                for at, row in enumerate((row for row in shown.pairs if row.wants == wants), 1)
            ],
        }
        for wants, title in titles.items()
    ]
    return [group for group in groups if group["rows"]]


def _row(shown: NotePage, row: PairRow, name: str) -> dict[str, Any]:
    changed = row.accepted_at is not None and bool(row.reasons) and not row.is_gone
    return {
        "pair": row,
        "id": name,
        "percent": _percent(row),
        "diff_url": diff_page(
            shown.now.path, gate_id=row.gate_id, model_partition=row.model_partition
        )
        if changed and shown.now.text is not None
        else "",
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
    marks = [
        FindingMark(
            line, item.finding.fingerprint, item.finding.severity, item.finding.text, address
        )
        for item in shown.findings
        if (line := item.finding.line_now or item.finding.line) is not None
        and (address := finding_page(item.finding.fingerprint))
    ]
    if by_lines:
        return render_plain(text, quotes=marks)
    links = NoteLinks(corpus, shown.now.path, config=config)
    look = Look(link_to=links, headings=(2, 3), flavour=links.flavour)
    return render_markdown(text, line_anchors=True, quotes=marks, look=look)


urlpatterns = [
    path("notes/", notes, name="notes"),
    path("notes/<path:note_path>", note, name="note"),
]
