"""Checks notes as they are: what is stale, what is open, and what of it is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from review.check.documents import CheckFindingJson, NotesCheckJson, Report, StalePairJson
from review.check.judge import NoteJudge, moved
from review.check.lock import LOCK_PATH, Lock, read_lock
from review.check.stored import stored_lock
from review.documents.problems import no_note_found, problem_json
from review.domain.applicability import applies
from review.domain.paths import path_below
from review.domain.problems import Problem
from review.errors import InputRejected, UsageRefused
from review.git import Changes, changes_since, file_at, prefix_of
from review.jobs.provenance import unknown_partitions
from review.knowledge_base import Corpus, Gate, NoteFacts, NoteList, NoteText, UnreadableFile
from review.knowledge_base.notes import in_order
from review.runners.rules.judge import RULES
from review.selection.path_filters import is_below
from review.selection.select import named_notes
from review.settings.config import Config
from review.vocabulary import Severity

FAIL_ON = ("fail", "warn", "stale", "problem")
_TRIPPING = {"fail": (Severity.FAIL,), "warn": (Severity.WARN, Severity.FAIL)}


@dataclass(frozen=True)
class CheckRequest:
    """The scope of a check; no gates, notes or models means all of them.

    :param text: judged in the place of the one note that is named, which need not be saved.
    :param since: only notes that differ from the merge base with this revision.
    :param baseline: a lock; without it, that of the merge base.
    :param models: partitions whose reviews count.
    """

    gates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    text: bytes | None = None
    current_only: bool = False
    since: str | None = None
    new_only: bool = False
    baseline: bytes | None = None
    models: tuple[str, ...] = ()
    rules_only: bool = False
    fail_on: tuple[str, ...] = ()


@dataclass
class _Check:
    """A check under way, with what could not be looked at."""

    corpus: Corpus
    request: CheckRequest
    config: Config
    problems: list[Problem] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def gates(self) -> tuple[Gate, ...]:
        names, catalog = self.request.gates, self.corpus.gates
        self.problems += catalog.problems_of(names) if names else catalog.problems
        gates = catalog.resolve(names) if names else catalog.gates
        return tuple(gate for gate in gates if gate.rule in RULES or not self.request.rules_only)

    def notes(self, changes: Changes | None) -> Sequence[NoteFacts]:
        names = self.request.notes
        if self.request.text is not None:
            return [self.corpus.facts_of(self.read(path_below(str(self.config.root), names[0])))]
        listed = (
            named_notes(self.corpus, names) if changes is None else self._changed(changes, names)
        )
        self.problems += listed.problems
        if not listed.notes and changes is None:
            self.notices.append(no_note_found(names or self.config.note_roots))
        only = self.request.current_only
        return [note for note in listed.notes if note.status == "current" or not only]

    def read(self, path: str) -> NoteText:
        """Read a note, or take the text that was given."""
        data = self.request.text
        if data is None:
            return self.corpus.read_note(path)
        return NoteText.of(path, data)

    def _changed(self, changes: Changes, names: Sequence[str]) -> NoteList:
        """Return the notes that changed; say what is not looked at, and what is taken on trust."""
        if gates := sum(is_below(path, [self.corpus.gates.folder]) for path in changes.paths):
            told = f"gates that changed: {gates}; other notes were not checked by them"
            self.notices.append(told)
        if LOCK_PATH in changes.paths:
            told = f"{LOCK_PATH} was changed too: what it accepts is part of the change"
            self.notices.append(told)
        paths = set(changes.paths)
        if names:
            paths &= {note.path for note in self.corpus.notes(names).notes}
        return self.corpus.notes_at(paths)

    def lock(self) -> Lock:
        try:
            return self._read((self.config.root / LOCK_PATH).read_bytes(), LOCK_PATH)
        except FileNotFoundError:
            return Lock()
        except OSError as error:
            raise InputRejected(f"cannot read {LOCK_PATH}: {error.strerror}") from error

    def baseline(self, changes: Changes | None) -> Lock | None:
        new_only, data, source = self.request.new_only, self.request.baseline, "the baseline"
        if data is None and changes is not None:
            data = file_at(self.config.root, changes.merge_base, LOCK_PATH)
            source = f"{LOCK_PATH} of the merge base"
        elif data is None and new_only:
            raise UsageRefused("--new-only needs --since REF, or --baseline FILE")
        if data is None:
            if new_only:
                self.notices.append(f"the merge base has no {LOCK_PATH}: every finding is new")
            return Lock() if new_only else None
        lock = self._read(data, source)
        renamed = {
            path: moved(lock.notes[old], path, gates_folder=self.corpus.gates.folder)
            for path, old in (changes.renamed if changes else {}).items()
            if old in lock.notes
        }
        return Lock(lock.gates, {**renamed, **lock.notes})

    def _read(self, data: bytes, source: str) -> Lock:
        lock = read_lock(data, source=source)
        self.problems += lock.problems
        return lock


def check_notes(corpus: Corpus, request: CheckRequest, *, config: Config, store: bool) -> Report:
    """Check notes; nothing is stored.

    :param store: whether a store is open, whose reviews count.
    :raises UnknownGate, AmbiguousGate, NoSuchNote: a name does not resolve.
    :raises ProgramNotStarted, GitRefused, ShallowClone: `since` cannot be answered.
    """
    check = _Check(corpus, request, config)
    changes = None if request.since is None else changes_since(config.root, request.since)
    gates, notes = check.gates(), check.notes(changes)
    locks = [*([stored_lock(corpus, notes)] if store else []), check.lock()]
    baseline = check.baseline(changes)
    if request.models:
        notes_of = [note for lock in locks for note in lock.notes.values()]
        known = {review.model for note in notes_of for review in note.reviews}
        check.notices += unknown_partitions(request.models, config=config, known=known)
    check.notices += corpus.unknown_muted()
    pairs: list[tuple[str, str]] = []
    found: list[CheckFindingJson | StalePairJson] = []
    for facts in notes:
        try:
            note = check.read(facts.path)
        except UnreadableFile as refused:
            check.problems.append(refused.problem)
            continue
        of_note = [gate for gate in gates if applies(gate.requirement, facts.kind)]
        pairs += ((facts.path, gate.gate_id) for gate in of_note)
        found += NoteJudge(corpus, note, locks, baseline, request.models).judge(of_note)
    findings = [item for item in found if isinstance(item, CheckFindingJson)]
    muted = {} if request.gates else corpus.muted
    if left_out := sum(item.gate_id in muted for item in findings):
        check.notices.append(f"findings of muted gates, left out: {left_out}")
    findings = [item for item in findings if item.gate_id not in muted]
    shown = [item for item in findings if item.new or not request.new_only]
    document = NotesCheckJson(
        merge_base=changes.merge_base if changes else None,
        notes=len(notes),
        gates=len(gates),
        pairs=len(pairs),
        findings=shown,
        stale=[item for item in found if isinstance(item, StalePairJson)],
        known=len(findings) - len(shown),
        problems=[problem_json(problem) for problem in in_order(check.problems)],
        notices=check.notices,
    )
    document.tripped = "; ".join(_trips(document, request.fail_on)) or None
    return Report(document, corpus.gates.gates, tuple(pairs), prefix_of(config.root))


def _trips(document: NotesCheckJson, levels: Sequence[str]) -> Iterator[str]:
    counted = Counter(finding.severity for finding in document.findings)
    skipped = sum(problem.skipped for problem in document.problems)
    for level in sorted(set(levels)):
        severities = _TRIPPING.get(level, ())
        if any(counted[word] for word in severities):
            yield f"{level}: " + ", ".join(f"{counted[word]} {word.value}" for word in severities)
        elif level == "stale" and (document.stale or skipped):
            yield f"stale: {len(document.stale)} pairs, {skipped} files that could not be looked at"
        elif level == "problem" and document.problems:
            yield f"problem: {len(document.problems)}"
