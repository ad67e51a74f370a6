"""Finds the Markdown files below folders of the root, with the stat of each; reads no content."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from review.domain.paths import MAX_PATH_BYTES, composed, name_problem
from review.domain.printing import printable_line
from review.domain.problems import Problem
from review.knowledge_base.reader import (
    StatSignature,
    UnreadableFile,
    name_collision,
    problem_of_error,
    refuse_dot_file,
    resolve_inside,
    signature_of,
    too_large,
)
from review.settings.file import ConfigRefused
from review.vocabulary import ProblemCode

MARKDOWN = ".md"
# Ends the name of the folder that holds a gate's cases.
CASES = ".cases"
# What else people call a Markdown file: in any case, `.MD` among them.
_MISNAMED = (MARKDOWN, ".markdown")
# Copies that synchronisers make of a file that was changed in two places, in several languages.
_CONFLICTED_COPY = re.compile(
    r"\((?:.*conflicted copy.*|(?:case|sf)\s?conflict\b.*|.*[ck]onfli[ck]?t.*\d{4}-\d\d-\d\d.*)\)(?:\.|$)"
    r"|\.sync-conflict-\d{8}-\d{6}|_conflict-\d{8}-\d{6}",
    re.IGNORECASE,
)
# How often one folder may be entered through links: ten folders that link to one another
# ten times each would otherwise make ten billion notes.
_MAX_LINKED_VISITS = 16
# Characters, of four bytes at most: no path of so many is too long.
_SURELY_SHORT = MAX_PATH_BYTES // 4


class FileEntry(NamedTuple):
    """One file: its identity, its spelling on disk, its stat. Sorts by path."""

    path: str
    disk_path: str
    signature: StatSignature


@dataclass(frozen=True)
class ScanRules:
    """The files that a walk includes and excludes.

    :param roots: root-relative folders that a walk starts in unless others are named.
    :param excludes: root-relative patterns, as in `.gitignore`.
    :param pruned: root-relative folders that hold no notes whatever links to them.
    :param gates_folder: cases below it are neither notes nor gates; "" takes them as files.
    :param max_bytes: bytes; a larger file is a problem.
    :param suffix: what names of files end with; `""` takes all.
    """

    max_bytes: int
    suffix: str = MARKDOWN
    roots: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    pruned: frozenset[str] = frozenset()
    gates_folder: str = ""


@dataclass(frozen=True)
class ScanResult:
    """Entries sorted by path, one per identity; problems in the order they were met."""

    entries: list[FileEntry]
    problems: list[Problem]


class _Folder(NamedTuple):
    path: str
    disk_path: str
    real: str
    entered: tuple[str, ...]  # real folders left through a link on the way here


class Scanner:
    """Collects files from folders and by name; `result` sorts them and looks for twins."""

    def __init__(self, root: str, rules: ScanRules) -> None:
        self._root = os.path.realpath(root)
        self._rules = rules
        self._excluded = _excluder(rules.excludes)
        self._entries: dict[str, FileEntry] = {}
        self._problems: list[Problem] = []
        self._linked_visits: Counter[str] = Counter()
        self._stack: list[_Folder] = []

    def add_folder(self, path: str, disk_path: str) -> None:
        """Walk a folder: hidden and excluded names are left out, links inside the root followed."""
        if folder := self._resolved(path, disk_path):
            self._enter(folder)
        while self._stack:
            self._list(self._stack.pop())

    def add_some(self, path: str, disk_path: str, names: Collection[str]) -> None:
        """Take the files of these names (NFC) that a walk would take out of the folder itself."""
        if folder := self._resolved(path, disk_path):
            self._list(folder, names)
        self._stack.clear()  # a folder may have such a name too

    def add_file(self, path: str, disk_path: str) -> None:
        """Take one file by name; it may be one that a walk would leave out."""
        if folder := self._resolved(path, disk_path.rpartition("/")[0]):
            try:
                status = os.lstat(self._absolute(disk_path))
            except OSError as error:
                self._problems.append(problem_of_error(path, error))
            else:
                self._take(folder, path, disk_path, status)

    def _resolved(self, path: str, disk_path: str) -> _Folder | None:
        """Follow the symbolic links of a folder; a fault of it is a problem of `path`."""
        try:
            return _Folder(path, disk_path, resolve_inside(self._root, path, disk_path), ())
        except (UnreadableFile, OSError) as error:
            self._problems.append(_problem(path, error))
            return None

    def paths(self) -> list[str]:
        """Return the identities of all files collected, whatever their size, sorted."""
        return sorted({entry.path for entry in self._entries.values()})

    def result(self) -> ScanResult:
        """Return what was collected; names that collide are left out, names alike are reported."""
        entries = sorted(self._entries.values(), key=itemgetter(0))
        if len({entry.path for entry in entries}) < len(entries):
            twins = Counter(entry.path for entry in entries)
            clashes = [(path, count) for path, count in twins.items() if count > 1]
            self._problems.extend(name_collision(path, count) for path, count in clashes)
            entries = [entry for entry in entries if twins[entry.path] == 1]
        self._problems.extend(_case_collisions([entry.path for entry in entries]))
        return ScanResult(self._of_good_size(entries), self._problems)

    def _of_good_size(self, entries: list[FileEntry]) -> list[FileEntry]:
        limit = self._rules.max_bytes
        good = [entry for entry in entries if 0 < entry.signature.size <= limit]
        if len(good) < len(entries):
            for path, _, (size, *_) in entries:
                if size == 0:
                    self._problems.append(empty_note(path))
                elif size > limit:
                    self._problems.append(too_large(path, size=size, max_bytes=limit))
        return good

    def _absolute(self, disk_path: str) -> str:
        return f"{self._root}/{disk_path}"

    def _list(self, folder: _Folder, names: Collection[str] | None = None) -> None:
        try:
            with os.scandir(self._absolute(folder.disk_path)) as listing:
                for entry in listing:
                    if names is None or composed(entry.name) in names:
                        self._visit(folder, entry)
        except OSError as error:
            self._problems.append(problem_of_error(folder.path, error))

    def _visit(self, folder: _Folder, entry: os.DirEntry[str]) -> None:
        # Strings and directory entries, no pathlib: this runs for every note of the base.
        name = entry.name
        if name.startswith(".") or (
            not name.endswith(self._rules.suffix) and self._is_other_file(folder, entry)
        ):
            return
        path = disk_path = f"{folder.disk_path}/{name}"
        if not name.isascii() or folder.path != folder.disk_path:
            path = f"{folder.path}/{composed(name)}"
        if self._is_left_out(path, name):
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            self._problems.append(problem_of_error(path, error))
        else:
            self._take(folder, path, disk_path, status)

    def _is_other_file(self, folder: _Folder, entry: os.DirEntry[str]) -> bool:
        """Return whether a walk passes it by; one that is called Markdown in another way is named."""
        name = entry.name
        is_file = entry.is_file(follow_symlinks=False)
        if is_file and name.lower().endswith(_MISNAMED):
            path = f"{folder.path}/{composed(name)}"
            if not self._is_left_out(path, name):
                message = (
                    f"only names that end in {self._rules.suffix!r} are taken, and this one ends in"
                    f" {name[name.rindex('.') :]!r}; rename it, or exclude it in kb/review.toml"
                )
                self._report(path, ProblemCode.BAD_NAME, message)
        return is_file

    def _is_left_out(self, path: str, name: str) -> bool:
        """Return whether a walk leaves out a name; one that its owner should know of is reported."""
        is_plain = name.isascii() and name.isprintable() and len(path) <= _SURELY_SHORT
        if not is_plain and (reason := name_problem(path)):
            self._report(printable_line(path), ProblemCode.BAD_NAME, reason)
            return True
        if self._excluded is not None and self._excluded(path):
            return True
        if is_copy := "onfli" in name and _CONFLICTED_COPY.search(name) is not None:
            message = "a conflicted copy made by a file synchroniser; merge it into its original"
            self._report(path, ProblemCode.CONFLICTED_COPY, message)
        return is_copy

    def _report(self, path: str, code: ProblemCode, message: str) -> None:
        self._problems.append(Problem(path, code, message, skipped=True))

    def _take(self, folder: _Folder, path: str, disk_path: str, status: os.stat_result) -> None:
        mode = status.st_mode
        if stat.S_ISREG(mode):
            self._entries[disk_path] = FileEntry(path, disk_path, signature_of(status))
        elif stat.S_ISDIR(mode):
            real = f"{folder.real}/{disk_path.rpartition('/')[2]}"
            self._enter(_Folder(path, disk_path, real, folder.entered))
        elif stat.S_ISLNK(mode):
            self._follow(folder, path, disk_path)
        elif path.endswith(self._rules.suffix):
            message = "a pipe, socket or device; expected a regular file"
            self._report(path, ProblemCode.NOT_A_FILE, message)

    def _follow(self, folder: _Folder, path: str, disk_path: str) -> None:
        """Take what a link leads to; what is no note and no folder would not be one unlinked."""
        try:
            real = resolve_inside(self._root, path, disk_path)
            status = Path(self._absolute(real)).stat()
            if stat.S_ISDIR(status.st_mode):
                self._enter_link(folder, _Folder(path, disk_path, real, ()))
            elif path.endswith(self._rules.suffix):
                refuse_dot_file(path, real)
                self._take(folder, path, disk_path, status)
        except (UnreadableFile, OSError) as error:
            if path.endswith(self._rules.suffix) or _may_be_folder(
                self._absolute(disk_path), error
            ):
                self._problems.append(_problem(path, error))

    def _enter_link(self, folder: _Folder, target: _Folder) -> None:
        left = (*folder.entered, folder.real)
        self._linked_visits[target.real] += 1
        if any(f"{real}/".startswith(f"{target.real}/" if target.real else "") for real in left):
            message = "links to a folder that it lies in; not followed"
        elif self._linked_visits[target.real] > _MAX_LINKED_VISITS:
            message = f"links to a folder already entered through {_MAX_LINKED_VISITS} other links"
        else:
            self._enter(target._replace(entered=left))
            return
        self._report(target.path, ProblemCode.LINK_LOOP, message)

    def _enter(self, folder: _Folder) -> None:
        pruned = any(
            f"{real}/".startswith(f"{name}/")
            for name in self._rules.pruned
            for real in (folder.path, folder.real)
        )
        is_cases = folder.path.endswith(CASES) and folder.path.startswith(
            f"{self._rules.gates_folder}/"
        )
        if not (pruned or is_cases):
            self._stack.append(folder)


def _excluder(patterns: Sequence[str]) -> Callable[[str], bool] | None:
    """Make the test of a root-relative path; `None` where nothing is excluded.

    :raises ConfigRefused: a pattern is none that `.gitignore` could hold.
    """
    if not patterns:
        return None
    from pathspec import PathSpec  # takes 40 ms

    lines = [unicodedata.normalize("NFC", pattern).removeprefix("./") for pattern in patterns]
    try:
        return PathSpec.from_lines("gitignore", lines).match_file
    except (ValueError, re.error) as error:
        raise ConfigRefused(f"kb/review.toml: notes.excludes: {error}") from error


def empty_note(path: str) -> Problem:
    return Problem(path, ProblemCode.EMPTY_NOTE, "nothing in it to review", skipped=True)


def _problem(path: str, error: UnreadableFile | OSError) -> Problem:
    return error.problem if isinstance(error, UnreadableFile) else problem_of_error(path, error)


def _may_be_folder(absolute: str, error: UnreadableFile | OSError) -> bool:
    """Return whether notes may be missing behind this link; a dead or foreign link to a file hides none."""
    if isinstance(error, UnreadableFile):
        return os.path.isdir(absolute)  # noqa: PTH112 - Path.is_dir raises where it may not look
    return not isinstance(error, FileNotFoundError)


def _case_collisions(paths: Sequence[str]) -> Iterator[Problem]:
    groups = defaultdict(list)
    for path in paths:
        groups[path.lower()].append(path)
    for group in groups.values():
        for path in group if len(group) > 1 else ():
            others = ", ".join(repr(other) for other in group if other != path)
            message = f"differs from {others} by case only; some file systems keep one of them"
            yield Problem(path, ProblemCode.CASE_COLLISION, message, skipped=False)
