"""Decides which selected targets can be requested, and remembers why the others cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from review.documents.problems import ProblemJson
from review.domain.applicability import NoteKind, applies
from review.domain.problems import Problem
from review.jobs.factory import ALREADY_QUEUED, Dropped
from review.jobs.job_documents import SkippedJson
from review.jobs.selection_input import Target
from review.knowledge_base import Corpus, Gate, UnreadableFile
from review.selection.note_cache import NoteShelf, PairRequest

DUPLICATE = "duplicate"
NOT_APPLICABLE = "not-applicable"


class Survey:
    """Looks at the files of each target once; collects skipped targets and problems."""

    def __init__(
        self, corpus: Corpus, shelf: NoteShelf, *, taken: Mapping[tuple[str, str], int]
    ) -> None:
        """Start with nothing skipped; `taken` are the queued pairs by note and gate path."""
        self._corpus = corpus
        self._shelf = shelf
        self._taken = taken
        self._seen: set[tuple[str, str]] = set()
        self._kinds: dict[str, NoteKind | Problem] = {}
        self._gates: dict[str, Gate | Problem] = {}
        self._skipped: list[SkippedJson] = []
        self._problems: dict[Problem, None] = {}

    def admit(self, target: Target) -> PairRequest | None:
        """The pair to request, or None for a target that is skipped."""
        key = (target.note_path, target.gate_path)
        gate = self._gate(target.gate_path)
        kind = self._kind(target.note_path)
        reason = ""
        if key in self._seen:
            reason = DUPLICATE
        elif isinstance(gate, Problem):
            reason = gate.code.value
        elif isinstance(kind, Problem):
            reason = kind.code.value
        elif not applies(gate.requirement, kind):
            reason = NOT_APPLICABLE
        elif key in self._taken:
            reason = ALREADY_QUEUED
        self._seen.add(key)
        if reason or isinstance(gate, Problem):
            job_id = self._taken[key] if reason == ALREADY_QUEUED else None
            self._skip(target.note_path, target.gate_id, reason, job_id)
            return None
        return PairRequest(target.note_path, gate)

    def drop(self, item: Dropped) -> None:
        """Skip a pair that was admitted and went into no job after all."""
        self._skip(item.pair.note_path, item.pair.gate.gate_id, item.reason, item.review_job_id)
        if item.problem is not None:
            self.add_problems([item.problem])

    def add_problems(self, problems: Iterable[Problem]) -> None:
        """Report problems, each once."""
        self._problems.update(dict.fromkeys(problems))

    def skipped(self) -> list[SkippedJson]:
        """What was skipped, sorted by note, gate and reason."""
        return sorted(self._skipped, key=lambda item: (item.note_path, item.gate_id, item.reason))

    def problems(self) -> list[ProblemJson]:
        """What is wrong with the files that were looked at, sorted by path and code."""
        found = sorted(self._problems, key=lambda item: (item.path, item.code, item.message))
        return [
            ProblemJson(
                path=item.path, code=item.code.value, message=item.message, skipped=item.skipped
            )
            for item in found
        ]

    def _skip(self, note_path: str, gate_id: str, reason: str, job_id: int | None) -> None:
        self._skipped.append(
            SkippedJson(note_path=note_path, gate_id=gate_id, reason=reason, review_job_id=job_id)
        )

    def _gate(self, path: str) -> Gate | Problem:
        if path not in self._gates:
            try:
                self._gates[path] = self._corpus.gate(path)
            except UnreadableFile as refused:
                self._gates[path] = refused.problem
                self.add_problems([refused.problem])
            self.add_problems(item for item in self._corpus.gates.problems if item.path == path)
        return self._gates[path]

    def _kind(self, path: str) -> NoteKind | Problem:
        if path not in self._kinds:
            try:
                note = self._shelf.note(path)
            except UnreadableFile as refused:
                self._kinds[path] = refused.problem
                self.add_problems([refused.problem])
            else:
                self._kinds[path] = note.kind
                self.add_problems(note.problems)
        return self._kinds[path]
