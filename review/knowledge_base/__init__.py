"""The one door to the knowledge base: notes and gates as files, read and never written."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from review.domain.markdown.flavours import flavour_of
from review.domain.paths import normalise_path, sha256_hex
from review.domain.problems import Problem
from review.knowledge_base.disk_paths import Locator
from review.knowledge_base.gate_catalog import AmbiguousGate, Gate, GateCatalog, UnknownGate
from review.knowledge_base.gate_loader import GateLoader
from review.knowledge_base.index import FileIndex
from review.knowledge_base.named_paths import NoSuchNote, Selector, scan, scan_some
from review.knowledge_base.notes import NoteFacts, NoteList, NoteLoader, read_note_text
from review.knowledge_base.reader import Reader, UnreadableFile
from review.knowledge_base.walker import ScanRules
from review.settings.config import REPORTS_FOLDER
from review.vocabulary import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path
    from types import TracebackType

    from review.knowledge_base.resolver import Linker
    from review.settings.config import Config

__all__ = [
    "AmbiguousGate",
    "Corpus",
    "Gate",
    "GateCatalog",
    "NoSuchNote",
    "NoteFacts",
    "NoteList",
    "NoteText",
    "UnknownGate",
    "UnreadableFile",
]


@dataclass(frozen=True)
class NoteText:
    """A note as it stands now: `text` encodes to `data`, byte for byte."""

    path: str
    disk_path: str
    data: bytes
    text: str
    sha256: str


class Corpus:
    """Reads the knowledge base for one command; make a new one for the next.

    Folder listings, the gate catalog and the file index are read once and kept. Use it as a
    context manager, or call `save`, so that what was read need not be read again.
    """

    def __init__(
        self,
        config: Config,
        *,
        use_cache: bool = True,
        known_rules: Collection[str] | None = None,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """Open the root of `config`.

        :param use_cache: whether to trust and keep the file index; without it all is read.
        :param known_rules: what a gate's `rule` may name; others are reported (`None`: unchecked).
        :param clock_ns: no business time: it tells whether a file is old enough to trust its stat.
        """
        self._root = os.path.realpath(config.root)
        self._gates_folder = normalise_path(config.gates_folder)
        self._known_rules = known_rules
        self._clock_ns = clock_ns
        self._rules = ScanRules(
            max_bytes=config.max_note_bytes,
            roots=tuple(normalise_path(root) for root in config.note_roots),
            excludes=config.excludes,
            pruned=_pruned(self._root, config.artifacts),
        )
        index_path = config.index_path if use_cache and config.uses_cache else None
        self._folder_types = config.folder_types
        self._index = FileIndex(index_path, root=self._root, clock_ns=clock_ns)
        self._locator = Locator(self._root)
        self._strip_comments = config.strips_comments
        self.flavour = flavour_of(
            config.flavour, anchors=config.anchors, site_root=config.site_root
        )
        self._selector = Selector(self._root, rules=self._rules, locator=self._locator)

    def __enter__(self) -> Corpus:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.save()

    def save(self) -> None:
        """Keep what was read for the next command; does nothing if nothing was."""
        self._index.save()

    def notes(self, names: Sequence[str] = ()) -> NoteList:
        """Give the notes in the named files and folders; of all note roots if none is named.

        :raises NoSuchNote: a name stands for nothing, or for what can be no note.
        :raises BadPath: a name is no path below the root.
        """
        now_ns = self._clock_ns()
        places, problems = (
            self._selector.named(names, known=self._known_paths)
            if names
            else self._selector.roots()
        )
        found = scan(self._root, places, problems, rules=self._rules)
        with self._reader() as reader:
            named = {place.path for place in places if not place.is_folder}
            notes = self._loader.load(found, reader=reader, now_ns=now_ns, named=named)
        self._index.forget_notes_but(
            {entry.path for entry in found.entries},
            folders=tuple(f"{place.path}/" for place in places if place.is_folder),
        )
        return notes

    def remember_some(self, number: int) -> list[str]:
        """Trust the index about a sample of notes, and save nothing; give their sorted paths."""
        return self._index.keep_some(number)

    def notes_at(self, paths: Collection[str]) -> NoteList:
        """Give the notes at these paths that a walk of their folders finds; no other file is read.

        What is not found may still be a note that a walk leaves out: `read_note` tells.
        """
        now_ns = self._clock_ns()
        found = scan_some(self._root, paths, locator=self._locator, rules=self._rules)
        with self._reader() as reader:
            return self._loader.load(found, reader=reader, now_ns=now_ns)

    def read_note(self, path: str) -> NoteText:
        """Read one note as it stands now.

        :raises UnreadableFile: it is gone or cannot be reviewed; `problem` is the reason as data.
        """
        if reason := self._selector.file_refusal(path):
            problem = Problem(path, ProblemCode.NOT_A_FILE, f"no note: {reason}", skipped=True)
            raise UnreadableFile(problem)
        disk_path = self._locator.locate(path)
        with self._reader() as reader:
            data = reader.read(path, disk_path).data
        return NoteText(path, disk_path, data, read_note_text(path, data), sha256_hex(data))

    def facts_of(self, note: NoteText) -> NoteFacts:
        return self._loader.of_text(note.path, note.disk_path, text=note.text, sha256=note.sha256)

    @cached_property
    def gates(self) -> GateCatalog:
        """All gates of the gates folder, read once."""
        rules = ScanRules(max_bytes=self._rules.max_bytes, roots=(self._gates_folder,))
        selector = Selector(self._root, rules=rules, locator=self._locator)
        places, problems = selector.roots()
        with self._reader() as reader:
            loader = GateLoader(
                self._gates_folder,
                reader=reader,
                index=self._index,
                known_rules=self._known_rules,
            )
            return loader.load(scan(self._root, places, problems, rules=rules))

    def gate(self, path: str) -> Gate:
        """Give the gate whose file is at `path`.

        :raises UnreadableFile: there is none, or it cannot be used.
        """
        try:
            return self._gates_by_path[path]
        except KeyError:
            problems = [problem for problem in self.gates.problems if problem.path == path]
        missing = Problem(path, ProblemCode.VANISHED, "no such gate", skipped=True)
        raise UnreadableFile(next((found for found in problems if found.skipped), missing))

    @cached_property
    def linker(self) -> Linker:
        from review.knowledge_base.resolver import Linker

        return Linker(
            self._root,
            rules=self._rules,
            locator=self._locator,
            flavour=self.flavour,
            strip_comments=self._strip_comments,
        )

    @cached_property
    def _gates_by_path(self) -> dict[str, Gate]:
        return {gate.path: gate for gate in self.gates.gates}

    @cached_property
    def _loader(self) -> NoteLoader:
        return NoteLoader(self._index, self._folder_types)

    def _reader(self) -> Reader:
        return Reader(self._root, max_bytes=self._rules.max_bytes)

    def count_other_notes(self, paths: Iterable[str]) -> int:
        """Count the notes of the note roots that are none of `paths`; none of them is read."""
        return len(set(self._known_paths()).difference(paths))

    def _known_paths(self) -> list[str]:
        places, problems = self._selector.roots()
        found = scan(self._root, places, problems, rules=self._rules)
        return [entry.path for entry in found.entries]


def _pruned(root: str, artifacts: Path) -> frozenset[str]:
    """Name the folders that hold what we write: never notes, whoever puts them below a note root."""
    real = os.path.realpath(artifacts)
    below = real.removeprefix(f"{root}/")
    return frozenset({REPORTS_FOLDER, below} if below != real else {REPORTS_FOLDER})
