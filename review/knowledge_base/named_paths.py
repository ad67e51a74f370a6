"""Finds named files and folders, or the note roots, on disk."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from review.domain.paths import near_matches, path_below
from review.domain.problems import Problem
from review.errors import InputRejected
from review.knowledge_base.reader import UnreadableFile
from review.knowledge_base.walker import MARKDOWN, Scanner
from review.vocabulary import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from review.knowledge_base.reader import DiskPaths
    from review.knowledge_base.walker import ScanResult, ScanRules


_EXPECTED = f"expected a {MARKDOWN} file"


class NoSuchNote(InputRejected):
    """A named file or folder is not there, or can hold no note."""


@dataclass(frozen=True)
class NamedPath:
    """A file or a folder: its identity and one spelling of it on disk."""

    path: str
    disk_path: str
    is_folder: bool


class Selector:
    """Finds what is named; it looks at names only, `Scanner` at what stands under them."""

    def __init__(self, root: str, *, rules: ScanRules, disk_paths: DiskPaths) -> None:
        self._root = root
        self._rules = rules
        self._disk_paths = disk_paths

    def named(
        self, names: Iterable[str], *, known: Callable[[], Iterable[str]]
    ) -> tuple[list[NamedPath], list[Problem]]:
        """Find files and folders by name; `known` gives the note paths to guess from.

        A file may lie outside the note roots, and be one that a walk leaves out by pattern.

        :raises NoSuchNote: nothing of that name exists, or it can be no note.
        :raises BadPath: the name is none.
        """
        places: list[NamedPath] = []
        problems: list[Problem] = []
        for name in names:
            path = path_below(self._root, name)
            if reason := self.refusal(path):
                raise NoSuchNote(f"{path!r} is no note: {reason}")
            try:
                found = [self._place(path, disk) for disk in self._disk_paths.spellings(path)]
            except UnreadableFile as refused:
                problems.append(refused.problem)
                continue
            if not found:
                near = ", ".join(near_matches(path, known()))
                hint = f"did you mean {near}?" if near else ""
                raise NoSuchNote(f"{path!r} does not exist below the root", hint=hint)
            places.extend(found)
        return places, problems

    def roots(self) -> tuple[list[NamedPath], list[Problem]]:
        """Find the roots of the rules. One of them may be missing; that all are is a problem."""
        places: list[NamedPath] = []
        problems: list[Problem] = []
        for path in self._rules.roots:
            try:
                found = self._disk_paths.spellings(path)
                places.extend(NamedPath(path, disk_path, is_folder=True) for disk_path in found)
            except UnreadableFile as refused:
                problems.append(refused.problem)
        if not places and not problems:
            message = "no such folder; kb/review.toml may name another"
            problems = [
                Problem(path, ProblemCode.VANISHED, message, skipped=True)
                for path in self._rules.roots
            ]
        return places, problems

    def refusal(self, path: str) -> str:
        """Say why a path can be no note whatever stands under it; `""` when it can."""
        below = f"{path}/"
        for root in self._rules.roots:
            below = below.removeprefix(f"{root}/")
        hidden = any(part.startswith(".") for part in below.split("/"))
        if hidden or any(f"{path}/".startswith(f"{name}/") for name in self._rules.pruned):
            return "hidden files and the reports folder are never reviewed"
        return ""

    def file_refusal(self, path: str) -> str:
        """Say why a path can be no note, as `refusal` does, where a folder is none either."""
        return self.refusal(path) or ("" if path.endswith(MARKDOWN) else _EXPECTED)

    def _place(self, path: str, disk_path: str) -> NamedPath:
        # os.path, because Path.is_dir raises where it may not look.
        is_folder = os.path.isdir(f"{self._root}/{disk_path}")  # noqa: PTH112
        if not is_folder and not path.endswith(MARKDOWN):
            raise NoSuchNote(f"{path!r} is no note: {_EXPECTED}, or a folder")
        return NamedPath(path, disk_path, is_folder)


def scan(
    root: str, places: Sequence[NamedPath], problems: list[Problem], *, rules: ScanRules
) -> ScanResult:
    """Stat the files among the places, and all notes below the folders; adds to the problems."""
    scanner = Scanner(root, rules, problems)
    for place in places:
        add = scanner.add_folder if place.is_folder else scanner.add_file
        add(place.path, place.disk_path)
    return scanner.result()


def scan_some(
    root: str, paths: Iterable[str], *, disk_paths: DiskPaths, rules: ScanRules
) -> ScanResult:
    """Stat those files that a walk of their folders would take; no other file is looked at."""
    names: dict[str, set[str]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        names.setdefault(folder, set()).add(name)
    problems: list[Problem] = []
    scanner = Scanner(root, rules, problems)
    for folder, wanted in sorted(names.items()):
        try:
            for disk_path in disk_paths.spellings(folder):
                scanner.add_some(folder, disk_path, wanted)
        except UnreadableFile as refused:
            problems.append(refused.problem)
    return scanner.result()
