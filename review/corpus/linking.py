"""The link table of a note: each target as written, and the file of the repository it means."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from review.corpus.reading import UnreadableFile, read_file, resolve_inside
from review.corpus.scanning import MARKDOWN, Scanner
from review.domain.links import extract_links, resolve_link, stems_of
from review.protocol.prompt import LinkRow

if TYPE_CHECKING:
    from review.corpus.locating import Locator
    from review.corpus.scanning import ScanRules

KB_FOLDER = "kb"
_MAX_FILES = 50
_MAX_BYTES = 2_000_000


class RepositoryFiles(Collection[str]):
    """The files and folders below the root that a link may lead to.

    Membership looks at the disk, so nothing is walked that no note links to. What is hidden or
    lies in the reports folder is no target: a worker may read what its link table resolves.
    Iteration gives the files of the knowledge base.
    """

    def __init__(self, root: str, *, rules: ScanRules, locator: Locator) -> None:
        self._root = os.path.realpath(root)
        self._rules = replace(rules, suffix="", excludes=())
        self._locator = locator
        self._answers: dict[str, bool] = {}

    def __contains__(self, path: object) -> bool:
        """Whether a root-relative path is there and leads to nothing outside."""
        if not isinstance(path, str):
            return False
        answer = self._answers.get(path)
        if answer is None:
            answer = self._answers[path] = self._exists(path)
        return answer

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    @cached_property
    def _paths(self) -> list[str]:
        scanner = Scanner(self._root, self._rules)
        for folder in (KB_FOLDER, *self._rules.roots):
            try:
                spellings = self._locator.spellings(folder)
            except UnreadableFile:
                continue
            for spelling in spellings:
                scanner.add_folder(folder, spelling)
        return scanner.paths()

    def _exists(self, path: str) -> bool:
        if any(part.startswith(".") for part in path.split("/")) or "\0" in path:
            return False
        if any(f"{path}/".startswith(f"{name}/") for name in self._rules.pruned):
            return False
        try:
            return any(
                "/." not in f"/{resolve_inside(self._root, path, spelling)}"
                for spelling in self._locator.spellings(path)
            )
        except (UnreadableFile, OSError):
            return False


class _LazyStems(Mapping[str, tuple[str, ...]]):
    """Paths by stem, read when the first wikilink asks: most notes have none."""

    def __init__(self, files: RepositoryFiles) -> None:
        self._files = files

    @cached_property
    def _stems(self) -> dict[str, tuple[str, ...]]:
        return stems_of(self._files)

    def __getitem__(self, stem: str) -> tuple[str, ...]:
        return self._stems[stem]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stems)

    def __len__(self) -> int:
        return len(self._stems)


class Linker:
    """Resolves the links of notes against the files there are now; `known` and `stems` are lazy."""

    def __init__(self, root: str, *, rules: ScanRules, locator: Locator) -> None:
        files = RepositoryFiles(root, rules=rules, locator=locator)
        self.known: Collection[str] = files
        self.stems: Mapping[str, tuple[str, ...]] = _LazyStems(files)

    def table(self, note_path: str, text: str) -> tuple[LinkRow, ...]:
        """Give one row per target as written, in order; outside addresses and anchors have none."""
        rows: dict[str, str | None] = {}
        for link in extract_links(text):
            if link.target.startswith("#") or rows.get(link.target):
                continue
            found = resolve_link(
                link.target,
                note_path=note_path,
                known=self.known,
                stems=self.stems,
                kind=link.kind,
            )
            if not found.external:
                rows[link.target] = found.path
        return tuple(LinkRow(target, path) for target, path in rows.items())


def read_linked_files(
    notes: Iterable[tuple[str, str]], *, linker: Linker, root: str
) -> dict[str, bytes]:
    """Path to bytes of the Markdown files that the notes link to, as far as they fit the bounds.

    :param notes: path and text of each note; a note that links to another of them gets it too.
    """
    found: dict[str, bytes] = {}
    left = _MAX_BYTES
    for path in _targets(notes, linker):
        if len(found) == _MAX_FILES:
            break
        try:
            data = read_file(root, path, max_bytes=left).data
        except UnreadableFile:
            continue  # gone, no file, or too large for what is left
        found[path] = data
        left -= len(data)
    return found


def _targets(notes: Iterable[tuple[str, str]], linker: Linker) -> Iterable[str]:
    rows = (row for path, text in notes for row in linker.table(path, text))
    return dict.fromkeys(
        row.resolved for row in rows if row.resolved is not None and row.resolved.endswith(MARKDOWN)
    )
