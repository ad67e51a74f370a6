"""The one door to the knowledge base: notes and gates as files, read and never written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from review.documents.problems import no_gate_found, no_note_found
from review.domain.markdown.flavours import flavour_of
from review.domain.paths import normalise_path, sha256_hex
from review.domain.problems import Problem
from review.knowledge_base.gate_cases import (
    GateCase,
    GateCases,
    cases_folder,
    read_cases,
)
from review.knowledge_base.gate_catalog import AmbiguousGate, Gate, GateCatalog, UnknownGate
from review.knowledge_base.gate_loader import load_gates
from review.knowledge_base.index import FileIndex
from review.knowledge_base.named_paths import NoSuchNote, PathScanner, refuse_file
from review.knowledge_base.notes import (
    NoteFacts,
    NoteList,
    NoteLoader,
    as_named,
    facts_of_text,
    in_order,
    read_note_text,
    typed,
)
from review.knowledge_base.places import NotePlacing
from review.knowledge_base.reader import DiskPaths, FileContent, UnreadableFile, read_file
from review.knowledge_base.walker import ScanRules
from review.settings.config import REPORTS_FOLDER, Config
from review.vocabulary import ProblemCode

if TYPE_CHECKING:
    from review.knowledge_base.resolver import Linker

__all__ = [
    "AmbiguousGate",
    "Corpus",
    "Gate",
    "GateCase",
    "GateCases",
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
    """A note as it is now: `text` encodes to `data`, byte for byte."""

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
        :param clock_ns: not business time: only to check if a file's stat is old enough to trust.
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
            gates_folder=self._gates_folder,
        )
        index_path = config.index_path if use_cache and config.uses_cache else None
        self._folder_types = config.folder_types
        self._index = FileIndex(index_path, root=self._root, clock_ns=clock_ns)
        self._disk_paths = DiskPaths(self._root)
        self._folders: dict[str, str] = {}
        self._strip_comments = config.strips_comments
        self.muted = config.muted
        self.flavour = flavour_of(
            config.flavour, anchors=config.anchors, site_root=config.site_root
        )

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.save()

    def unknown_muted(self) -> list[str]:
        """Return a notice for each muted gate that does not exist."""
        known = {gate.gate_id for gate in self.gates.gates}
        return [
            f"[muted] in kb/review.toml names {name!r}, and no gate is called so"
            for name in sorted(self.muted.keys() - known)
        ]

    def save(self) -> None:
        """Keep what was read for the next command; does nothing if nothing was."""
        self._index.save()

    def notes(self, names: Sequence[str] = ()) -> NoteList:
        """Return the notes in the named files and folders; of all note roots if none is named.

        :raises NoSuchNote: a name denotes nothing, or something that can be no note.
        :raises BadPath: a name is no path below the root.
        """
        now_ns = self._clock_ns()
        scanner = self._scanner()
        if names:
            scanner.add_named(names)
        else:
            scanner.add_roots()
        found = scanner.result()
        notes = self._loader.load(found, now_ns=now_ns, named=scanner.files)
        self._index.forget_notes_but(
            {entry.path for entry in found.entries},
            folders=tuple(f"{path}/" for path in scanner.folders),
        )
        return self._placed(notes)

    def notes_at(self, paths: Collection[str]) -> NoteList:
        """Return the notes at these paths that a walk of their folders finds; no other file is read.

        A path that is not found may still be a note that a walk leaves out: see `read_note`.
        """
        now_ns = self._clock_ns()
        scanner = self._scanner()
        scanner.add_notes(paths)
        return self._placed(self._loader.load(scanner.result(), now_ns=now_ns))

    def read_note(self, path: str) -> NoteText:
        """Read one note as it is now.

        :raises UnreadableFile: it is gone or cannot be reviewed; `problem` is the reason as data.
        """
        refuse_file(path, self._rules)
        disk_path = self._disk_paths.locate(path)
        data = self._read(path, disk_path).data
        return NoteText(path, disk_path, data, read_note_text(path, data), sha256_hex(data))

    def facts_of(self, note: NoteText) -> NoteFacts:
        facts = facts_of_text(note.path, note.text, note.sha256, disk_path=note.disk_path)
        named = replace(facts, problems=as_named(facts.problems))
        return next(self._places.place([typed(named, self._folder_types)]))

    @cached_property
    def gates(self) -> GateCatalog:
        """All gates of the gates folder, read once."""
        rules = ScanRules(
            max_bytes=self._rules.max_bytes,
            roots=(self._gates_folder,),
            gates_folder=self._gates_folder,
        )
        scanner = PathScanner(self._root, rules, self._disk_paths)
        scanner.add_roots()
        return load_gates(
            scanner.result(),
            folder=self._gates_folder,
            read=self._read,
            index=self._index,
            known_rules=self._known_rules,
        )

    def cases(self, gate: Gate) -> GateCases:
        """Read the cases of a gate, from the folder next to it."""
        folder = cases_folder(gate.path)
        rules = ScanRules(max_bytes=self._rules.max_bytes, roots=(folder,))
        scanner = PathScanner(self._root, rules, self._disk_paths)
        scanner.add_roots()
        return read_cases(scanner.result(), folder=folder, read=self._read)

    def gate(self, path: str) -> Gate:
        """Return the gate whose file is at `path`.

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
            disk_paths=self._disk_paths,
            flavour=self.flavour,
            strip_comments=self._strip_comments,
        )

    @cached_property
    def _places(self) -> NotePlacing:
        return NotePlacing(self.gates.gates)

    def _placed(self, found: NoteList) -> NoteList:
        notes = tuple(self._places.place(found.notes))
        problems = [problem for note in notes if note.kind.skips for problem in note.problems]
        return NoteList(
            notes, in_order([*found.problems, *problems]) if problems else found.problems
        )

    @cached_property
    def _gates_by_path(self) -> dict[str, Gate]:
        return {gate.path: gate for gate in self.gates.gates}

    @cached_property
    def _loader(self) -> NoteLoader:
        return NoteLoader(self._index, read=self._read, folder_types=self._folder_types)

    def _read(self, path: str, disk_path: str) -> FileContent:
        limit = self._rules.max_bytes
        return read_file(self._root, path, disk_path, max_bytes=limit, folders=self._folders)

    def count_other_notes(self, paths: Iterable[str]) -> int:
        """Count the notes of the note roots that are none of `paths`; none of them is read."""
        scanner = self._scanner()
        scanner.add_roots()
        return len({entry.path for entry in scanner.result().entries}.difference(paths))

    def lacking(self) -> list[str]:
        """Say that there are no notes or no gates, which an empty answer does not tell."""
        notes = [] if self.count_other_notes(()) else [no_note_found(self._rules.roots)]
        return notes if self.gates.gates else [*notes, no_gate_found(self._gates_folder)]

    def _scanner(self) -> PathScanner:
        return PathScanner(self._root, self._rules, self._disk_paths)


def _pruned(root: str, artifacts: Path) -> frozenset[str]:
    """Return the folders of our own output, which never hold notes, even below a note root."""
    real = os.path.realpath(artifacts)
    below = real.removeprefix(f"{root}/")
    return frozenset({REPORTS_FOLDER, below} if below != real else {REPORTS_FOLDER})
