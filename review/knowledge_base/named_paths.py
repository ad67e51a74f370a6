"""Scans of named files and folders, or of the note roots."""

from __future__ import annotations

import os
from collections.abc import Iterable

from review.domain.paths import near_matches, path_below
from review.domain.problems import Problem
from review.errors import InputRejected
from review.knowledge_base.reader import DiskPaths, UnreadableFile
from review.knowledge_base.walker import MARKDOWN, Scanner, ScanRules
from review.vocabulary import ProblemCode

_EXPECTED = f"expected a {MARKDOWN} file"


class NoSuchNote(InputRejected):
    """A named file or folder is not there, or can hold no note."""


class PathScanner(Scanner):
    """Collects files by their NFC paths; `files` and `folders` are the paths that were found."""

    def __init__(self, root: str, rules: ScanRules, disk_paths: DiskPaths) -> None:
        super().__init__(root, rules)
        self._disk_paths = disk_paths
        self.files: set[str] = set()
        self.folders: set[str] = set()

    def add_roots(self) -> None:
        """Walk the roots of the rules. One of them may be missing; that all are is a problem."""
        for path in self._rules.roots:
            for disk_path in self._spellings(path) or ():
                self._add_found_folder(path, disk_path)
        if not self.folders and not self._problems:
            message = (
                "no such folder: commonplace review_init makes it, or kb/review.toml names another"
            )
            for path in self._rules.roots:
                self._report(path, ProblemCode.VANISHED, message)

    def add_named(self, names: Iterable[str]) -> None:
        """Take files by name, and walk folders.

        A file may lie outside the note roots, and be one that a walk leaves out by pattern.

        :raises NoSuchNote: nothing of that name exists, or it can be no note.
        :raises BadPath: the name is none.
        """
        for name in names:
            path = path_below(self._root, name)
            if reason := refusal(path, self._rules):
                raise NoSuchNote(f"{path!r} is no note: {reason}")
            spellings = self._spellings(path)
            if spellings == ():
                near = ", ".join(near_matches(path, self._known_paths()))
                hint = f"did you mean {near}?" if near else ""
                raise NoSuchNote(f"{path!r} does not exist below the root", hint=hint)
            for disk_path in spellings or ():
                # os.path, because Path.is_dir raises where it may not look.
                if os.path.isdir(f"{self._root}/{disk_path}"):  # noqa: PTH112
                    self._add_found_folder(path, disk_path)
                elif path.endswith(MARKDOWN):
                    self.files.add(path)
                    self.add_file(path, disk_path)
                else:
                    raise NoSuchNote(f"{path!r} is no note: {_EXPECTED}, or a folder")

    def add_notes(self, paths: Iterable[str]) -> None:
        """Take those files that a walk of their folders would take; no other file is looked at."""
        names: dict[str, set[str]] = {}
        for path in paths:
            folder, _, name = path.rpartition("/")
            names.setdefault(folder, set()).add(name)
        for folder, wanted in sorted(names.items()):
            for disk_path in self._spellings(folder) or ():
                self.add_some(folder, disk_path, wanted)

    def _add_found_folder(self, path: str, disk_path: str) -> None:
        self.folders.add(path)
        self.add_folder(path, disk_path)

    def _spellings(self, path: str) -> tuple[str, ...] | None:
        """Return the spellings of a path on disk; None where that is a problem."""
        try:
            return self._disk_paths.spellings(path)
        except UnreadableFile as refused:
            self._problems.append(refused.problem)
            return None

    def _known_paths(self) -> list[str]:
        scanner = PathScanner(self._root, self._rules, self._disk_paths)
        scanner.add_roots()
        return scanner.paths()


def refusal(path: str, rules: ScanRules) -> str:
    """Return why a path can never be a note, whatever it holds; `""` when it can."""
    below = f"{path}/"
    for root in rules.roots:
        below = below.removeprefix(f"{root}/")
    hidden = any(part.startswith(".") for part in below.split("/"))
    if hidden or any(f"{path}/".startswith(f"{name}/") for name in rules.pruned):
        return "hidden files and the reports folder are never reviewed"
    return ""


def refuse_file(path: str, rules: ScanRules) -> None:
    """Refuse a path that can be no note.

    :raises UnreadableFile: `problem` is the reason as data.
    """
    reason = refusal(path, rules) or ("" if path.endswith(MARKDOWN) else _EXPECTED)
    if reason:
        problem = Problem(path, ProblemCode.NOT_A_FILE, f"no note: {reason}", skipped=True)
        raise UnreadableFile(problem)
