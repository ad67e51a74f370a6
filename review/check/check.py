"""Checks notes as they are: rule gates in this process, others by the reviews that count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

import msgspec

from review.check.formats import CheckFindingJson, NotesCheckJson, Report
from review.check.lock import LOCK_PATH, Lock, LockedFinding, LockedNote, read_lock, stored_lock
from review.documents.base import from_row, no_note_found
from review.domain.finding_identity import KnownFinding, own_fingerprints
from review.domain.link_state import READING_RULES, link_facts, name_of
from review.domain.paths import path_below
from review.domain.staleness import Digests, staleness_reasons
from review.errors import InputRejected, UsageRefused
from review.git import changes_since, file_at, prefix_of
from review.ingest.parse import identify_findings, typed_findings
from review.jobs.provenance import unknown_partitions
from review.knowledge_base import (
    MARKDOWN,
    Corpus,
    Gate,
    NoteFacts,
    NoteText,
    Problem,
    UnreadableFile,
    in_order,
)
from review.models import Finding
from review.protocol.quote_location import quote_lines
from review.protocol.typed_review import ReviewFinding
from review.runners.rules.judge import RULES, judge
from review.selection.documents import PairReasonJson
from review.selection.select import current_notes, left_out_lines, named_notes
from review.vocabulary import (
    QUEUED_DECISIONS,
    RULES_PARTITION,
    Decision,
    DispositionState,
    Severity,
    Staleness,
)

FAIL_ON = ("fail", "warn", "stale", "problem")
_TRIPPING = {"fail": (Severity.FAIL,), "warn": (Severity.WARN, Severity.FAIL)}
_PRECEDENCE = list(Staleness)
_CLOSED = (DispositionState.REJECTED, DispositionState.DEFERRED)
_Row: TypeAlias = CheckFindingJson | PairReasonJson


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


class _Check:
    """A check under way.

    :ivar locks: the first that has a review of a pair as it is answers for it.
    """

    def __init__(self, corpus: Corpus, request: CheckRequest, *, store: bool):
        self.corpus, self.request, self.config = corpus, request, corpus.config
        self.problems: list[Problem] = []
        self.notices: list[str] = []
        since = request.since
        self.changes = None if since is None else changes_since(corpus.config.root, since)
        self.gates = self._gates()
        self.notes = self._notes()
        self.linking = dict(self._linking())
        self.locks = [*([stored_lock(corpus, self.notes)] if store else []), self._lock()]
        self.baseline = self._baseline()
        if request.models:
            lines = [line for lock in self.locks for line in lock.notes.values()]
            known = {review.model for line in lines for review in line.reviews}
            self.notices += unknown_partitions(request.models, config=corpus.config, known=known)
        self.notices += corpus.idle_settings()

    def _gates(self) -> list[Gate]:
        names, catalog = self.request.gates, self.corpus.gates
        self.problems += catalog.problems_of(names) if names else catalog.problems
        gates = catalog.resolve(names) if names else catalog.gates
        return [gate for gate in gates if gate.rule in RULES or not self.request.rules_only]

    def _notes(self) -> Sequence[NoteFacts]:
        names, corpus = self.request.notes, self.corpus
        if self.request.text is not None:
            return [corpus.facts_of(self.read(path_below(str(self.config.root), names[0])))]
        if self.changes is None:
            listed = named_notes(corpus, names)
            if not listed.notes:
                self.notices.append(no_note_found(names or self.config.note_roots))
        else:
            listed = corpus.notes_at(self._changed_paths(self.changes.paths, names))
        self.problems += listed.problems
        return self._wanted(listed.notes)

    def _wanted(self, notes: Sequence[NoteFacts]) -> Sequence[NoteFacts]:
        if not self.request.current_only:
            return notes
        kept, left_out = current_notes(notes)
        self.notices += left_out_lines(left_out)
        return kept

    def _changed_paths(self, paths: frozenset[str], names: Sequence[str]) -> frozenset[str]:
        """Return the paths to look at; say what is not looked at, and what is taken on trust."""
        gates = len(paths.intersection(gate.path for gate in self.corpus.gates.gates))
        notices = {
            f"gates that changed: {gates}; other notes were not checked by them": gates,
            f"{LOCK_PATH} was changed too: what it accepts is part of the change": (
                LOCK_PATH in paths
            ),
        }
        self.notices += [notice for notice, is_so in notices.items() if is_so]
        if names:
            return paths.intersection(note.path for note in self.corpus.notes(names).notes)
        return frozenset(filter(self.config.is_among_notes, paths))

    def _linking(self) -> Iterator[tuple[NoteFacts, frozenset[str]]]:
        """Yield other notes with the names that they link to of files that the change touches."""
        if self.changes is None or not any(gate.rule in READING_RULES for gate in self.gates):
            return
        gone, edited = (
            {name_of(path) for path in paths if path.endswith(MARKDOWN)}
            for paths in (self.changes.gone, self.changes.paths)
        )
        others = {f"/{path}" for path in self.changes.gone if not path.endswith(MARKDOWN)}
        touched = gone | {f"{name}#" for name in gone | edited} | others
        looked_at, wants_all = {note.path for note in self.notes}, not self.request.current_only
        for note in self.corpus.notes(self.request.notes).notes if touched else ():
            names = frozenset(touched.intersection(self.corpus.links_of(note).names))
            is_wanted = wants_all or note.status == "current"
            if names and note.path not in looked_at and is_wanted:
                yield note, names

    def read(self, path: str) -> NoteText:
        data = self.request.text
        return self.corpus.read_note(path) if data is None else NoteText.of(path, data)

    def _lock(self) -> Lock:
        try:
            return self._read_lock((self.config.root / LOCK_PATH).read_bytes(), LOCK_PATH)
        except FileNotFoundError:
            return Lock()
        except OSError as error:
            raise InputRejected(f"cannot read {LOCK_PATH}: {error.strerror}") from error

    def _read_lock(self, data: bytes, source: str) -> Lock:
        lock = read_lock(data, source=source)
        self.problems += lock.problems
        return lock

    def _baseline(self) -> Lock | None:
        data, source, changes = self.request.baseline, "the baseline", self.changes
        new_only = self.request.new_only
        if data is None and changes is not None:
            data = file_at(self.config.root, changes.merge_base, LOCK_PATH)
            source = f"{LOCK_PATH} of the merge base"
        if data is None and new_only and changes is None:
            raise UsageRefused("--new-only needs --since REF, or --baseline FILE")
        if data is None:
            none = f"the merge base has no {LOCK_PATH}: every finding is new"
            self.notices += [none] if new_only else []
            return Lock() if new_only else None
        lock, folder = self._read_lock(data, source), self.corpus.gates.folder
        moved = {
            path: _moved(lock.notes[old], path, gates_folder=folder)
            for path, old in (changes.renamed if changes else {}).items()
            if old in lock.notes
        }
        return Lock(lock.gates, {**moved, **lock.notes})

    def judge(self, note: NoteText, gates: Sequence[Gate]) -> Iterator[_Row]:
        given = self.corpus.linker.rule_input(note.text, note.path)
        for gate in gates:
            if gate.rule not in RULES:
                yield from self._by_reviews(note, gate)
                continue
            review = judge(gate.rule, given, gate.severity)
            if review.decision == Decision.ERROR:
                yield _stale(note, gate, "decision-error")
            if review.decision in QUEUED_DECISIONS:
                yield from self._identified(note, gate, typed_findings(review))

    def _identified(
        self, note: NoteText, gate: Gate, found: Sequence[ReviewFinding]
    ) -> Iterator[CheckFindingJson]:
        """Yield what a rule found but for what was rejected or deferred."""
        locks = [*self.locks, *([self.baseline] if self.baseline else [])]
        known = [item for lock in locks for item in lock.note(note.path).findings_of(gate.gate_id)]
        states = {item.fingerprint: item.state for item in reversed(known)}
        earlier = [
            KnownFinding(item.fingerprint, item.quote, item.text, item.severity, item.line)
            for item in known
        ]
        where = {"note_path": note.path, "gate_path": gate.path, "note_text": note.text}
        for item in identify_findings(found, earlier=earlier, **where):
            if states.get(item.fingerprint) not in _CLOSED:
                yield self._open(note, gate, item, model=RULES_PARTITION, line=item.note_line)

    def _by_reviews(self, note: NoteText, gate: Gate) -> Iterator[_Row]:
        # The first lock of those that lack least.
        lock = max(self.locks, key=lambda lock: self._place(lock, note, gate))
        lacking = self._place(lock, note, gate)
        if lacking < len(_PRECEDENCE):
            yield _stale(note, gate, _PRECEDENCE[lacking].value)
        if lock.gates.get(gate.gate_id) == gate.sha256:
            yield from self._open_findings(lock.note(note.path), note, gate)

    def _place(self, lock: Lock, note: NoteText, gate: Gate) -> int:
        """Return the place of the reason why a lock's reviews are stale; the end if fresh."""
        now, by_text = Digests(note.sha256, gate.sha256), lock.gates.get(gate.gate_id)
        texts = lock.note(note.path).texts_of(gate.gate_id, *self.request.models)
        reasons = [staleness_reasons(current=now, accepted=Digests(t, by_text)) for t in texts]
        places = [_PRECEDENCE.index(found[0]) if found else len(_PRECEDENCE) for found in reasons]
        return max(places, default=0)

    def _open_findings(
        self, locked: LockedNote, note: NoteText, gate: Gate
    ) -> Iterator[CheckFindingJson]:
        """Yield what is open of the last review; without its quote a finding waits for the next."""
        models, listed = self.request.models, locked.findings_of(gate.gate_id)
        listed = [found for found in listed if not models or found.model in models]
        for found in listed:
            if found.model != listed[-1].model or found.state != DispositionState.OPEN:
                continue
            is_fresh = note.sha256 in locked.texts_of(gate.gate_id, found.model)
            places = quote_lines(note.text, found.quote) if found.quote else ()
            if found.quote and not places and not is_fresh:
                continue
            # The fresh text is another than the reviewed one, if it was acked.
            line, near = found.line, found.line or (0 if is_fresh else 1)
            if near and (found.quote or not is_fresh):
                line = min(places, key=lambda place: abs(place - near), default=None)
            yield self._open(note, gate, found, model=found.model, line=line)

    def _open(
        self,
        note: NoteText,
        gate: Gate,
        found: LockedFinding | Finding,
        *,
        model: str,
        line: int | None,
    ) -> CheckFindingJson:
        base = self.baseline
        known = base.note(note.path).findings_of(gate.gate_id) if base else []
        is_known = any(item.fingerprint == found.fingerprint for item in known)
        return from_row(
            CheckFindingJson,
            found,
            note_path=note.path,
            gate_id=gate.gate_id,
            model_partition=model,
            line=line,
            new=not is_known if base else None,
        )


def check_notes(corpus: Corpus, request: CheckRequest, *, store: bool) -> Report:
    """Check notes, with the reviews of the open store if `store`; nothing is stored."""
    check = _Check(corpus, request, store=store)
    pairs: list[tuple[str, str]] = []
    rows: list[_Row] = []
    for facts in (*check.notes, *check.linking):
        try:
            note = check.read(facts.path)
        except UnreadableFile as refused:
            check.problems.append(refused.problem)
            continue
        names = check.linking.get(facts)
        gates = [
            gate
            for gate in check.gates
            if gate.requirement.applies(facts.kind) and (not names or gate.rule in READING_RULES)
        ]
        rows += (row for row in check.judge(note, gates) if not names or _is_on(row, names))
        pairs += ((facts.path, gate.gate_id) for gate in gates)
    every = [row for row in rows if isinstance(row, CheckFindingJson)]
    muted = {} if request.gates else corpus.muted
    findings = [item for item in every if item.gate_id not in muted]
    if left_out := len(every) - len(findings):
        check.notices.append(f"findings of muted gates, left out: {left_out}")
    shown = [item for item in findings if item.new or not request.new_only]
    document = NotesCheckJson(
        merge_base=check.changes.merge_base if check.changes else None,
        notes=len(check.notes) + len(check.linking),
        gates=len(check.gates),
        pairs=len(pairs),
        findings=shown,
        stale=[row for row in rows if isinstance(row, PairReasonJson)],
        known=len(findings) - len(shown),
        problems=in_order(check.problems),
        notices=check.notices,
    )
    document.tripped = "; ".join(_trips(document, request.fail_on)) or None
    return Report(document, corpus.gates.gates, tuple(pairs), prefix_of(corpus.config.root))


def _is_on(row: _Row, names: frozenset[str]) -> bool:
    quote = row.quote if isinstance(row, CheckFindingJson) else ""
    return not names.isdisjoint(link_facts(quote, note_path=row.note_path).names)


def _stale(note: NoteText, gate: Gate, reason: str) -> PairReasonJson:
    return PairReasonJson(note_path=note.path, gate_id=gate.gate_id, reason=reason)


def _moved(note: LockedNote, path: str, *, gates_folder: str) -> LockedNote:
    """Return the line of a note that was renamed to `path`, with the fingerprints it has there."""
    findings = []
    groups = groupby(note.findings, key=lambda item: (item.gate, item.model))
    for (gate_id, _model), group in groups:
        found, gate_path = list(group), f"{gates_folder}/{gate_id}.md"
        own = own_fingerprints(found, note_path=path, gate_path=gate_path)
        findings += [
            msgspec.structs.replace(item, fingerprint=fingerprint)
            for item, fingerprint in zip(found, own, strict=True)
        ]
    return LockedNote(path, (), tuple(findings))


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
