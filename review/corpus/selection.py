"""Turns named files and folders, or the note roots, into places to look on disk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from review.corpus.reading import UnreadableFile
from review.corpus.scanning import MARKDOWN, Scanner
from review.domain.identity import near_matches, normalise_path
from review.domain.problems import Problem
from review.errors import InputRejected
from review.vocabulary import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from review.corpus.locating import Locator
    from review.corpus.scanning import ScanResult, ScanRules


class NoSuchNote(InputRejected):
    """A named file or folder is not there, or can hold no note."""


@dataclass(frozen=True)
class Place:
    """A file or a folder: its identity and one spelling of it on disk."""

    path: str
    disk_path: str
    is_folder: bool


class Selector:
    """Finds what is named; it looks at names only, `Scanner` at what stands under them."""

    def __init__(self, root: str, *, rules: ScanRules, locator: Locator) -> None:
        self._root = root
        self._rules = rules
        self._locator = locator

    def named(
        self, names: Iterable[str], *, known: Callable[[], Iterable[str]]
    ) -> tuple[list[Place], list[Problem]]:
        """Find files and folders by name; `known` gives the note paths to guess from.

        A file may lie outside the note roots, and be one that a walk leaves out by pattern.

        :raises NoSuchNote: nothing of that name exists, or it can be no note.
        :raises BadPath: the name is none.
        """
        places: list[Place] = []
        problems: list[Problem] = []
        for name in names:
            path = normalise_path(name.removeprefix(f"{self._root}/"))
            self._refuse_hidden(path)
            try:
                found = self._places(path)
            except UnreadableFile as refused:
                problems.append(refused.problem)
                continue
            if not found:
                near = ", ".join(near_matches(path, known()))
                hint = f"did you mean {near}?" if near else ""
                raise NoSuchNote(f"{path!r} does not exist below the root", hint=hint)
            places.extend(found)
        return places, problems

    def roots(self) -> tuple[list[Place], list[Problem]]:
        """Find the roots of the rules. One of them may be missing; that all are is a problem."""
        places: list[Place] = []
        problems: list[Problem] = []
        for path in self._rules.roots:
            try:
                places.extend(self._places(path))
            except UnreadableFile as refused:
                problems.append(refused.problem)
        if not places and not problems:
            message = "no such folder; kb/review.toml may name another"
            problems = [
                Problem(path, ProblemCode.VANISHED, message, skipped=True)
                for path in self._rules.roots
            ]
        return places, problems

    def _places(self, path: str) -> list[Place]:
        return [self._place(path, spelling) for spelling in self._locator.spellings(path)]

    def _place(self, path: str, disk_path: str) -> Place:
        is_folder = Path(self._root, disk_path).is_dir()
        if not is_folder and not path.endswith(MARKDOWN):
            raise NoSuchNote(f"{path!r} is no note: expected a {MARKDOWN} file or a folder")
        return Place(path, disk_path, is_folder)

    def _refuse_hidden(self, path: str) -> None:
        below = f"{path}/"
        for root in self._rules.roots:
            below = below.removeprefix(f"{root}/")
        hidden = any(part.startswith(".") for part in below.split("/"))
        if hidden or any(f"{path}/".startswith(f"{name}/") for name in self._rules.pruned):
            raise NoSuchNote(
                f"{path!r} is no note: hidden files and the reports folder are never reviewed"
            )


def scan(
    root: str, places: Sequence[Place], problems: Sequence[Problem], *, rules: ScanRules
) -> ScanResult:
    """Stat the files among the places, and all notes below the folders; adds to the problems."""
    scanner = Scanner(root, rules)
    for place in places:
        add = scanner.add_folder if place.is_folder else scanner.add_file
        add(place.path, place.disk_path)
    found = scanner.result()
    return replace(found, problems=[*problems, *found.problems])
