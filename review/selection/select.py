"""The selector: which pairs are stale for a model partition, and why."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F
from django.db.models.functions import Coalesce

from review.documents.base import cursor_of, key_of, timestamp
from review.domain.diffs.words import changed_words, unified_diff, word_diff
from review.errors import UsageRefused
from review.knowledge_base import (
    MARKDOWN,
    AmbiguousGate,
    Corpus,
    Gate,
    NoSuchNote,
    NoteFacts,
    NoteList,
    Problem,
    UnknownGate,
    in_order,
)
from review.models import CurrentAcceptance, FileSnapshot, batched
from review.selection.documents import DiffJson, RenameJson, SelectionJson, TargetJson
from review.selection.freshness import (
    ChangeReader,
    NoteStaleness,
    Scope,
    StaleGate,
    file_now,
    in_flight,
    only_flagged,
    partition_staleness,
    to_repeat,
    uncovered,
)
from review.selection.names import find_renames
from review.vocabulary import REQUESTED, STALE, ProblemCode, Staleness

BEFORE = "before-after"


@dataclass(frozen=True)
class SelectionRequest:
    """A request to select targets.

    :param gates: gate ids, gate paths and bundle names.
    :param notes: files and folders; none is every note of the note roots.
    :param model_partition: None asks for pairs that no partition has reviewed.
    :param rules_only: only gates that name a rule; `skip_rules`: only the others. One that names
        a rule there is not is in neither: no rule judges it, and nobody asked a model to.
    :param flagged_by: keep pairs that this partition flags; `repeat`: fresh ones (see `sampling`).
    :param reasons: keep targets whose first reason is one of these; none keeps all.
    :param after: the cursor that an earlier selection gave; only the targets behind it.
    """

    gates: tuple[str, ...] = ()
    all_gates: bool = False
    notes: tuple[str, ...] = ()
    current_only: bool = False
    model_partition: str | None = None
    mode: str = STALE
    reasons: tuple[Staleness, ...] = ()
    rules_only: bool = False
    skip_rules: bool = False
    skip_trivial: bool = False
    with_diffs: bool = False
    limit: int | None = None
    flagged_by: str = ""
    repeat: bool = False
    after: str | None = None


class Selection:
    """An answer that is produced as it is read: targets first, then diffs.

    `counts` is complete from the start; `diffs` gives what the targets read so far have named.

    :ivar left_out: what the filters kept from being a target: notes (`not-named`, `not-current`, of
        which `without-status` have none), gates (`has-rule`, `has-no-rule`, and of the named ones
        `applies-to-none`) and pairs (`not-flagged`, `not-repeatable`, `other-reason`, and, once the targets were read, `trivial`, `before-after` and `over-limit`).
    :ivar has_notes: whether there is a note where it looked, whatever its status.
    :ivar next: the cursor of the targets behind the last one; None where there are none.
    """

    def __init__(self, corpus: Corpus, request: SelectionRequest) -> None:
        self.request = request
        self.next: str | None = None
        self.left_out: Counter[str] = Counter()
        self.counts = Counter({"fresh": 0, **dict.fromkeys(Staleness.values, 0), "in-flight": 0})
        self._corpus = corpus
        self._stale: list[NoteStaleness] = []
        self._new: list[NoteFacts] = []
        self._changed: set[tuple[str, str]] = set()
        gates, gate_problems = self._gates()
        listed = named_notes(corpus, request.notes)
        self.problems = in_order([*listed.problems, *gate_problems])
        self.has_notes = bool(listed.notes)
        self._listed = listed.notes
        # Who names single notes wants those; the others are not counted, which would take a walk.
        if any(not name.endswith(MARKDOWN) for name in request.notes):
            self._leave_out(
                "not-named", corpus.count_other_notes(note.path for note in listed.notes)
            )
        notes = listed.notes
        if request.current_only:
            notes, left_out = current_notes(notes)
            self.left_out += left_out
        scope = Scope(corpus, notes=notes, gates=gates)
        if notes and not request.all_gates:
            applied = {gate.path for note in notes for gate in scope.gates_of_kind(note.kind)}
            self._leave_out("applies-to-none", len(gates) - len(applied))
        self._compare(scope)

    def targets(self) -> Iterator[TargetJson]:
        """Return the targets, sorted by note path and gate path; consumed once."""
        for given, target in enumerate(self._all_targets(), 1):
            yield target
            if given == self.request.limit:
                seen = given + self.left_out["trivial"] + self.left_out[BEFORE]
                if over := self._wanted - seen:
                    self.left_out["over-limit"] = over
                    self.next = cursor_of((target.note_path, target.gate_path))
                return

    def diffs(self) -> Iterator[DiffJson]:
        """Return the diffs of the targets given so far, once per file and accepted text."""
        for path, sha256 in sorted(self._changed):
            if now := file_now(self._corpus, path):
                before = FileSnapshot.objects.values_list("text", flat=True).get(
                    path__path=path, content_sha256=sha256
                )
                diff = unified_diff(before, now.text, path=path)
                words = changed_words(word_diff(before, now.text))
                yield DiffJson(path, sha256, now.sha256, diff.text, words, diff.truncated)

    def renames(self) -> list[RenameJson]:
        """Find notes of the scope that probably had another path when they were reviewed."""
        return find_renames(
            self._corpus, self._new, listed=None if self.request.notes else self._listed
        )

    def document(self) -> SelectionJson:
        """Return the whole document but for its targets and diffs, which may be very many."""
        return SelectionJson(
            mode=self.request.mode,
            model_partition=self.request.model_partition,
            targets=[],
            diffs=[],
            counts=dict(self.counts),
            problems=self.problems,
            renames=self.renames(),
            left_out=self.left_out,
        )

    def _leave_out(self, why: str, number: int) -> None:
        if number:
            self.left_out[why] += number

    def _gates(self) -> tuple[Sequence[Gate], Sequence[Problem]]:
        request, catalog = self.request, self._corpus.gates
        gates, problems = catalog.gates, catalog.problems
        if not request.all_gates:
            gates, problems = catalog.resolve(request.gates), catalog.problems_of(request.gates)
        if not request.rules_only and not request.skip_rules:
            return gates, problems
        misnamed = {item.path for item in problems if item.code is ProblemCode.UNKNOWN_RULE}
        if request.rules_only:
            kept = [gate for gate in gates if gate.rule and gate.path not in misnamed]
        else:
            kept = [gate for gate in gates if not gate.rule]
        self._leave_out("has-no-rule" if request.rules_only else "has-rule", len(gates) - len(kept))
        return kept, [
            replace(item, skipped=item.skipped or item.code is ProblemCode.UNKNOWN_RULE)
            for item in problems
        ]

    def _items(self, scope: Scope) -> Iterable[NoteStaleness]:
        partition = self.request.model_partition
        items = (
            uncovered(scope)
            if partition is None
            else partition_staleness(scope, model_partition=partition)
        )
        if self.request.flagged_by:
            items = only_flagged(items, by=self.request.flagged_by, left_out=self.left_out)
        if self.request.repeat:
            limit, left_out = self.request.limit, self.left_out
            items = to_repeat(items, partition=partition, limit=limit, left_out=left_out)
        return items

    def _compare(self, scope: Scope) -> None:
        request, counts, partition = self.request, self.counts, self.request.model_partition
        for item in self._items(scope):
            counts["fresh"] += len(item.fresh)
            for stale in item.stale:
                counts[stale.reasons[0].value] += 1
            if item.untouched:
                self._new.append(item.note)
            if request.mode == REQUESTED or item.stale:
                self._stale.append(item)
        notes = {note.path: note for note in scope.notes}
        self._open_jobs = in_flight(partition, note_paths=list(notes)) if partition else {}
        counts["in-flight"] = sum(
            any(gate.path == gate_path for gate in scope.gates_of_kind(notes[note_path].kind))
            for note_path, gate_path in self._open_jobs
            if note_path in notes
        )
        self._wanted = sum(counts[reason] for reason in Staleness.values)
        if request.mode == REQUESTED:
            self._wanted += counts["fresh"]
        elif request.reasons:
            others = sum(counts[reason] for reason in set(Staleness) - set(request.reasons))
            self._leave_out("other-reason", others)
            self._wanted -= others

    def _all_targets(self) -> Iterator[TargetJson]:
        request, changes = self.request, ChangeReader(self._corpus)
        start = key_of(request.after) if request.after else ()
        for chunk in batched(self._stale, 200):
            accepted = _read_accepted(chunk, request.model_partition)
            today = {(item.note.path, item.note.sha256) for item in chunk}
            changes.load(
                row["since"]
                for (path, _gate), row in accepted.items()
                if (path, row["accepted_note_sha256"]) not in today
            )
            for item in chunk:
                for stale in self._wanted_of(item):
                    key = (item.note.path, stale.gate.path)
                    if key <= start:
                        self.left_out[BEFORE] += 1
                        continue
                    target = self._target(item.note, stale, accepted.get(key, {}), changes)
                    if request.skip_trivial and is_trivial(target):
                        self.left_out["trivial"] += 1
                        continue
                    if request.with_diffs:
                        self._changed.update(_changed_files(target))
                    yield target

    def _wanted_of(self, item: NoteStaleness) -> Iterable[StaleGate]:
        if self.request.mode == REQUESTED:
            every = [*item.stale, *(StaleGate(gate, ()) for gate in item.fresh)]
            return sorted(every, key=lambda stale: stale.gate.path)
        reasons = self.request.reasons or tuple(Staleness)
        return (stale for stale in item.stale if stale.reasons[0] in reasons)

    def _target(
        self, note: NoteFacts, stale: StaleGate, accepted: dict[str, Any], changes: ChangeReader
    ) -> TargetJson:
        gate = stale.gate
        reasons = [reason.value for reason in stale.reasons]
        if self.request.mode == REQUESTED:
            reasons.insert(0, REQUESTED)
        is_changed = Staleness.NOTE_CHANGED in stale.reasons
        return TargetJson(
            note_path=note.path,
            gate_path=gate.path,
            gate_id=gate.gate_id,
            lens=gate.lens,
            reason=reasons[0],
            reasons=reasons,
            note_sha256=note.sha256,
            gate_sha256=gate.sha256,
            open_review_job_id=self._open_jobs.get((note.path, gate.path)),
            accepted_note_sha256=accepted.get("accepted_note_sha256"),
            accepted_gate_sha256=accepted.get("accepted_gate_sha256"),
            accepted_at=timestamp(accepted.get("accepted_at")),
            accepted_review_pair_id=accepted.get("accepted_review_pair_id"),
            change=changes.change(note.path, gate, since=accepted["since"]) if is_changed else None,
        )


def select_targets(corpus: Corpus, request: SelectionRequest) -> Selection:
    """Compare the notes and gates on disk with what is accepted; nothing is written."""
    if not request.gates and not request.all_gates:
        hint = _misplaced(corpus, request.notes) or "commonplace resolve_gates lists them"
        raise UsageRefused("name gates or bundles, or give --all-gates", hint=hint)
    if request.mode == REQUESTED and request.model_partition is None:
        raise UsageRefused("--mode requested needs --model")
    return Selection(corpus, request)


_LEFT_OUT = {
    "not-named": "notes left out by --note",
    "not-current": "notes left out by --current",
    "has-rule": "gates left out by --skip-rules",
    "has-no-rule": "gates left out: they name no rule",
    "applies-to-none": "gates left out: they apply to no note of the scope",
    "not-flagged": "pairs left out by --flagged-by",
    "not-repeatable": "pairs left out by --repeat: not reviewed exactly once as they are",
    "other-reason": "pairs left out by --reason",
    "trivial": "pairs left out by --skip-trivial",
    "before-after": "pairs left out by --after",
    "over-limit": "pairs left out by --limit",
}


def left_out_lines(left_out: Mapping[str, int]) -> Iterator[str]:
    for why, number in left_out.items():
        if why in _LEFT_OUT:
            none = why == "not-current" and number == left_out.get("without-status")
            yield f"{number} {_LEFT_OUT[why]}{': none has a status' if none else ''}"


def current_notes(notes: Sequence[NoteFacts]) -> tuple[tuple[NoteFacts, ...], Counter[str]]:
    """Keep the notes with status `current`; count what that leaves out."""
    kept = tuple(note for note in notes if note.status == "current")
    none = sum(not note.status for note in notes)
    return kept, +Counter({"not-current": len(notes) - len(kept), "without-status": none})


def is_trivial(target: TargetJson) -> bool:
    """Return True if only the note changed, and in nothing that the gate watches."""
    only_note_changed = target.reasons == [Staleness.NOTE_CHANGED.value]
    return only_note_changed and target.change is not None and target.change.trivial


def named_notes(corpus: Corpus, names: Sequence[str]) -> NoteList:
    """Return the notes of an option `--note`; all without a name."""
    try:
        return corpus.notes(names)
    except NoSuchNote as error:
        raise NoSuchNote(error.message, hint=_misplaced(corpus, names) or error.hint) from error


def _misplaced(corpus: Corpus, names: Sequence[str]) -> str:
    """Return a hint about gates that stand behind `--note`; `""` when there are none."""
    gates = []
    for name in names:
        with suppress(UnknownGate, AmbiguousGate):
            if corpus.gates.resolve((name,)):
                gates.append(name)
    if not gates:
        return ""
    notes = [name for name in names if name not in gates]
    return (
        f"gates stand before --note: {shlex.join([*gates, *(['--note', *notes] if notes else [])])}"
    )


def _read_accepted(
    notes: Sequence[NoteStaleness], partition: str | None
) -> dict[tuple[str, str], dict[str, Any]]:
    """Read what pairs were accepted with; `since` is the snapshot that was really reviewed."""
    paths = [item.note.path for item in notes if not item.untouched]
    if partition is None or not paths:
        return {}
    rows = CurrentAcceptance.objects.of_partition(partition).filter(note__path__in=paths)
    columns = rows.values(
        "note__path",
        "gate__path",
        accepted_note_sha256=F("note_snapshot__content_sha256"),
        accepted_gate_sha256=F("gate_snapshot__content_sha256"),
        accepted_at=F("event__accepted_at"),
        accepted_review_pair_id=F("event__review_pair_id"),
        since=Coalesce("event__review_pair__note_snapshot_id", "note_snapshot_id"),
    )
    return {(row["note__path"], row["gate__path"]): dict(row) for row in columns.iterator()}


def _changed_files(target: TargetJson) -> Iterator[tuple[str, str]]:
    """Yield path and accepted digest of the files of a target that changed since."""
    for path, accepted, now in (
        (target.note_path, target.accepted_note_sha256, target.note_sha256),
        (target.gate_path, target.accepted_gate_sha256, target.gate_sha256),
    ):
        if accepted is not None and accepted != now:
            yield path, accepted
