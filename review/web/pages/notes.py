"""The pages of notes and of gates: the lists, one note with its past, one gate and how it fared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString

from review import settings
from review.acceptance.ack_selection import Pick
from review.calibration.calibration import read_calibration
from review.documents.base import Document, Problems, grouped, timestamp
from review.domain.diffs.words import word_diff
from review.domain.staleness import regions_of
from review.knowledge_base import Corpus, Gate, NoteFacts, UnreadableFile
from review.models import FileSnapshot, ModelPartition
from review.overview import note_page
from review.overview.gate_page import GatePageJson, change_since, gate_covers, read_gate_page
from review.queue.queue import QueueFilter, queue_now
from review.reviews.pair_states import FAIL, FRESH, MISSING, STATES, WARN, PairStates
from review.reviews.read import snapshot_text
from review.selection.names import GatesJson, list_gates, within
from review.vocabulary import DispositionState, Staleness
from review.web.core import Facet, Filters, calibration, label, page, pair_states, parse_filters
from review.web.pages.jobs import write_pick
from review.web.render.markdown import (
    mark_findings,
    note_links,
    render_diff,
    render_markdown,
    render_plain,
    render_text,
)
from review.web.render.tokens import Look


class NoteRowJson(Document):
    """A note of the list; `counts` by model partition, then by state."""

    note_path: str
    title: str
    status: str
    type: str
    counts: dict[str, dict[str, int]]


class NotesJson(Document, kw_only=True, tag_field="schema", tag="notes/1"):
    """The answer of the list of notes; `next` is null on the last page."""

    total: int
    notes: list[NoteRowJson]
    next: str | None
    problems: Problems
    counted_at: str | None


NOTES_A_PAGE = 100
_NO_STATUS = "none"
_BY_PATH = "path"
_KNOWN = {
    "folder": None,
    "state": STATES,
    "status": None,
    "model": None,
    "q": None,
    "sort": [_BY_PATH],
}
# Fresh pairs are shown by their decision.
_STATE_LABELS = {FRESH: "fresh: pass", WARN: "fresh: warn", FAIL: "fresh: fail"}

# What the list is ordered by: minus the numbers of pairs that fail, warn, changed, lack a review.
Place = tuple[int, int, int, int, str]


def notes(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, _KNOWN)
    answer = pair_states()
    states = answer.value
    listing = list_notes(states, filters)
    place = filters.place(int, int, int, int, str)
    rest = [entry for entry in listing.chosen if place is None or entry[0] > place]
    paged = filters.cut(rest, NOTES_A_PAGE, lambda entry: entry[0])
    with Corpus(settings.current()) as corpus:
        rows = [
            _row(corpus, states, note, filters.all("model") or states.partitions)
            for _place, note in paged.items
        ]
    return page(
        request,
        "review/notes.html",
        lambda: {
            "filters": filters,
            "paged": paged,
            "rows": rows,
            "total": len(listing.chosen),
            "skipped": [problem for problem in states.problems if problem.skipped],
            "counted_at": answer.at,
            "facets": _facets(filters, listing, states),
            "note_roots": settings.current().note_roots,
        },
        document=lambda: NotesJson(
            total=len(listing.chosen),
            notes=rows,
            next=paged.next_document,
            problems=states.problems,
            counted_at=timestamp(answer.at),
        ),
    )


@dataclass(frozen=True)
class NoteListing:
    """The notes that match, in order, and notes by the values of a filter, under the others."""

    chosen: list[tuple[Place, NoteFacts]] = field(default_factory=list)
    folders: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)


def list_notes(states: PairStates, filters: Filters) -> NoteListing:
    words = " ".join(filters.all("q")).lower().split()
    names = filters.all("model") or states.partitions
    found, by_path = NoteListing(), filters.one("sort") == _BY_PATH
    for note in (it for it in states.notes if all(word in it.path.lower() for word in words)):
        counts = Counter(chain.from_iterable(states.row(name, note) for name in names))
        folder = note.path.rpartition("/")[0]
        in_folder = filters.accepts(folder=folder)
        in_status = filters.accepts(status=note.status or _NO_STATUS)
        in_state = any(counts[word] for word in filters.all("state")) or not filters.all("state")
        found.folders[folder] += in_status and in_state
        found.statuses[note.status] += in_folder and in_state
        if in_folder and in_status:
            found.states.update(counts.keys())
            if in_state:
                found.chosen.append((_place(note, Counter() if by_path else counts), note))
    found.chosen.sort()
    return found


def _place(note: NoteFacts, counts: Counter[str]) -> Place:
    changed = counts[Staleness.NOTE_CHANGED.value] + counts[Staleness.GATE_CHANGED.value]
    return -counts[FAIL], -counts[WARN], -changed, -counts[MISSING], note.path


def _row(
    corpus: Corpus, states: PairStates, note: NoteFacts, partitions: Iterable[str]
) -> NoteRowJson:
    try:
        title = regions_of(corpus.read_note(note.path).text).title_text
    except UnreadableFile:
        title = ""
    found = {name: Counter(states.row(name, note)) for name in partitions}
    counts = {name: {it: of[it] for it in STATES if of[it]} for name, of in found.items()}
    return NoteRowJson(note.path, title, note.status, note.kind.type_path, counts)


def _facets(filters: Filters, listing: NoteListing, states: PairStates) -> list[Facet]:
    present = {word: listing.states[word] for word in STATES if listing.states[word]}
    statuses = {word or _NO_STATUS: number for word, number in sorted(listing.statuses.items())}
    labels = {word: _STATE_LABELS.get(word, label(word)) for word in STATES}
    return [
        filters.facet("state", "With a pair that is", present, labels=labels.__getitem__),
        filters.facet("folder", "Folder", dict(sorted(listing.folders.items()))),
        filters.facet("status", "Status", statuses),
        filters.facet("model", "Model partition", dict.fromkeys(states.partitions)),
    ]


# Texts that one page compares word by word; the others get links.
MAX_COMPARED = 3
# Characters of written changes on one page, which has the note itself to show, too.
_ROOM = 120_000
_TITLES = {
    note_page.ACT: "stale by a change, warn, fail, or without a decision",
    note_page.REVIEW: "stale: missing review",
    note_page.NOTHING: "fresh and passed, or the gate no longer applies",
}

# A pair, and its value in the form; "" where it can be neither acked nor requested.
Row = tuple[note_page.NotePairJson, str]


def note(request: HttpRequest, note_path: str) -> HttpResponse:
    filters = parse_filters(request, {"model": None, "as": ["lines"]})
    place = filters.place(int)
    before = int(place[0]) if place else None
    with Corpus(settings.current()) as corpus:
        shown = note_page.read_note_page(corpus, note_path, filters.all("model"), before)
        context = partial(_context, filters, shown, corpus)
        return page(request, "review/note.html", context, document=shown.document)


def _context(filters: Filters, shown: note_page.NotePage, corpus: Corpus) -> dict[str, Any]:
    names = ModelPartition.objects.order_by("name").values_list("name", flat=True)
    rows = [(pair, _pick(shown, pair)) for pair in shown.document.pairs]
    # What wants an act comes first; the first group that has any is open.
    groups = {name: [(pair, pick) for pair, pick in rows if pair.wants == name] for name in _TITLES}
    return {
        "filters": filters,
        "note": shown,
        "about": shown.document,
        "changed": _changed(rows, shown.text),
        "groups": [(_TITLES[name], name, found) for name, found in groups.items() if found],
        "trivial": [pick for pair, pick in rows if pick and pair.is_trivial],
        "can_pick": any(pick for _pair, pick in rows),
        "history": filters.cut(
            shown.document.history, note_page.HISTORY, lambda event: (event.acceptance_event_id,)
        ),
        "html": _html(filters, shown, corpus),
        "models": filters.facet("model", "", dict.fromkeys((*names, *corpus.config.partitions))),
    }


def _pick(shown: note_page.NotePage, pair: note_page.NotePairJson) -> str:
    note = shown.document
    if note.sha256 is None or pair.is_gone:
        return ""
    key = (note.note_path, pair.gate_id, pair.model_partition)
    return write_pick(Pick(*key, note.sha256, pair.gate_sha256, pair.review_pair_id))


def _html(filters: Filters, shown: note_page.NotePage, corpus: Corpus) -> SafeString:
    """The note's text, or the last one that is kept, with its open findings."""
    text = shown.kept.text if shown.kept else shown.text
    if text is None:
        return SafeString("")
    found = [item.finding for item in shown.document.findings]
    marks = mark_findings((item, item.line_now or item.line) for item in found)
    links = note_links(corpus, shown.document.note_path)
    look = Look(link_to=links, headings=(2, 3), flavour=corpus.flavour)
    return render_text(text, look, by_lines="as" in filters.values, quotes=marks)


def _changed(rows: Iterable[Row], text: str | None) -> dict[str, Any]:
    """Return what changed since each accepted text of the note, and the gates that changed."""
    pairs = [pair for pair, _pick in rows if not pair.is_gone]
    groups = grouped(
        (pair.accepted_note_snapshot_id or 0, (pair, pick))
        for pair, pick in rows
        if text is not None and pair.accepted_note_snapshot_id and pair.is_note_changed
    )
    # Those that make most pairs stale first.
    ordered = sorted(groups, key=lambda key: (-len(groups[key]), -key))
    stored = FileSnapshot.objects.filter(pk__in=ordered[:MAX_COMPARED])
    befores = dict(stored.values_list("pk", "text"))
    texts: list[dict[str, Any]] = []
    left = _ROOM
    for key in ordered:
        diff = word_diff(befores[key], text or "") if key in befores else None
        html = render_diff(diff) if diff else ""
        left -= len(html)
        found = {
            "rows": [pair for pair, _pick in groups[key]],
            "accepted_at": max(pair.accepted_at or "" for pair, _pick in groups[key]),
            "diff": diff,
            "html": html if left >= 0 else "",
            "picks": [pick for pair, pick in groups[key] if pick and pair.can_ack],
        }
        texts.append(found)
    return {
        "texts": texts,
        "gates": [pair for pair in pairs if Staleness.GATE_CHANGED in pair.reasons],
        "reasons": Counter(pair.state for pair in pairs if pair.is_changed),
        "accepted": any(pair.accepted_at is not None for pair in pairs),
    }


def gates(request: HttpRequest) -> HttpResponse:
    filters = parse_filters(request, {"lens": None, "judged": ["rule", "model"]})
    config = settings.current()
    with Corpus(config) as corpus:
        document = list_gates(corpus, (), note="")
    document.gates = [
        gate
        for gate in document.gates
        if filters.accepts(lens=gate.lens, judged="rule" if gate.rule else "model")
    ]
    of_lens = within(f"{config.gates_folder}/{lens}" for lens in filters.all("lens"))
    document.problems = [item for item in document.problems if of_lens(item.path)]
    return page(
        request, "review/gates.html", lambda: _gates_context(filters, document), document=document
    )


def _gates_context(filters: Filters, document: GatesJson) -> dict[str, Any]:
    answer, muted = pair_states(), settings.current().muted
    covers = gate_covers(answer.value)
    records = grouped((it.gate_id, it) for it in calibration().gates if it.is_now)
    return {
        "filters": filters,
        "rows": [
            (gate, covers.get(gate.gate_path), records.get(gate.gate_id), muted.get(gate.gate_id))
            for gate in document.gates
        ],
        "problems": document.problems,
        "counted_at": answer.at,
        "facets": [
            filters.facet("lens", "Lens", Counter(gate.lens for gate in answer.value.gates)),
            filters.facet("judged", "Judged by", {"rule": None, "model": None}),
        ],
    }


def gate(request: HttpRequest, gate_id: str) -> HttpResponse:
    filters = parse_filters(request, {"as": ["lines"], "against": None, "agreement": ["shown"]})
    against = filters.key("against")
    config = settings.current()
    answer = pair_states()
    queue = queue_now(config, QueueFilter(gates=(gate_id,)), now=timezone.now())
    with Corpus(config) as corpus:
        found, document = read_gate_page(corpus, answer.value, gate_id, open_findings=queue.total)
        if found:
            agreement = "agreement" in filters.values
            track = read_calibration(corpus, [gate_id], with_agreement=agreement)
            document.records, document.agreement = track.gates, track.agreement
    return page(
        request,
        "review/gate.html",
        lambda: _gate_context(filters, found, document, against) | {"counted_at": answer.at},
        document=document,
    )


def _gate_context(
    filters: Filters, gate: Gate | None, document: GatePageJson, against: int | None
) -> dict[str, Any]:
    config = settings.current()
    text = gate.text if gate else ""
    if not gate and document.texts:
        text = snapshot_text(document.texts[0].snapshot_id)
    change = change_since(gate, against) if gate and against is not None else None
    return {
        "filters": filters,
        "about": document,
        "gate": gate,
        "gate_path": config.gate_path(document.gate_id),
        "would_go_stale": sum(cover.would_go_stale for cover in document.partitions),
        "records": [record for record in document.records if record.is_now or record.people.n],
        "tables": [table for table in document.agreement or () if table.of == "gate"],
        "muted": config.muted.get(document.gate_id),
        "judged": [
            (state, number)
            for state, number in document.dispositions.items()
            if number and state != DispositionState.OPEN
        ],
        "html": render_plain(text)
        if "as" in filters.values
        else render_markdown(text, look=Look(headings=(2, 3))),
        "change_html": render_diff(change) if change else "",
        "tried": [item for item in document.examples if item.holds is not None],
    }
