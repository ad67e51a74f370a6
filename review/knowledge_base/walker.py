"""Finds the Markdown files in folders and by name, with the stat of each; reads no content."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from review.domain.paths import MAX_PATH_BYTES, composed, did_you_mean, name_problem, path_below
from review.domain.printing import printable_line
from review.domain.problems import Problem
from review.errors import InputRejected
from review.knowledge_base import reader
from review.settings.file import ConfigRefused
from review.vocabulary import ProblemCode

KB_FOLDER = "kb"
MARKDOWN = ".md"
# Ends the name of the folder that holds a gate's cases.
CASES = ".cases"
# What else people call a Markdown file: in any case, `.MD` among them.
_MISNAMED = (MARKDOWN, ".markdown")
# Copies that synchronisers make of a file that was changed in two places, in several languages.
_CONFLICTED_COPY = re.compile(
    r"\((?:.*conflicted copy.*|(?:case|sf)\s?conflict\b.*"
    r"|.*(?:[ck]onfli[ck]?t|konflikcie|конфл[иі]кт|冲突|衝突|競合|コンフリクト|충돌).*\d{4}-\d\d-\d\d.*)\)(?:\.|$)"
    r"|\.sync-conflict-\d{8}-\d{6}|_conflict-\d{8}-\d{6}|-\d{6}-\d{4}_(?:user|case)?conflict\."
    r"|\[conflict(?:ed)?\]\.|(?-i:-(?:DESK|LAP)TOP-(?=[A-Z]*\d)[A-Z0-9]{7,8}(?:-\d+)?\.)",
    re.IGNORECASE,
)
# Characters, of four bytes at most: no path of so many is too long.
_SURELY_SHORT = MAX_PATH_BYTES // 4


class NoSuchNote(InputRejected):
    """A named file or folder is not there, or can hold no note."""


class FileEntry(NamedTuple):
    """One file: its identity, its spelling on disk, its stat. Sorts by path."""

    path: str
    disk_path: str
    signature: reader.StatSignature


@dataclass(frozen=True)
class ScanRules:
    """The files that a walk includes and excludes.

    :param roots: root-relative folders that a walk starts in unless others are named; `""` is the
        root with all but its folder `kb`, unless a folder in that is named too.
    :param excludes: root-relative patterns, as in `.gitignore`.
    :param pruned: root-relative folders that hold no notes whatever links to them.
    :param gates_folder: cases below it are neither notes nor gates; "" takes them as files.
    :param suffix: what names of files end with; `""` takes all.
    """

    suffix: str = MARKDOWN
    roots: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    pruned: frozenset[str] = frozenset()
    gates_folder: str = ""

    def refusal(self, path: str) -> str:
        """Return why a path can never be a note, whatever it holds; `""` when it can."""
        below = f"{path}/"
        for root in self.roots:
            below = below.removeprefix(f"{root}/")
        hidden = any(part.startswith(".") for part in below.split("/"))
        if hidden or self.prunes(path):
            return "hidden files, the reports folder and what belongs to kb/ are never reviewed"
        return ""

    def prunes(self, path: str) -> bool:
        if any(_is_below(path, name) for name in self.pruned):
            return True
        is_ours = "" in self.roots and _is_below(path, KB_FOLDER)
        return is_ours and not any(root and _is_below(path, root) for root in self.roots)


@dataclass(frozen=True)
class ScanResult:
    """Entries sorted by path, one per identity; problems in the order they were met."""

    entries: list[FileEntry]
    problems: list[Problem]


class _Folder(NamedTuple):
    path: str
    disk_path: str
    real: str


class Scanner:
    """Collects files from folders and by name; `result` sorts them and looks for twins.

    Folders behind links are walked after all others, and no folder twice: a file that links lead
    to is found where it lies, and at the first of the links if no walk comes there.
    """

    def __init__(self, root: str, rules: ScanRules, disk_paths: reader.DiskPaths) -> None:
        self._root = os.path.realpath(root)
        self._rules = rules
        self._disk_paths = disk_paths
        self._excluded = _excluder(rules.excludes)
        self._entries: dict[str, FileEntry] = {}
        self._problems: list[Problem] = []
        self._entered: set[str] = set()
        self._stack: list[_Folder] = []
        self._linked: list[_Folder] = []
        self.files: set[str] = set()
        self.folders: set[str] = set()

    def walk_roots(self) -> ScanResult:
        self.add_roots()
        return self.result()

    def add_roots(self) -> None:
        """Walk the roots of the rules. One of them may be missing; that all are is a problem."""
        for path in self._rules.roots:
            for disk_path in self._spellings(path) or ():
                self._add_folder(path, disk_path)
        if not self.folders and not self._problems:
            message = (
                "no such folder: commonplace review_init makes it, or kb/review.toml names another"
            )
            for path in self._rules.roots:
                self._report(path, ProblemCode.VANISHED, message)

    def add_named(self, names: Iterable[str]) -> None:
        """Take files by name, excluded ones too, and walk folders.

        :raises NoSuchNote: nothing of that name exists, or it can be no note.
        """
        for name in names:
            path = path_below(self._root, name)
            reason = self._rules.refusal(path)
            spellings = self._spellings(path) if not reason else None
            if spellings == ():
                known = Scanner(self._root, self._rules, self._disk_paths).walk_roots()
                near = did_you_mean(path, (entry.path for entry in known.entries))
                raise NoSuchNote(f"{path!r} does not exist below the root", hint=near)
            for disk_path in spellings or ():
                # os.path, because Path.is_dir raises where it may not look.
                if os.path.isdir(f"{self._root}/{disk_path}"):  # noqa: PTH112
                    self._add_folder(path, disk_path)
                elif path.endswith(MARKDOWN):
                    self._add_file(path, disk_path)
                else:
                    reason = f"expected a {MARKDOWN} file, or a folder"
            if reason:
                raise NoSuchNote(f"{path!r} is no note: {reason}")

    def add_notes(self, paths: Iterable[str]) -> None:
        """Take those files that a walk of their folders would take; no other file is looked at."""
        names: dict[str, set[str]] = defaultdict(set)
        for path in paths:
            folder, _, name = path.rpartition("/")
            names[folder].add(name)
        for path, wanted in sorted(names.items()):
            for disk_path in () if self._rules.prunes(path) else self._spellings(path) or ():
                if folder_there := self._resolved(path, disk_path):
                    self._list(folder_there, wanted)
        self._stack.clear()  # a folder may have such a name too
        self._linked.clear()

    def _add_folder(self, path: str, disk_path: str) -> None:
        if folder := self._resolved(path, disk_path):
            self.folders.add(folder.path)
            self._enter(folder, self._stack)

    def _add_file(self, path: str, disk_path: str) -> None:
        place, _, name = disk_path.rpartition("/")
        if folder := self._resolved(path.rpartition("/")[0], place, of=path):
            path = f"{folder.path}/{composed(name)}".lstrip("/")
            self.files.add(path)
            self._take(folder, path, f"{folder.disk_path}/{name}".lstrip("/"))

    def _resolved(self, path: str, disk_path: str, *, of: str = "") -> _Folder | None:
        """Follow the links of a folder; a fault of it is a problem of `of`, or of `path`."""
        try:
            real = reader.resolve_inside(self._root, of or path, disk_path)
        except reader.UnreadableFile as refused:
            self._problems.append(refused.problem)
            return None
        return self._folder(path, disk_path, real)

    def _folder(self, path: str, disk_path: str, real: str) -> _Folder:
        is_below_root = any(_is_below(real, root) for root in self._rules.roots)
        if is_below_root and not self._rules.refusal(real) and not self._excludes_all(real):
            path, disk_path = composed(real), real
        return _Folder(path, disk_path, real)

    def _spellings(self, path: str) -> tuple[str, ...] | None:
        try:
            return self._disk_paths.spellings(path)
        except reader.UnreadableFile as refused:
            self._problems.append(refused.problem)
            return None

    def result(self) -> ScanResult:
        """Return what was collected; names that collide are left out, names alike are reported."""
        self._walk()
        entries = sorted(self._entries.values(), key=itemgetter(0))
        if len({entry.path for entry in entries}) < len(entries):
            twins = Counter(entry.path for entry in entries)
            clashes = [(path, count) for path, count in twins.items() if count > 1]
            self._problems.extend(reader.name_collision(path, count) for path, count in clashes)
            entries = [entry for entry in entries if twins[entry.path] == 1]
        self._problems.extend(_case_collisions([entry.path for entry in entries]))
        return ScanResult(entries, self._problems)

    def _absolute(self, disk_path: str) -> str:
        return f"{self._root}/{disk_path}"

    def _walk(self) -> None:
        while self._stack or self._linked:
            if not self._stack:
                self._linked.sort(reverse=True)
                self._stack.append(self._linked.pop())
            folder = self._stack.pop()
            if folder.real not in self._entered:
                self._entered.add(folder.real)
                self._list(folder)

    def _list(self, folder: _Folder, names: Collection[str] | None = None) -> None:
        try:
            with os.scandir(self._absolute(folder.disk_path)) as listing:
                for entry in listing:
                    if names is None or composed(entry.name) in names:
                        self._consider(folder, entry)
        except OSError as error:
            self._problems.append(reader.problem_of_error(folder.path, error))

    def _consider(self, folder: _Folder, entry: os.DirEntry[str]) -> None:
        # Strings and directory entries, no pathlib: this runs for every note of the base.
        name = entry.name
        is_other = not name.endswith(self._rules.suffix) and entry.is_file(follow_symlinks=False)
        if name.startswith(".") or (is_other and not name.lower().endswith(_MISNAMED)):
            return
        path = disk_path = f"{folder.disk_path}/{name}" if folder.disk_path else name
        if not name.isascii() or folder.path != folder.disk_path:
            path = f"{folder.path}/{composed(name)}".lstrip("/")
        is_plain = name.isascii() and name.isprintable() and len(path) <= _SURELY_SHORT
        if not is_plain and (reason := name_problem(path)):
            self._report(printable_line(path), ProblemCode.BAD_NAME, reason)
        elif self._excluded is not None and self._excluded(path):
            return
        elif _CONFLICTED_COPY.search(name):
            message = "a conflicted copy made by a file synchroniser; merge it into its original"
            self._report(path, ProblemCode.CONFLICTED_COPY, message)
        elif is_other:
            message = (
                f"only names that end in {self._rules.suffix!r} are taken, and this one ends in"
                f" {name[name.rindex('.') :]!r}; rename it, or exclude it in kb/review.toml"
            )
            self._report(path, ProblemCode.BAD_NAME, message)
        else:
            self._take(folder, path, disk_path)

    def _report(self, path: str, code: ProblemCode, message: str) -> None:
        self._problems.append(Problem(path, code, message, skipped=True))

    def _take(self, folder: _Folder, path: str, disk_path: str) -> None:
        try:
            status = os.lstat(self._absolute(disk_path))
            if stat.S_ISLNK(status.st_mode):
                self._follow(folder, path, disk_path)
            elif stat.S_ISDIR(status.st_mode):
                real = f"{folder.real}/{disk_path.rpartition('/')[2]}".lstrip("/")
                self._enter(_Folder(path, disk_path, real), self._stack)
            else:
                self._take_file(path, disk_path, status)
        except OSError as error:
            self._problems.append(reader.problem_of_error(path, error))

    def _take_file(self, path: str, disk_path: str, status: os.stat_result) -> None:
        if stat.S_ISREG(status.st_mode):
            self._entries[disk_path] = FileEntry(path, disk_path, reader.StatSignature.of(status))
        elif path.endswith(self._rules.suffix):
            message = "a pipe, socket or device; expected a regular file"
            self._report(path, ProblemCode.NOT_A_FILE, message)

    def _follow(self, folder: _Folder, path: str, disk_path: str) -> None:
        """Take what a link leads to; what is no note and no folder would not be one unlinked."""
        try:
            real = reader.resolve_inside(self._root, path, disk_path)
            status = os.stat(self._absolute(real))  # noqa: PTH116 - strings, as everywhere here
            if not stat.S_ISDIR(status.st_mode):
                if path.endswith(self._rules.suffix):
                    reader.refuse_dot_file(path, real)
                    self._take_file(path, disk_path, status)
            elif self._holds(real, folder):
                message = "links to a folder that it lies in; not followed"
                self._report(path, ProblemCode.LINK_LOOP, message)
            elif not self._excludes_all(path):
                self._enter(self._folder(path, disk_path, real), self._linked)
        except reader.UnreadableFile as refused:
            # A dead or foreign link to another kind of file hides no note.
            is_folder = os.path.isdir(self._absolute(disk_path))  # noqa: PTH112
            if is_folder or path.endswith(self._rules.suffix):
                self._problems.append(refused.problem)

    def _holds(self, real: str, folder: _Folder) -> bool:
        inside = (folder.real, *(root.rpartition("/")[0] for root in self._rules.roots))
        return any(_is_below(path, real) for path in inside)

    def _excludes_all(self, folder: str) -> bool:
        return self._excluded is not None and self._excluded(f"{folder}/x{MARKDOWN}")

    def _enter(self, folder: _Folder, to_walk: list[_Folder]) -> None:
        is_of_gates = folder.path.startswith(f"{self._rules.gates_folder}/")
        if is_of_gates and folder.path.endswith(CASES):
            return
        if not any(self._rules.prunes(place) for place in (folder.path, folder.real)):
            to_walk.append(folder)


def _is_below(path: str, folder: str) -> bool:
    """Return True for a folder and what is below it; all paths are below the root, `""`."""
    return not folder or f"{path}/".startswith(f"{folder}/")


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Make the test of a root-relative path by patterns as in `.gitignore`."""
    from pathspec import PathSpec  # takes 40 ms

    return PathSpec.from_lines("gitignore", patterns).match_file


def _excluder(patterns: Sequence[str]) -> Callable[[str], bool] | None:
    """Make the test of a root-relative path; `None` where nothing is excluded."""
    if not patterns:
        return None
    try:
        return matcher(composed(pattern).removeprefix("./") for pattern in patterns)
    except (ValueError, re.error) as error:
        raise ConfigRefused(f"kb/review.toml: notes.excludes: {error}") from error


def _case_collisions(paths: Sequence[str]) -> Iterator[Problem]:
    groups = defaultdict(list)
    for path in paths:
        groups[path.lower()].append(path)
    for group in groups.values():
        for path in group if len(group) > 1 else ():
            others = ", ".join(repr(other) for other in group if other != path)
            message = f"differs from {others} by case only; some file systems keep one of them"
            yield Problem(path, ProblemCode.CASE_COLLISION, message, skipped=False)
