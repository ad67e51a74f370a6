"""The queue: findings by note, one finding's page, disposing of some or all, and undo."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from itertools import islice
from shlex import quote
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST
from msgspec import UNSET

from review import settings
from review.errors import Conflict, UsageRefused
from review.findings.states import QueueJson, find_finding
from review.knowledge_base import Corpus, in_order
from review.models import Disposition, FindingState
from review.queue import triage
from review.queue.columns import QueueSort
from review.queue.entries import QueueFacets, read_entry_page, read_facets, read_page
from review.queue.finding_page import FindingPage, read_finding
from review.queue.queue import Queue, QueueCursor, QueueFilter, queue_now
from review.selection.names import within
from review.vocabulary import QUEUED_DECISIONS, DispositionState, NoteNow, Seen, Severity
from review.web import core
from review.web.render.markdown import render_markdown
from review.web.render.tokens import Look

LINES_A_PAGE = 50
LINES_A_DOCUMENT = 200
# What the person did last in this browser, and can undo: `at` and `what`.
LAST_ACTION = "queue-last-act"
OPTIONS_SHOWN = 60
_AGES = {"day": "a day", "week": "a week", "month": "a month", "older": "longer"}
_SINCE = {"same": "as reviewed", "changed": "changed since the review", "gone": "gone"}
# Filter to its facet: its name among the counts, its title, the words for its values, and these.
_FACETS: dict[str, tuple[str, str, Callable[[str], str], Collection[str] | None]] = {
    "severity": ("severities", "Severity", core.label, Severity.values),
    "seen": ("seen", "Reported", core.label, Seen.values),
    "lens": ("lenses", "Lens", str, None),
    "gate": ("gates", "Gate", str, None),
    "folder": ("folders", "Folder", str, None),
    "since": ("since", "Note", _SINCE.__getitem__, NoteNow.values),
    "age": ("ages", "First reported within", _AGES.__getitem__, _AGES),
    "partition": ("partitions", "Model partition", str, None),
    "decision": ("decisions", "Review says", core.label, QUEUED_DECISIONS),
}
KNOWN: dict[str, Collection[str] | None] = {
    **{name: values for name, (*_shown, values) in _FACETS.items()},
    **dict.fromkeys(("note", "confirmed-by", "q")),
    "state": DispositionState.values,
    "sort": tuple(QueueSort),
}


def read_filters(request: HttpRequest) -> core.Filters:
    return core.parse_filters(request, KNOWN, path=reverse("queue"))


def queue_filter(filters: core.Filters) -> QueueFilter:
    values: dict[str, Any] = {
        counted: filters.all(name) for name, (counted, *_shown) in _FACETS.items()
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


def find(filters: core.Filters) -> Queue:
    return queue_now(settings.current(), queue_filter(filters), now=timezone.now())


def make_facets(filters: core.Filters, found: QueueFacets) -> list[core.Facet]:
    """The facets, without those that have nothing to choose."""
    facets = []
    for name, (counted, title, labels, _values) in _FACETS.items():
        chosen, counts = filters.all(name), found.counts[counted].items()
        shown = ((value, n) for value, n in counts if value and (n or value in chosen))
        bounded = dict(islice(shown, OPTIONS_SHOWN))
        # One folder at a time: choosing one below replaces it, so that it narrows.
        facets.append(filters.facet(name, title, bounded, labels=labels, single=name == "folder"))
    return [facet for facet in facets if len(facet.options) > 1 or facet.selected]


def queue(request: HttpRequest) -> HttpResponse:
    filters = read_filters(request)
    after = cast(QueueCursor | None, filters.place(int, str, str, int))
    return core.page(
        request,
        "review/queue.html",
        lambda: _list_context(request, filters, after),
        document=lambda: _list_document(filters, after),
    )


def _list_context(
    request: HttpRequest, filters: core.Filters, after: QueueCursor | None
) -> dict[str, Any]:
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
        "sorts": list(QueueSort),
        "last_action": request.session.get(LAST_ACTION),
    }


def _list_document(filters: core.Filters, after: QueueCursor | None) -> QueueJson:
    wanted = queue_filter(filters)
    # The command gives those of notes that are gone too, apart from the others.
    whole = replace(wanted, since=wanted.since or tuple(NoteNow.values))
    found = queue_now(settings.current(), whole, now=timezone.now())
    with Corpus(settings.current()) as corpus:
        entries, next_cursor = read_entry_page(found, corpus, after=after, limit=LINES_A_DOCUMENT)
        problems = list(corpus.notes_at(found.note_paths).problems)
        folder = corpus.gates.folder
        of_gate = within(f"{folder}/{gate}.md" for gate in wanted.gates)
        of_lens = within(f"{folder}/{lens}" for lens in wanted.lenses)
        unusable = (item for item in corpus.gates.problems if item.skipped)
        problems += [item for item in unusable if of_gate(item.path) and of_lens(item.path)]
    present = found.notes.digests
    return QueueJson(
        entries=[entry for entry in entries if entry.note_path in present],
        deleted_notes=[entry for entry in entries if entry.note_path not in present],
        problems=in_order(problems),
        waiting_findings=found.waiting,
        muted_findings=found.muted,
        next=filters.page(following=next_cursor).next_document or UNSET,
    )


PERMISSION = "review.change_finding"
STATES = (DispositionState.FIXED, DispositionState.REJECTED, DispositionState.DEFERRED)
MAX_REASON = 1000
MAX_AT_ONCE = 500
_NAMED_AT_MOST = 3


@require_POST
@core.requires(PERMISSION)
def dispose(request: HttpRequest) -> HttpResponse:
    """Decide about the finding whose button was pressed, or else about those that are ticked."""
    filters = read_filters(request)
    word, _blank, one = request.POST.get("one", "").partition(" ")
    named = [one] if one else request.POST.getlist("finding")
    if len(named) > MAX_AT_ONCE:
        raise UsageRefused(
            f"more than {MAX_AT_ONCE} findings", "bad-form", hint="use “Dispose of all”"
        )
    posted, _done = _dispose(request, word if one else request.POST.get("act", ""), named)
    # The focus goes to the next row of the list, else to the previous one.
    queue = find(filters)
    cursor = queue.first_cursor(posted.findings)
    line = (queue.next(cursor) or queue.before(cursor)) if cursor else None
    return core.after_post(request, filters.url(), focus=line.row_id if line else "")


def _read_form(
    request: HttpRequest, state: str, named: Sequence[str] = ()
) -> triage.DispositionRequest:
    """Read the request; `named` are fingerprints with the disposition shown."""
    if state not in DispositionState.values:
        words = ", ".join(DispositionState.values)
        raise UsageRefused(f"a finding cannot be {state!r}", "bad-form", hint=f"it can be {words}")
    findings = {}
    for text in named:
        fingerprint, _blank, shown_id = text.partition(" ")
        number = core.read_number(shown_id)
        if not (fingerprint.isalnum() and len(fingerprint) <= 16) or number is None:
            raise UsageRefused("the form names no finding", "bad-form", hint="reload the page")
        findings[fingerprint] = number
    reason = core.field(request, "reason", max_length=MAX_REASON)
    return triage.DispositionRequest(DispositionState(state), core.actor(request), reason, findings)


def _dispose(
    request: HttpRequest, state: str, named: Sequence[str]
) -> tuple[triage.DispositionRequest, triage.Triaged]:
    posted = _read_form(request, state, named)
    done = triage.dispose_findings(posted, config=settings.current(), now=timezone.now())
    _report(request, done, posted.state)
    return posted, done


def _report(request: HttpRequest, done: triage.Triaged, state: DispositionState) -> None:
    """Say what was done and, by name, what was not; remember it for an undo."""
    if done.moved:
        word = "opened again" if state is DispositionState.OPEN else state.value
        what = f"{core.count_words(len(done.moved), 'finding')} {word}"
        if len(done.moved) == 1:
            what = f"{word.capitalize()}: {_name(done.moved[0])}"
        request.session[LAST_ACTION] = {"at": done.at.isoformat(), "what": what}
        core.report(request, success=f"{what}.")
    _report_refusals(request, done.not_moved)


def _report_refusals(request: HttpRequest, not_moved: Sequence[Disposition]) -> None:
    for last in not_moved[:_NAMED_AT_MOST]:
        said = f"{last.actor} set it to {last.state} after this page was shown."
        core.report(request, warning=f"Not changed: {_name(last.fingerprint)}. {said}")
    more = core.count_words(len(not_moved) - _NAMED_AT_MOST, "finding")
    left = f"Also not changed: {more}." if len(not_moved) > _NAMED_AT_MOST else ""
    core.report(request, warning=left)


def _name(fingerprint: str) -> str:
    found = find_finding(fingerprint)
    return found.name(settings.current().gate_label) if found else fingerprint


@require_http_methods(["GET", "POST"])
@core.requires(PERMISSION)
def all_matching(request: HttpRequest) -> HttpResponse:
    """Show what deciding about all findings that match would do; do it once it is confirmed."""
    filters = read_filters(request)
    if request.method == "GET":
        url = f"{reverse('queue')}?{filters.query}&format=json"
        return core.SeeOther(url) if core.wants_json(request) else _confirm(request, filters)
    posted = _read_form(request, request.POST.get("as", ""))
    expected = core.read_number(request.POST.get("expected", ""))
    if expected is None:
        raise UsageRefused("the form does not say how many findings were counted", "bad-form")
    wanted, config, now = queue_filter(filters), settings.current(), timezone.now()
    try:
        done = triage.dispose_matching(wanted, expected, posted, config=config, now=now)
    except triage.QueueMoved as moved:
        if core.wants_json(request):
            raise
        return _confirm(request, filters, moved, posted.state)
    _report(request, done, posted.state)
    return core.after_post(request, filters.url())


def _confirm(
    request: HttpRequest,
    filters: core.Filters,
    moved: triage.QueueMoved | None = None,
    chosen: str = "",
) -> HttpResponse:
    queue = find(filters)
    gates = list(queue.count_by_gate().items())
    context: dict[str, Any] = {
        "filters": filters,
        "note_count": queue.note_count,
        "number": len(queue.fingerprints()),
        "gates": gates[:_NAMED_AT_MOST],
        "more_gates": len(gates[_NAMED_AT_MOST:]),
        "states": STATES if "state" not in filters.values else tuple(DispositionState),
        "moved": moved,
        "chosen": chosen,
        "reason": request.POST.get("reason", "")[:MAX_REASON],
        "max_reason": MAX_REASON,
    }
    status = HTTPStatus.CONFLICT if moved else HTTPStatus.OK
    return render(request, "review/queue_all.html", context, status=status)


@require_POST
@core.requires(PERMISSION)
def take_back(request: HttpRequest) -> HttpResponse:
    """Undo this person's last action in this browser, if there was no later decision."""
    action = request.session.get(LAST_ACTION)
    if action is None:
        raise Conflict("you have no action to undo", "nothing-to-undo")
    filters = read_filters(request)
    done = triage.undo(
        datetime.fromisoformat(action["at"]), actor=core.actor(request), now=timezone.now()
    )
    del request.session[LAST_ACTION]
    what = action["what"]
    undone = f"Undone: {what[:1].lower()}{what[1:]}." if done.moved else ""
    core.report(request, success=undone)
    _report_refusals(request, done.not_moved)
    lines = find(filters).of(done.moved)
    return core.after_post(request, filters.url(), focus=lines[0].row_id if lines else "")


def finding(request: HttpRequest, fingerprint: str) -> HttpResponse:
    filters = read_filters(request)
    queue = find(filters)
    with Corpus(settings.current()) as corpus:
        shown = read_finding(fingerprint, queue=queue, corpus=corpus)
    return core.page(
        request,
        "review/finding.html",
        lambda: _context(request, shown, queue, filters),
        document=shown.document,
    )


def _context(
    request: HttpRequest, shown: FindingPage, queue: Queue, filters: core.Filters
) -> dict[str, Any]:
    about = shown.document
    # One that is not in the queue has no place in it.
    cursor = shown.line.cursor if shown.line.event_id else None
    is_in = shown.line in queue.of([about.finding.fingerprint])
    gate, review = shown.pair.gate_snapshot.text, shown.pair.review_text.text
    return {
        "filters": filters,
        "here": reverse("queue"),
        "shown": shown,
        "finding": about.finding,
        "about": about,
        "rank": queue.rank(cursor) + 1 if is_in and cursor else None,
        "total": queue.total,
        "next_url": _url(cursor and queue.next(cursor), filters),
        "previous_url": _url(cursor and queue.before(cursor), filters),
        "queue_url": _queue_url(filters, shown.line if is_in else None, queue),
        "gate_html": render_markdown(gate, look=Look(prefix="gate-", headings=(2, 3))),
        "review_html": render_markdown(review, look=Look(prefix="review-", headings=(2, 3))),
        "states": [
            word for word in (DispositionState.OPEN, *STATES) if word != about.finding.status
        ],
        "fix_command": f"commonplace fix_prompt {quote(about.note_path)}",
        "last_action": request.session.get(LAST_ACTION),
        "max_reason": MAX_REASON,
    }


def _url(line: FindingState | None, filters: core.Filters) -> str:
    """The page of a line's finding, in the list; "" for none."""
    return _page_of(line.fingerprint, filters) if line else ""


def _page_of(fingerprint: str, filters: core.Filters) -> str:
    return replace(filters, path=reverse("finding", args=[fingerprint])).url()


def _queue_url(filters: core.Filters, line: FindingState | None, queue: Queue) -> str:
    if line is None:
        return filters.url()
    start = queue.page_start(line.cursor, LINES_A_PAGE)
    return f"{filters.page(following=start).next_url or filters.url()}#{line.row_id}"


@require_POST
@core.requires(PERMISSION)
def decide(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Decide about the finding, and go on to the next one."""
    filters = read_filters(request)
    named = [f"{fingerprint} {request.POST.get('seen', '')}"]
    _posted, done = _dispose(request, request.POST.get("as", ""), named)
    if not done.moved:
        return core.SeeOther(_page_of(fingerprint, filters))
    queue = find(filters)
    cursor = queue.first_cursor([fingerprint])
    return core.SeeOther(_url(cursor and queue.next(cursor), filters) or filters.url())
