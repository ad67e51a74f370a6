"""The one door to the knowledge base: notes and gates as files, read and never written."""

from __future__ import annotations

import os
import posixpath
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from review.documents.base import no_gate_found, no_note_found
from review.domain.applicability import NoteKind, resolve_type, same_type
from review.domain.link_state import READING_RULES, LinkStates
from review.domain.markdown.flavours import flavour_of
from review.domain.paths import normalise_path
from review.domain.problems import Problem, in_order
from review.knowledge_base.gate_catalog import (
    AmbiguousGate,
    GateCase,
    GateCases,
    GateCatalog,
    UnknownGate,
    cases_folder,
    load_gates,
    read_cases,
    with_contracts,
)
from review.knowledge_base.gate_definition import RULE_NAMES, Gate, read_gate
from review.knowledge_base.index import FileIndex
from review.knowledge_base.notes import (
    DraftPair,
    NoteFacts,
    NoteList,
    NoteNotWritten,
    NotePlacing,
    NoteText,
    as_named,
    facts_in,
    facts_of_text,
    link_facts_of,
    load_notes,
    replace_note,
)
from review.knowledge_base.reader import DiskPaths, FileContent, UnreadableFile, read_file
from review.knowledge_base.walker import MARKDOWN, NoSuchNote, Scanner, ScanResult, ScanRules
from review.settings import REPORTS_FOLDER, Config
from review.vocabulary import ProblemCode

if TYPE_CHECKING:
    from review.knowledge_base.resolver import Linker


class Corpus:
    """Reads the knowledge base for one command; make a new one for the next.

    As a context manager, or by `save`, it keeps what was read for the next command.
    """

    def __init__(
        self, config: Config, *, use_cache: bool = True, clock_ns: Callable[[], int] = time.time_ns
    ) -> None:
        """`use_cache`: False reads every file; `clock_ns`: only to see if a stat is old enough."""
        self.config = config
        self._root = os.path.realpath(config.root)
        self._gates_folder = normalise_path(config.gates_folder)
        self._clock_ns = clock_ns
        # Our own output never holds notes, even below a note root.
        artifacts = os.path.relpath(os.path.realpath(config.artifacts), self._root)
        self._rules = ScanRules(
            roots=tuple("" if root == "." else normalise_path(root) for root in config.note_roots),
            excludes=config.excludes,
            pruned=frozenset({REPORTS_FOLDER, artifacts}),
            gates_folder=self._gates_folder,
        )
        index_path = config.index_path if use_cache and config.uses_cache else None
        self._index = FileIndex(index_path, root=self._root, clock_ns=clock_ns)
        self.links_of = cache(partial(link_facts_of, index=self._index, read=self._read))
        self._disk_paths = DiskPaths(self._root)
        self.muted = config.muted
        self.flavour = flavour_of(
            config.flavour,
            anchors=config.anchors,
            site_root="" if config.site_root == "." else config.site_root,
        )

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.save()

    def save(self) -> None:
        self._index.save()

    def notes(self, names: Sequence[str] = ()) -> NoteList:
        """Return the notes in the named files and folders; of all note roots if none is named."""
        now_ns = self._clock_ns()
        scanner = self._scanner(self._rules)
        if names:
            scanner.add_named(names)
        else:
            scanner.add_roots()
        found = scanner.result()
        notes = self._load(found, now_ns, named=scanner.files)
        folders = tuple(f"{path}/" if path else "" for path in scanner.folders)
        gone = self._index.notes.keys() - {entry.path for entry in found.entries}
        self._index.forget(self._index.notes, [path for path in gone if path.startswith(folders)])
        return notes

    def notes_at(self, paths: Collection[str]) -> NoteList:
        """Return those of these notes that a walk of their folders finds; no other file is read."""
        now_ns = self._clock_ns()
        scanner = self._scanner(self._rules)
        scanner.add_notes(paths)
        return self._load(scanner.result(), now_ns)

    def read_note(self, path: str) -> NoteText:
        """Read one note as it is now, or raise UnreadableFile with the problem."""
        reason = self._rules.refusal(path)
        if reason or not path.endswith(MARKDOWN):
            message = f"no note: {reason or f'expected a {MARKDOWN} file'}"
            raise UnreadableFile.of(path, ProblemCode.NOT_A_FILE, message)
        disk_path = self._disk_paths.locate(path)
        return NoteText.of(path, self._read(path, disk_path).data, disk_path=disk_path)

    def digests_of(self, paths: Iterable[str], listed: NoteList | None = None) -> dict[str, str]:
        """Return digests of the notes listed and at `paths`; "" if unreadable, none if gone."""
        digests = {note.path: note.sha256 for note in listed.notes} if listed else {}
        for path in paths:
            if path in digests:
                continue
            try:
                digests[path] = self.read_note(path).sha256
            except UnreadableFile as refused:
                if refused.problem.code is not ProblemCode.VANISHED:
                    digests[path] = ""
        return digests

    def facts_of(self, note: NoteText) -> NoteFacts:
        places, index = self._places, self._index
        with_language = index.content.has_languages
        facts = facts_in(index, note) or facts_of_text(note, with_language=with_language)
        return places.place(replace(facts, problems=as_named(facts.problems)))

    @cached_property
    def gates(self) -> GateCatalog:
        folder = self._gates_folder
        found = self._scan_folder(folder, gates_folder=folder)
        catalog = load_gates(found, folder=folder, read=self._read, index=self._index)
        contracts = self.config.contracts
        return with_contracts(catalog, contracts, root=Path(self._root), read=self._read)

    def cases(self, gate: Gate) -> GateCases:
        folder = cases_folder(gate.path)
        return read_cases(self._scan_folder(folder), folder=folder, read=self._read)

    def gate(self, path: str) -> Gate:
        """Return the gate whose file is at `path`, or raise UnreadableFile with the problem."""
        if path in self._gates_by_path:
            return self._gates_by_path[path]
        for problem in self.gates.problems:
            if problem.path == path and problem.skipped:
                raise UnreadableFile(problem)
        raise UnreadableFile.of(path, ProblemCode.VANISHED, "no such gate")

    @cached_property
    def linker(self) -> Linker:
        from review.knowledge_base.resolver import Linker

        return Linker(
            self._root,
            rules=self._rules,
            disk_paths=self._disk_paths,
            flavour=self.flavour,
            strip_comments=self.config.strips_comments,
        )

    @cached_property
    def _link_states(self) -> LinkStates:
        """The state of all that the notes link to; every note is looked at."""
        find = cache(self._find_file)
        return LinkStates(self.notes().notes, facts_of=self.links_of, find_file=find)

    def _find_file(self, path: str) -> str:
        """Return what a link to a file of another kind finds: it, else those of its name."""
        if os.path.lexists(f"{self._root}/{path}"):
            return "True"
        name = posixpath.basename(path).casefold()
        return " ".join(self.linker.base.stems.get(name, ())) or "False"

    def link_state(self, note: NoteFacts, gate: Gate) -> str:
        """Return the state of what the note links to, as the gate's rule reads it; `""` if not."""
        return self._link_states.of(note, rule=gate.rule) if gate.rule in READING_RULES else ""

    def count_other_notes(self, paths: Iterable[str]) -> int:
        """Count the notes of the note roots that are none of `paths`; none of them is read."""
        found = self._scanner(self._rules).walk_roots()
        return len({entry.path for entry in found.entries}.difference(paths))

    def lacking(self) -> list[str]:
        """Say that there are no notes or no gates, which an empty answer does not tell."""
        notes = [] if self.count_other_notes(()) else [no_note_found(self.config.note_roots)]
        return notes if self.gates.gates else [*notes, no_gate_found(self._gates_folder)]

    def idle_settings(self) -> list[str]:
        """Name the gates and types in kb/review.toml that do not exist."""
        known = {gate.gate_id for gate in self.gates.gates}
        muted = [
            f"[muted] in kb/review.toml names {name!r}, and no gate is called so"
            for name in sorted(self.muted.keys() - known)
        ]
        asked = {name for gate in self.gates.gates for name in gate.requirement.types}
        types = [
            f"[types] in kb/review.toml gives {folder!r} the type {name!r}, and there is no such type"
            for folder, name in sorted(self.config.folder_types.items())
            for path in [resolve_type(name, note_path="")]
            if not Path(self._root, path).is_file()
            and not any(same_type(other, path) for other in asked)
        ]
        places = [
            f"[types] in kb/review.toml names {folder!r}, and there is no such folder"
            for folder in sorted(self.config.folder_types)
            if not {*"*?["} & {*folder} and not Path(self._root, folder).is_dir()
        ]
        return [*muted, *types, *places]

    @cached_property
    def _places(self) -> NotePlacing:
        gates = self.gates.gates
        if any(gate.requirement.language for gate in gates):
            self._index.require_languages()
        return NotePlacing(gates, self.config.folder_types)

    @cached_property
    def _gates_by_path(self) -> dict[str, Gate]:
        return {gate.path: gate for gate in self.gates.gates}

    def _load(self, found: ScanResult, now_ns: int, named: Collection[str] = ()) -> NoteList:
        places = self._places  # first: the notes are read as its gates want them
        read = load_notes(found, index=self._index, read=self._read, now_ns=now_ns, named=named)
        notes = tuple(map(places.place, read.notes))
        own = [problem for note in notes for problem in note.problems]
        return NoteList(notes, in_order([*read.problems, *own]))

    def _read(self, path: str, disk_path: str) -> FileContent:
        return read_file(self._root, path, disk_path, max_bytes=self.config.max_note_bytes)

    def _scanner(self, rules: ScanRules) -> Scanner:
        return Scanner(self._root, rules, self._disk_paths)

    def _scan_folder(self, folder: str, *, gates_folder: str = "") -> ScanResult:
        return self._scanner(ScanRules(roots=(folder,), gates_folder=gates_folder)).walk_roots()
