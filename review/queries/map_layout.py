"""Many notes by what they have in common, found once: pages ask for folders and groups, not for notes."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

from review.corpus import NoteFacts


@dataclass(frozen=True)
class Branch:
    """A folder: the paths of the folders directly in it, sorted, and the places of its own notes."""

    subfolders: tuple[str, ...] = ()
    places: tuple[int, ...] = ()


def branches(paths: Sequence[str]) -> dict[str, Branch]:
    """The folders of sorted paths and all those above them, up to ""; by path."""
    places: dict[str, list[int]] = {}
    for place, path in enumerate(paths):
        places.setdefault(_above(path), []).append(place)
    inner: dict[str, list[str]] = {"": []}
    for folder in places:
        while folder not in inner:
            inner[folder] = []
            folder = _above(folder)
    for folder in inner.keys() - {""}:
        inner[_above(folder)].append(folder)
    return {
        folder: Branch(tuple(sorted(names)), tuple(places.get(folder, ())))
        for folder, names in inner.items()
    }


@dataclass(frozen=True)
class Group:
    """Notes that stand in one folder with one status, and have the same letters in their cells."""

    folder: str
    status: str
    letters: frozenset[int]


@dataclass(frozen=True)
class Groups:
    """The groups that notes fall into.

    :param of: the group of each note, as a place in `kinds`.
    :param numbers: how many notes each group has.
    """

    kinds: tuple[Group, ...]
    of: Sequence[int]
    numbers: Mapping[int, int]


def grouped(notes: Sequence[NoteFacts], rows: Sequence[Iterable[bytes]]) -> Groups:
    """The groups of the notes; there are far fewer of them.

    :param rows: for each partition, the letters of each note.
    """
    sets: dict[tuple[bytes, ...], frozenset[int]] = {}
    numbers: dict[tuple[str, str, frozenset[int]], int] = {}
    of = array("L")
    for note, letters in zip(notes, zip(*rows, strict=True) if rows else repeat(()), strict=False):
        found = sets.get(letters)
        if found is None:
            found = sets[letters] = frozenset().union(*letters)
        key = (_above(note.path), note.status, found)
        of.append(numbers.setdefault(key, len(numbers)))
    return Groups(tuple(Group(*key) for key in numbers), of, Counter(of))


def _above(path: str) -> str:
    return path.rpartition("/")[0]
