"""The page that lists notes, a hundred at a time, those with the most to do first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from django.http import HttpRequest, HttpResponse

from review import settings
from review.documents.base import timestamp
from review.documents.problems import problem_json
from review.domain.regions import regions_of
from review.knowledge_base import Corpus, NoteFacts, UnreadableFile
from review.knowledge_base.opening import open_corpus
from review.overview.documents import NoteRowJson, NotesJson
from review.reviews.pair_states import FAIL, FRESH, MISSING, STATES, WARN, PairStates
from review.vocabulary import Staleness
from review.web.core.cached import pair_states
from review.web.core.filters import Facet, Filters, parse_filters
from review.web.core.responses import page
from review.web.core.template_tags import label

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
    with open_corpus(settings.current()) as corpus:
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
            problems=[problem_json(problem) for problem in states.problems],
            counted_at=timestamp(answer.at),
        ),
    )


@dataclass(frozen=True)
class NoteListing:
    """The notes that match, in order, and notes by the values of a filter, under the others."""

    chosen: list[tuple[Place, NoteFacts]]
    folders: Counter[str]
    states: Counter[str]
    statuses: Counter[str]


def list_notes(states: PairStates, filters: Filters) -> NoteListing:
    words = " ".join(filters.all("q")).lower().split()
    names = filters.all("model") or states.partitions
    found = NoteListing([], Counter(), Counter(), Counter())
    for note in states.notes:
        path = note.path.lower() if words else ""
        if not all(word in path for word in words):
            continue
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
                by_path = filters.one("sort") == _BY_PATH
                found.chosen.append((_place(note, Counter() if by_path else counts), note))
    found.chosen.sort()
    return found


def _place(note: NoteFacts, counts: Counter[str]) -> Place:
    changed = counts[Staleness.NOTE_CHANGED.value] + counts[Staleness.GATE_CHANGED.value]
    return -counts[FAIL], -counts[WARN], -changed, -counts[MISSING], note.path


def _row(
    corpus: Corpus, states: PairStates, note: NoteFacts, partitions: Iterable[str]
) -> NoteRowJson:
    """A note with its title, which is read from the file."""
    try:
        title = regions_of(corpus.read_note(note.path).text).title_text
    except UnreadableFile:
        title = ""
    counts = {name: Counter(states.row(name, note)) for name in partitions}
    return NoteRowJson(
        note_path=note.path,
        title=title,
        status=note.status,
        type=note.kind.type_path,
        counts={
            name: {state: found[state] for state in STATES if found[state]}
            for name, found in counts.items()
        },
    )


def _facets(filters: Filters, listing: NoteListing, states: PairStates) -> list[Facet]:
    present = {word: listing.states[word] for word in STATES if listing.states[word]}
    statuses = {word or _NO_STATUS: number for word, number in sorted(listing.statuses.items())}
    return [
        filters.facet(
            "state",
            "With a pair that is",
            present,
            labels=lambda word: _STATE_LABELS.get(word, label(word)),
        ),
        filters.facet("folder", "Folder", dict(sorted(listing.folders.items()))),
        filters.facet("status", "Status", statuses),
        filters.facet("model", "Model partition", dict.fromkeys(states.partitions)),
    ]
