"""Judges the pairs of a note: rule gates in this process, others by the reviews that count."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import msgspec

from review.check.documents import CheckFindingJson, StalePairJson
from review.check.lock import Lock, LockedFinding, LockedNote
from review.documents.base import from_row
from review.domain.finding_identity import KnownFinding, own_fingerprints
from review.domain.staleness import Digests, staleness_reasons
from review.ingest.parse import identify_findings, typed_findings
from review.knowledge_base import Corpus, Gate, NoteText
from review.models import Finding
from review.protocol.quote_location import quote_lines
from review.runners.rules.judge import RULES, judge
from review.runners.rules.values import RuleInput
from review.settings.config import RULES_PARTITION
from review.sweeps.executors import rule_input
from review.vocabulary import QUEUED_DECISIONS, Decision, DispositionState, Staleness

_PRECEDENCE = list(Staleness)
_CLOSED = (DispositionState.REJECTED, DispositionState.DEFERRED)


@dataclass(frozen=True)
class NoteJudge:
    """Judges gates for one note as it is now.

    :param locks: the first that has a review of a pair as it is answers for it.
    :param baseline: a finding that it has is not new; None: nothing is compared.
    :param models: partitions whose reviews count; none is all.
    """

    corpus: Corpus
    note: NoteText
    locks: Sequence[Lock]
    baseline: Lock | None
    models: Collection[str]

    def judge(self, gates: Iterable[Gate]) -> Iterator[CheckFindingJson | StalePairJson]:
        for gate in gates:
            yield from self._by_rule(gate) if gate.rule in RULES else self._by_reviews(gate)

    @cached_property
    def _input(self) -> RuleInput:
        return rule_input(self.note.text, note_path=self.note.path, linker=self.corpus.linker)

    def _by_rule(self, gate: Gate) -> Iterator[CheckFindingJson | StalePairJson]:
        review = judge(gate.rule, self._input)
        if review.decision == Decision.ERROR:
            yield self._stale(gate, "decision-error")
        if review.decision not in QUEUED_DECISIONS:
            return
        baseline = [self.baseline] if self.baseline else []
        known = [
            item
            for lock in (*self.locks, *baseline)
            for item in lock.note(self.note.path).findings_of(gate.gate_id)
        ]
        states = {item.fingerprint: item.state for item in reversed(known)}
        for found in identify_findings(
            typed_findings(review),
            note_path=self.note.path,
            gate_path=gate.path,
            note_text=self.note.text,
            earlier=[
                KnownFinding(item.fingerprint, item.quote, item.text, item.severity, item.line)
                for item in known
            ],
        ):
            if states.get(found.fingerprint) not in _CLOSED:
                yield self._open(gate, found, model=RULES_PARTITION, line=found.note_line)

    def _by_reviews(self, gate: Gate) -> Iterator[CheckFindingJson | StalePairJson]:
        answers = [(self._precedence(lock, gate), lock) for lock in self.locks]
        # The first lock of those that lack least.
        lacking, lock = max(answers, key=lambda answer: answer[0])
        if lacking < len(_PRECEDENCE):
            yield self._stale(gate, _PRECEDENCE[lacking].value)
        if lock.gates.get(gate.gate_id) == gate.sha256:
            yield from self._open_findings(lock, gate)

    def _precedence(self, lock: Lock, gate: Gate) -> int:
        """Return the place of the reason why a lock's reviews are stale; the end if fresh."""
        now = Digests(self.note.sha256, gate.sha256)
        texts = lock.note(self.note.path).texts_of(gate.gate_id, *self.models)
        then = [Digests(text, lock.gates.get(gate.gate_id)) for text in texts]
        reasons = [staleness_reasons(current=now, accepted=digests) for digests in then]
        places = [_PRECEDENCE.index(found[0]) if found else len(_PRECEDENCE) for found in reasons]
        return max(places, default=0)

    def _open_findings(self, lock: Lock, gate: Gate) -> Iterator[CheckFindingJson]:
        """Yield what is open of the last review; without its quote a finding waits for the next."""
        line_of_note, models = lock.note(self.note.path), self.models
        listed = [
            found
            for found in line_of_note.findings_of(gate.gate_id)
            if not models or found.model in models
        ]
        for found in listed:
            if found.model != listed[-1].model or found.state != DispositionState.OPEN:
                continue
            line, near = found.line, found.line or 1
            if self.note.sha256 not in line_of_note.texts_of(gate.gate_id, found.model):
                places = quote_lines(self.note.text, found.quote) if found.quote else ()
                line = min(places, key=lambda place: abs(place - near), default=None)
                if found.quote and line is None:
                    continue
            yield self._open(gate, found, model=found.model, line=line)

    def _open(
        self, gate: Gate, found: LockedFinding | Finding, *, model: str, line: int | None
    ) -> CheckFindingJson:
        base = self.baseline
        known = base.note(self.note.path).findings_of(gate.gate_id) if base else []
        is_known = any(item.fingerprint == found.fingerprint for item in known)
        return from_row(
            CheckFindingJson,
            found,
            note_path=self.note.path,
            gate_id=gate.gate_id,
            model_partition=model,
            line=line,
            new=not is_known if base else None,
        )

    def _stale(self, gate: Gate, reason: str) -> StalePairJson:
        return StalePairJson(note_path=self.note.path, gate_id=gate.gate_id, reason=reason)


def moved(note: LockedNote, path: str, *, gates_folder: str) -> LockedNote:
    """Return the line of a note that was renamed to `path`, with the fingerprints it has there."""
    findings = []
    for (gate_id, _model), group in groupby(
        note.findings, key=lambda item: (item.gate, item.model)
    ):
        found, gate_path = list(group), f"{gates_folder}/{gate_id}.md"
        own = own_fingerprints(found, note_path=path, gate_path=gate_path)
        findings += [
            msgspec.structs.replace(item, fingerprint=fingerprint)
            for item, fingerprint in zip(found, own, strict=True)
        ]
    return LockedNote(path, (), tuple(findings))
