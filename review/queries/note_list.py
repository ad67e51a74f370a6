"""Notes a hundred at a time, out of the map of the base, with what each wants."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from review.contracts.base_pages import NoteRowJson
from review.queries.base_map import WORDS, BaseMap
from review.queries.map_layout import Group

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
    groups = base.groups(names)
    named = _named(base, request.words)
    numbers = groups.numbers if named is None else Counter(groups.of[place] for place in named)
    counts, wanted = _counts(groups.kinds, numbers, request)
    among = range(len(base.notes)) if named is None else named
    start = bisect_right(among, request.after, key=lambda place: base.notes[place].path)
    chosen = (place for place in islice(among, start, None) if groups.of[place] in wanted)
    return NoteListing(
        notes=tuple(_listed(base, names, islice(chosen, NOTES_A_PAGE + 1))),
        total=sum(numbers[group] for group in wanted),
        counts=counts,
    )


def _named(base: BaseMap, words: Sequence[str]) -> list[int] | None:
    """The places of notes with all these words in their path; None for all, without a word."""
    if not words:
        return None
    paths = base.lowered
    found: Iterable[int] = range(len(paths))
    for word in words:
        found = [place for place in found if word in paths[place]]
    return list(found)


def _counts(
    kinds: Sequence[Group], numbers: Mapping[int, int], request: ListRequest
) -> tuple[NoteCounts, set[int]]:
    """What each filter leaves with the others as they are set, and the groups that all leave."""
    folders: Counter[str] = Counter()
    states: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    wanted: set[int] = set()
    for place, number in numbers.items():
        group = kinds[place]
        in_folder = not request.folders or group.folder in request.folders
        in_status = not request.statuses or group.status in request.statuses
        in_state = not request.states or any(
            _LETTERS[word] in group.letters for word in request.states
        )
        folders[group.folder] += number if in_status and in_state else 0
        statuses[group.status] += number if in_folder and in_state else 0
        if in_folder and in_status:
            states.update({WORDS[letter]: number for letter in group.letters if letter in WORDS})
            if in_state:
                wanted.add(place)
    counts = NoteCounts(
        folders=dict(sorted(folders.items())),
        states={word: states[word] for word in STATES if states[word]},
        statuses=dict(sorted(statuses.items())),
    )
    return counts, wanted


def _listed(base: BaseMap, names: Sequence[str], places: Iterable[int]) -> Iterator[ListedNote]:
    for place in places:
        note = base.notes[place]
        yield ListedNote(
            path=note.path,
            status=note.status,
            type_path=note.kind.type_path,
            counts={name: _counted(base.of(name, note)) for name in names},
        )


def _counted(letters: bytes) -> dict[str, int]:
    return {word: number for letter, word in WORDS.items() if (number := letters.count(letter))}
