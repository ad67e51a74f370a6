"""Notes a hundred at a time, out of the map of the base, with what each wants."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from review.contracts.base_pages import NoteRowJson
from review.corpus import NoteFacts
from review.queries.base_map import WORDS, BaseMap

NOTES_A_PAGE = 100
_LETTERS = {word: letter for letter, word in WORDS.items()}
STATES = tuple(_LETTERS)


@dataclass(frozen=True)
class ListRequest:
    """Which notes to give; an empty filter keeps all, several values of one any of them.

    :param states: notes with a pair of such a state in one of the partitions.
    :param words: all of these stand in the path, in any case.
    """

    folders: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    after: str = ""


@dataclass(frozen=True)
class ListedNote:
    """A note with its pairs counted by state, partition by partition."""

    path: str
    status: str
    type_path: str
    counts: Mapping[str, Mapping[str, int]]

    def as_json(self) -> NoteRowJson:
        """For the document of the list."""
        return NoteRowJson(
            note_path=self.path,
            status=self.status,
            type=self.type_path,
            counts={name: dict(counts) for name, counts in self.counts.items()},
        )


@dataclass(frozen=True)
class NoteCounts:
    """How many notes there are by each filter's values, with the other filters as they are set."""

    folders: Mapping[str, int]
    states: Mapping[str, int]
    statuses: Mapping[str, int]


@dataclass(frozen=True)
class NoteListing:
    """A page of the list: one more note than a page holds says that there is another."""

    notes: tuple[ListedNote, ...]
    total: int
    counts: NoteCounts


def list_notes(base: BaseMap, request: ListRequest) -> NoteListing:
    """The page of the list that is asked for."""
    names = request.partitions or base.partitions
    folders: Counter[str] = Counter()
    states: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    found: list[NoteFacts] = []
    for note in base.notes:
        if not all(word in note.path.lower() for word in request.words):
            continue
        folder = folder_of(note.path)
        in_folder = not request.folders or folder in request.folders
        in_status = not request.statuses or note.status in request.statuses
        letters = set().union(*(base.of(name, note) for name in names))
        in_state = not request.states or any(_LETTERS[word] in letters for word in request.states)
        folders[folder] += in_status and in_state
        statuses[note.status] += in_folder and in_state
        if in_folder and in_status:
            states.update(WORDS[letter] for letter in letters if letter in WORDS)
            if in_state:
                found.append(note)
    start = bisect_right(found, request.after, key=lambda note: note.path)
    return NoteListing(
        notes=tuple(_listed(base, names, found[start : start + NOTES_A_PAGE + 1])),
        total=len(found),
        counts=NoteCounts(
            folders=dict(sorted(folders.items())),
            states={word: states[word] for word in STATES if states[word]},
            statuses=dict(sorted(statuses.items())),
        ),
    )


def folder_of(path: str) -> str:
    """The folder a note stands in."""
    return path.rpartition("/")[0]


def _listed(
    base: BaseMap, names: Sequence[str], notes: Sequence[NoteFacts]
) -> Iterator[ListedNote]:
    for note in notes:
        yield ListedNote(
            path=note.path,
            status=note.status,
            type_path=note.kind.type_path,
            counts={name: _counted(base.of(name, note)) for name in names},
        )


def _counted(letters: bytes) -> dict[str, int]:
    return {word: number for letter, word in WORDS.items() if (number := letters.count(letter))}
