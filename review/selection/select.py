"""The selector: which pairs are stale for a model partition, and why."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from django.db.models.functions import Coalesce

from review.documents.base import timestamp
from review.documents.paging import cursor_of, key_of
from review.documents.problems import problem_json
from review.domain.diffs.words import changed_words, unified_diff, word_diff
from review.domain.problems import Problem
from review.errors import UsageRefused
from review.knowledge_base import Corpus
from review.knowledge_base.gate_catalog import AmbiguousGate, Gate, UnknownGate
from review.knowledge_base.named_paths import NoSuchNote
from review.knowledge_base.notes import NoteFacts, NoteList, in_order
from review.knowledge_base.walker import MARKDOWN
from review.models import CurrentAcceptance, FileSnapshot, batched
from review.selection.changes import ChangeReader, file_now
from review.selection.documents import DiffJson, RenameJson, SelectionJson, TargetJson
from review.selection.freshness import (
    NoteStaleness,
    Scope,
    StaleGate,
    in_flight,
    partition_staleness,
    uncovered,
)
from review.selection.renames import find_renames
from review.selection.sampling import only_flagged, to_repeat
from review.vocabulary import REQUESTED, STALE, ProblemCode, Staleness

BEFORE = "before-after"
_CHUNK_NOTES = 200


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


class _Baseline(NamedTuple):
    """The current acceptance of one pair; `since` is the snapshot of the note really reviewed."""

    note_sha256: str
    gate_sha256: str
    accepted_at: datetime
    review_pair_id: int | None
    since: int


@dataclass
class Selection:
    """An answer that is produced as it is read: targets first, then diffs.

    `counts` is complete from the start; `diffs` gives what the targets read so far have named.

    :param left_out: what the filters kept from being a target: notes (`not-named`, `not-current`, of
        which `without-status` have none), gates (`has-rule`, `has-no-rule`) and pairs (`not-flagged`,
        `other-reason`, and, once the targets were read, `trivial`, `before-after` and `over-limit`).
    :param has_notes: whether there is a note where it looked, whatever its status.
    :param next: the cursor of the targets behind the last one; None where there are none.
    """

    request: SelectionRequest
    problems: tuple[Problem, ...]
    has_notes: bool
    counts: Counter[str]
    left_out: dict[str, int]
    _corpus: Corpus = field(repr=False)
    _listed: Sequence[NoteFacts] = field(repr=False)
    _open_jobs: dict[tuple[str, str], int] = field(repr=False)
    next: str | None = None
    _new: list[NoteFacts] = field(default_factory=list, repr=False)
    _stale: list[NoteStaleness] = field(default_factory=list, repr=False)
    _changed: set[tuple[str, str]] = field(default_factory=set, repr=False)

    def targets(self) -> Iterator[TargetJson]:
        """Return the targets, sorted by note path and gate path; consumed once."""
        for given, target in enumerate(self._all_targets(), 1):
            yield target
            if given == self.request.limit:
                seen = given + sum(self.left_out.get(why, 0) for why in ("trivial", BEFORE))
                _add(self.left_out, "over-limit", self._count_wanted() - seen)
                if self.left_out.get("over-limit"):
                    self.next = cursor_of((target.note_path, target.gate_path))
                return

    def diffs(self) -> Iterator[DiffJson]:
        """Return the diffs of the targets given so far, once per file and accepted text."""
        for path, sha256 in sorted(self._changed):
            now = file_now(self._corpus, path)
            if now is None:
                continue
            before = FileSnapshot.objects.values_list("text", flat=True).get(
                path__path=path, content_sha256=sha256
            )
            diff = unified_diff(before, now.text, path=path)
            yield DiffJson(
                path=path,
                accepted_sha256=sha256,
                sha256=now.sha256,
                diff=diff.text,
                words=changed_words(word_diff(before, now.text)),
                truncated=diff.truncated,
            )

    def renames(self) -> list[RenameJson]:
        """Find notes of the scope that probably had another path when they were reviewed."""
        listed = None if self.request.notes else self._listed
        return find_renames(self._corpus, self._new, listed=listed)

    def document(self) -> SelectionJson:
        """Return the whole document but for its targets and diffs, which may be very many."""
        return SelectionJson(
            mode=self.request.mode,
            model_partition=self.request.model_partition,
            targets=[],
            diffs=[],
            counts=dict(self.counts),
            problems=[problem_json(problem) for problem in self.problems],
            renames=self.renames(),
            left_out=self.left_out,
        )

    def _count_wanted(self) -> int:
        fresh = self.counts["fresh"] if self.request.mode == REQUESTED else 0
        stale = sum(self.counts[reason.value] for reason in Staleness)
        return fresh + stale - self.left_out.get("other-reason", 0)

    def _all_targets(self) -> Iterator[TargetJson]:
        changes = ChangeReader(self._corpus)
        start = key_of(self.request.after) if self.request.after else ()
        for chunk in batched(self._stale, _CHUNK_NOTES):
            baselines = _read_baselines(chunk, self.request.model_partition)
            for item in chunk:
                accepted = baselines.get(item.note.path, {})
                changes.load(
                    {
                        baseline.since
                        for baseline in accepted.values()
                        if baseline.note_sha256 != item.note.sha256
                    }
                )
                for stale in _wanted(item, self.request):
                    if (item.note.path, stale.gate.path) <= start:
                        _add(self.left_out, BEFORE, 1)
                        continue
                    target = self._target(item.note, stale, accepted.get(stale.gate.path), changes)
                    if self.request.skip_trivial and is_trivial(target):
                        _add(self.left_out, "trivial", 1)
                        continue
                    if self.request.with_diffs:
                        self._changed.update(_changed_files(target))
                    yield target

    def _target(
        self,
        note: NoteFacts,
        stale: StaleGate,
        baseline: _Baseline | None,
        changes: ChangeReader,
    ) -> TargetJson:
        gate = stale.gate
        reasons = [reason.value for reason in stale.reasons]
        if self.request.mode == REQUESTED:
            reasons.insert(0, REQUESTED)
        target = TargetJson(
            note_path=note.path,
            gate_path=gate.path,
            gate_id=gate.gate_id,
            lens=gate.lens,
            reason=reasons[0],
            reasons=reasons,
            note_sha256=note.sha256,
            gate_sha256=gate.sha256,
            open_review_job_id=self._open_jobs.get((note.path, gate.path)),
        )
        if baseline is None:
            return target
        target.accepted_note_sha256 = baseline.note_sha256
        target.accepted_gate_sha256 = baseline.gate_sha256
        target.accepted_at = timestamp(baseline.accepted_at)
        target.accepted_review_pair_id = baseline.review_pair_id
        if Staleness.NOTE_CHANGED in stale.reasons:
            target.change = changes.change(note.path, gate, since=baseline.since)
        return target


def select_targets(corpus: Corpus, request: SelectionRequest) -> Selection:
    """Compare the notes and gates on disk with what is accepted; nothing is written.

    :raises UsageRefused: no gates named, or `requested` without a partition.
    :raises UnknownGate, AmbiguousGate, NoSuchNote: a name does not resolve.
    """
    partition = request.model_partition
    if not request.gates and not request.all_gates:
        raise UsageRefused(
            "name gates or bundles, or give --all-gates",
            hint=_misplaced(corpus, request.notes) or "commonplace resolve_gates lists them",
        )
    if request.mode == REQUESTED and partition is None:
        raise UsageRefused("--mode requested needs --model")
    left_out: dict[str, int] = {}
    gates, gate_problems = _gates(corpus, request, left_out)
    listed = named_notes(corpus, request.notes)
    # Who names single notes wants those; the others are not counted, which would take a walk.
    if any(not name.endswith(MARKDOWN) for name in request.notes):
        _add(left_out, "not-named", corpus.count_other_notes(note.path for note in listed.notes))
    notes = _current(listed.notes, left_out) if request.current_only else listed.notes
    scope = Scope(notes=notes, gates=gates)
    selection = Selection(
        request=request,
        problems=in_order([*listed.problems, *gate_problems]),
        has_notes=bool(listed.notes),
        left_out=left_out,
        counts=Counter({"fresh": 0, **{reason.value: 0 for reason in Staleness}, "in-flight": 0}),
        _corpus=corpus,
        _listed=listed.notes,
        _open_jobs=in_flight(partition, note_paths=[n.path for n in notes]) if partition else {},
    )
    _count(selection, scope)
    if request.reasons and request.mode != REQUESTED:
        others = set(Staleness) - set(request.reasons)
        _add(left_out, "other-reason", sum(selection.counts[reason.value] for reason in others))
    return selection


def is_trivial(target: TargetJson) -> bool:
    """Return True if only the note changed, and in nothing that the gate watches."""
    only_note_changed = target.reasons == [Staleness.NOTE_CHANGED.value]
    return only_note_changed and target.change is not None and target.change.trivial


def _count(selection: Selection, scope: Scope) -> None:
    request, counts = selection.request, selection.counts
    if request.model_partition is None:
        items = uncovered(scope)
    else:
        items = partition_staleness(scope, model_partition=request.model_partition)
    if request.flagged_by:
        items = only_flagged(items, by=request.flagged_by, left_out=selection.left_out)
    if request.repeat:
        items = to_repeat(items, partition=request.model_partition, limit=request.limit)
    for item in items:
        counts["fresh"] += len(item.fresh)
        for stale in item.stale:
            counts[stale.reasons[0].value] += 1
        if item.untouched:
            selection._new.append(item.note)
        if request.mode == REQUESTED or item.stale:
            selection._stale.append(item)
    notes = {note.path: note for note in scope.notes}
    counts["in-flight"] = sum(
        any(gate.path == gate_path for gate in scope.gates_of(notes[note_path]))
        for note_path, gate_path in selection._open_jobs
        if note_path in notes
    )


def _add(left_out: dict[str, int], why: str, number: int) -> None:
    if number:
        left_out[why] = left_out.get(why, 0) + number


def named_notes(corpus: Corpus, names: Sequence[str]) -> NoteList:
    """Return the notes of an option `--note`; all without a name.

    :raises NoSuchNote: one is not there; gates that stand behind `--note` are pointed out.
    """
    try:
        return corpus.notes(names)
    except NoSuchNote as error:
        raise NoSuchNote(error.message, hint=_misplaced(corpus, names) or error.hint) from error


def _current(notes: Sequence[NoteFacts], left_out: dict[str, int]) -> Sequence[NoteFacts]:
    current = [note for note in notes if note.status == "current"]
    _add(left_out, "not-current", len(notes) - len(current))
    _add(left_out, "without-status", sum(not note.status for note in notes))
    return current


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


def _gates(
    corpus: Corpus, request: SelectionRequest, left_out: dict[str, int]
) -> tuple[tuple[Gate, ...], Sequence[Problem]]:
    catalog = corpus.gates
    if request.all_gates:
        gates, problems = catalog.gates, catalog.problems
    else:
        gates = catalog.resolve(request.gates)
        problems = catalog.problems_of(request.gates)
    if not request.rules_only and not request.skip_rules:
        return gates, problems
    misnamed = {item.path for item in problems if item.code is ProblemCode.UNKNOWN_RULE}
    if request.rules_only:
        kept = tuple(gate for gate in gates if gate.rule and gate.path not in misnamed)
    else:
        kept = tuple(gate for gate in gates if not gate.rule)
    why = "has-no-rule" if request.rules_only else "has-rule"
    _add(left_out, why, len(gates) - len(kept))
    return kept, [
        replace(item, skipped=item.skipped or item.code is ProblemCode.UNKNOWN_RULE)
        for item in problems
    ]


def _read_baselines(
    notes: Sequence[NoteStaleness], partition: str | None
) -> dict[str, dict[str, _Baseline]]:
    """Read what the pairs of `notes` were accepted with, by note and gate path."""
    paths = [item.note.path for item in notes if not item.untouched]
    found: dict[str, dict[str, _Baseline]] = {}
    if partition is None or not paths:
        return found
    rows = CurrentAcceptance.objects.of_partition(partition).filter(note__path__in=paths)
    columns = rows.values_list(
        "note__path",
        "gate__path",
        "note_snapshot__content_sha256",
        "gate_snapshot__content_sha256",
        "event__accepted_at",
        "event__review_pair_id",
        Coalesce("event__review_pair__note_snapshot_id", "note_snapshot_id"),
    )
    for note_path, gate_path, *values in columns.iterator():
        found.setdefault(note_path, {})[gate_path] = _Baseline(*values)
    return found


def _changed_files(target: TargetJson) -> Iterator[tuple[str, str]]:
    """Yield path and accepted digest of the files of a target that changed since."""
    for path, accepted, now in (
        (target.note_path, target.accepted_note_sha256, target.note_sha256),
        (target.gate_path, target.accepted_gate_sha256, target.gate_sha256),
    ):
        if accepted is not None and accepted != now:
            yield path, accepted


def _wanted(item: NoteStaleness, request: SelectionRequest) -> Iterator[StaleGate]:
    if request.mode == REQUESTED:
        every = [*item.stale, *(StaleGate(gate, ()) for gate in item.fresh)]
        yield from sorted(every, key=lambda stale: stale.gate.path)
        return
    for stale in item.stale:
        if not request.reasons or stale.reasons[0] in request.reasons:
            yield stale
