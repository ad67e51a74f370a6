"""Notes a hundred at a time, those with the most to do first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from review.domain.regions import regions_of
from review.knowledge_base import Corpus, NoteFacts, UnreadableFile
from review.overview.documents import NoteRowJson
from review.reviews.pair_states import STATES, PairStates
from review.vocabulary import Decision, Staleness

NOTES_A_PAGE = 100

# What the list is ordered by: minus the numbers of pairs that fail, warn, changed, lack a review.
Place = tuple[int, int, int, int, str]


@dataclass(frozen=True)
class ListRequest:
    """A filter of notes; an empty one keeps all, and several values match any of them.

    :param states: notes with a pair of such a state in one of the partitions.
    :param words: all of these occur in the path, in any case.
    :param by_path: order by path alone.
    """

    folders: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    by_path: bool = False
    after: Place | None = None


@dataclass(frozen=True)
class ListedNote:
    """A note with its pairs counted by partition and state."""

    note: NoteFacts
    counts: Mapping[str, Mapping[str, int]]
    place: Place


@dataclass(frozen=True)
class NoteListing:
    """A page of the list: one more note than a page holds says that there is another.

    :param folders, states, statuses: notes by the values of a filter, with the others as they are set.
    """

    notes: tuple[ListedNote, ...]
    total: int
    folders: Mapping[str, int]
    states: Mapping[str, int]
    statuses: Mapping[str, int]


def list_notes(states: PairStates, request: ListRequest) -> NoteListing:
    names = request.partitions or states.partitions
    folders: Counter[str] = Counter()
    present: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    chosen: list[tuple[Place, NoteFacts]] = []
    for note in _named(states, request.words):
        counts = Counter[str]()
        for name in names:
            counts.update(states.row(name, note))
        folder = note.path.rpartition("/")[0]
        in_folder = not request.folders or folder in request.folders
        in_status = not request.statuses or note.status in request.statuses
        in_state = not request.states or any(counts[word] for word in request.states)
        folders[folder] += in_status and in_state
        statuses[note.status] += in_folder and in_state
        if in_folder and in_status:
            present.update(counts.keys())
            if in_state:
                chosen.append((_place(note, Counter() if request.by_path else counts), note))
    after = request.after
    page = sorted(entry for entry in chosen if after is None or entry[0] > after)
    return NoteListing(
        notes=tuple(
            ListedNote(note, {name: _counted(states, name, note) for name in names}, place)
            for place, note in page[: NOTES_A_PAGE + 1]
        ),
        total=len(chosen),
        folders=dict(sorted(folders.items())),
        states={word: present[word] for word in STATES if present[word]},
        statuses=dict(sorted(statuses.items())),
    )


def _named(states: PairStates, words: tuple[str, ...]) -> Iterator[NoteFacts]:
    for note in states.notes:
        path = note.path.lower() if words else ""
        if all(word in path for word in words):
            yield note


def _place(note: NoteFacts, counts: Counter[str]) -> Place:
    changed = counts[Staleness.NOTE_CHANGED.value] + counts[Staleness.GATE_CHANGED.value]
    return (
        -counts[Decision.FAIL.value],
        -counts[Decision.WARN.value],
        -changed,
        -counts[Staleness.MISSING_REVIEW.value],
        note.path,
    )


def _counted(states: PairStates, partition: str, note: NoteFacts) -> dict[str, int]:
    counts = Counter(states.row(partition, note))
    return {word: counts[word] for word in STATES if counts[word]}


def row_json(corpus: Corpus, item: ListedNote) -> NoteRowJson:
    """A listed note with its title, which is read from the file."""
    try:
        title = regions_of(corpus.read_note(item.note.path).text).title_text
    except UnreadableFile:
        title = ""
    return NoteRowJson(
        note_path=item.note.path,
        title=title,
        status=item.note.status,
        type=item.note.kind.type_path,
        counts={name: dict(counts) for name, counts in item.counts.items()},
    )
