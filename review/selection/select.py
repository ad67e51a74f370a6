"""The selector: which pairs are stale for a model partition, and why."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from review.domain.problems import Problem
from review.errors import UsageRefused
from review.knowledge_base import Corpus
from review.knowledge_base.gate_catalog import AmbiguousGate, Gate, UnknownGate
from review.knowledge_base.named_paths import NoSuchNote
from review.knowledge_base.notes import NoteFacts, NoteList
from review.knowledge_base.walker import MARKDOWN
from review.models import batched
from review.selection.details import DetailReader, DiffLedger
from review.selection.documents import DiffJson, TargetJson
from review.selection.freshness import (
    NoteStaleness,
    Scope,
    StaleGate,
    in_flight,
    partition_staleness,
    uncovered,
)
from review.selection.rename_documents import RenameJson
from review.selection.renames import find_renames
from review.vocabulary import REQUESTED, ProblemCode, Staleness

STALE = "stale"
_CHUNK_NOTES = 200


@dataclass(frozen=True)
class SelectionRequest:
    """What to select.

    :param gates: gate ids, gate paths and bundle names.
    :param notes: files and folders; none is every note of the note roots.
    :param model_partition: None asks for pairs that no partition has reviewed.
    :param rules_only: only gates that name a rule; `skip_rules`: only the others. One that names
        a rule there is not is in neither: no rule judges it, and nobody asked a model to.
    :param reasons: keep targets whose first reason is one of these; none keeps all.
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


@dataclass
class Selection:
    """An answer that is produced as it is read: targets first, then diffs, then counts.

    `counts` is complete from the start; `diffs` gives what the targets read so far have named.

    :param left_out: what the filters kept from being a target: notes (`not-named`, `not-current`, of
        which `without-status` have none), gates (`has-rule`, `has-no-rule`) and pairs (`other-reason`,
        and, once the targets were read, `trivial` and `over-limit`).
    :param has_notes: whether there is a note where it looked, whatever its status.
    """

    request: SelectionRequest
    counts: Counter[str]
    left_out: dict[str, int]
    problems: tuple[Problem, ...]
    has_notes: bool
    _corpus: Corpus = field(repr=False)
    _new: list[NoteFacts] = field(repr=False)
    _listed: Sequence[NoteFacts] | None = field(repr=False)
    _stale: list[NoteStaleness] = field(repr=False)
    _reader: DetailReader = field(repr=False)
    _diffs: DiffLedger = field(repr=False)

    def targets(self) -> Iterator[TargetJson]:
        """The targets, sorted by note path and gate path; consumed once."""
        for given, target in enumerate(self._all_targets(), 1):
            yield target
            if given == self.request.limit:
                seen = given + self.left_out.get("trivial", 0)
                _add(self.left_out, "over-limit", self._count_wanted() - seen)
                return

    def diffs(self) -> Iterator[DiffJson]:
        """Diffs of the targets given so far, once per file and accepted text."""
        return self._diffs.read()

    def renames(self) -> list[RenameJson]:
        """Notes of the scope that probably had another path when they were reviewed."""
        return find_renames(self._corpus, self._new, listed=self._listed)

    def _count_wanted(self) -> int:
        fresh = self.counts["fresh"] if self.request.mode == REQUESTED else 0
        stale = sum(self.counts[reason.value] for reason in Staleness)
        return fresh + stale - self.left_out.get("other-reason", 0)

    def _all_targets(self) -> Iterator[TargetJson]:
        for chunk in batched(self._stale, _CHUNK_NOTES):
            details = self._reader.read(chunk)
            for item in chunk:
                for stale in _wanted(item, self.request):
                    target = details.target(item.note, stale, mode=self.request.mode)
                    if self.request.skip_trivial and is_trivial(target):
                        _add(self.left_out, "trivial", 1)
                        continue
                    if self.request.with_diffs:
                        self._diffs.note(target)
                    yield target


def select_targets(corpus: Corpus, request: SelectionRequest) -> Selection:
    """Compare the notes and gates on disk with what is accepted; nothing is written.

    :raises UsageRefused: no gates named, or `requested` without a partition.
    :raises UnknownGate, AmbiguousGate, NoSuchNote: a name does not resolve.
    """
    if not request.gates and not request.all_gates:
        raise UsageRefused(
            "name gates or bundles, or give --all-gates",
            hint=_misplaced(corpus, request) or "commonplace resolve_gates lists them",
        )
    if request.mode == REQUESTED and request.model_partition is None:
        raise UsageRefused("--mode requested needs --model")
    left_out: dict[str, int] = {}
    gates, gate_problems = _gates(corpus, request, left_out)
    listed = _listed_notes(corpus, request, left_out)
    notes = _current(listed.notes, left_out) if request.current_only else listed.notes
    scope = Scope(notes=notes, gates=gates)
    stale: list[NoteStaleness] = []
    counts = Counter({"fresh": 0, **{reason.value: 0 for reason in Staleness}, "in-flight": 0})
    partition = request.model_partition
    open_jobs = in_flight(partition, note_ids=scope.note_ids()) if partition else {}
    new: list[NoteFacts] = []
    for item in _staleness(scope, request):
        counts["fresh"] += len(item.fresh)
        if item.untouched or (not item.fresh and request.model_partition is None):
            new.append(item.note)
        for gate in item.stale:
            counts[gate.reasons[0].value] += 1
        if request.mode == REQUESTED or item.stale:
            stale.append(item)
    counts["in-flight"] = _count_in_flight(scope, open_jobs)
    if request.reasons and request.mode != REQUESTED:
        others = set(Staleness) - set(request.reasons)
        _add(left_out, "other-reason", sum(counts[reason.value] for reason in others))
    return Selection(
        request=request,
        counts=counts,
        left_out=left_out,
        problems=tuple(sorted({*listed.problems, *gate_problems}, key=_problem_order)),
        has_notes=bool(listed.notes),
        _corpus=corpus,
        _new=new,
        _listed=None if request.notes else listed.notes,
        _stale=stale,
        _reader=DetailReader(corpus, model_partition=request.model_partition, open_jobs=open_jobs),
        _diffs=DiffLedger(corpus),
    )


def _add(left_out: dict[str, int], why: str, number: int) -> None:
    if number:
        left_out[why] = left_out.get(why, 0) + number


def _listed_notes(corpus: Corpus, request: SelectionRequest, left_out: dict[str, int]) -> NoteList:
    try:
        listed = corpus.notes(request.notes)
    except NoSuchNote as error:
        raise NoSuchNote(error.message, hint=_misplaced(corpus, request) or error.hint) from error
    # Who names single notes wants those; the others are not counted, which would take a walk.
    if any(not name.endswith(MARKDOWN) for name in request.notes):
        _add(left_out, "not-named", corpus.count_other_notes(note.path for note in listed.notes))
    return listed


def _current(notes: Sequence[NoteFacts], left_out: dict[str, int]) -> Sequence[NoteFacts]:
    current = [note for note in notes if note.status == "current"]
    _add(left_out, "not-current", len(notes) - len(current))
    _add(left_out, "without-status", sum(not note.status for note in notes))
    return current


def _misplaced(corpus: Corpus, request: SelectionRequest) -> str:
    """Return a hint about gates that stand behind `--note`; `""` when there are none."""
    gates = []
    for name in request.notes:
        with suppress(UnknownGate, AmbiguousGate):
            if corpus.gates.resolve((name,)):
                gates.append(name)
    if not gates:
        return ""
    notes = [name for name in request.notes if name not in gates]
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
    if request.rules_only:
        misnamed = {problem.path for problem in problems if _names_no_rule(problem)}
        kept = tuple(gate for gate in gates if gate.rule and gate.path not in misnamed)
        _add(left_out, "has-no-rule", len(gates) - len(kept))
    elif request.skip_rules:
        kept = tuple(gate for gate in gates if not gate.rule)
        _add(left_out, "has-rule", len(gates) - len(kept))
    else:
        return gates, problems
    return kept, [
        replace(problem, skipped=True) if _names_no_rule(problem) else problem
        for problem in problems
    ]


def _names_no_rule(problem: Problem) -> bool:
    return problem.code is ProblemCode.UNKNOWN_RULE


def _staleness(scope: Scope, request: SelectionRequest) -> Iterator[NoteStaleness]:
    if request.model_partition is None:
        return uncovered(scope)
    return partition_staleness(scope, model_partition=request.model_partition)


def _count_in_flight(scope: Scope, open_jobs: Iterable[tuple[str, str]]) -> int:
    if not open_jobs:
        return 0
    notes = {note.path: note for note in scope.notes}
    return sum(
        1
        for note_path, gate_path in open_jobs
        if note_path in notes
        and any(gate.path == gate_path for gate in scope.gates_of(notes[note_path]))
    )


def _wanted(item: NoteStaleness, request: SelectionRequest) -> Iterator[StaleGate]:
    if request.mode == REQUESTED:
        every = [*item.stale, *(StaleGate(gate, ()) for gate in item.fresh)]
        return iter(sorted(every, key=lambda stale: stale.gate.path))
    if not request.reasons:
        return iter(item.stale)
    return (stale for stale in item.stale if stale.reasons[0] in request.reasons)


def is_trivial(target: TargetJson) -> bool:
    """Whether nothing but the note changed, and in nothing that the gate watches."""
    only_note_changed = target.reasons == [Staleness.NOTE_CHANGED.value]
    return only_note_changed and target.change is not None and target.change.trivial


def _problem_order(problem: Problem) -> tuple[str, str, str]:
    return (problem.path, problem.code.value, problem.message)
