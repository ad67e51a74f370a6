"""The state of every pair of a note and a gate, in every model partition; the change of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from django.db.models import Count

from review.domain.diffs.words import WordDiff, word_diff
from review.domain.paths import normalise_path
from review.errors import InputRejected
from review.findings.states import QueueFindingJson, read_findings_now
from review.knowledge_base import (
    RULE_NAMES,
    Corpus,
    Gate,
    NoteFacts,
    NoteKind,
    NoteText,
    Problem,
    UnreadableFile,
)
from review.models import CurrentAcceptance, FileSnapshot, KbPath, NamedKeys, ReviewPair
from review.protocol.quote_location import follow_quote
from review.selection.documents import SelectionJson
from review.selection.freshness import Scope, partition_staleness
from review.selection.select import SelectionRequest, select_targets
from review.vocabulary import RULES_PARTITION, Decision, DispositionState, Staleness

FRESH, WARN, FAIL = "fresh", Decision.WARN.value, Decision.FAIL.value
MISSING = Staleness.MISSING_REVIEW.value
# The best first. A fresh pair has the state of its decision; `fresh` is one that passed.
STATES = (FRESH, WARN, FAIL, Staleness.NOTE_CHANGED.value, Staleness.GATE_CHANGED.value, MISSING)
DECIDED = frozenset((FRESH, WARN, FAIL))
FAILING = frozenset((WARN, FAIL))
STALE = frozenset(Staleness.values)
# In place of a partition: the best state that any partition gives a pair.
BEST = ""
_RANKS = {state: rank for rank, state in enumerate((*STATES, ""))}

_KEY = ("model_partition__name", "note__path", "gate__path")

# The states of a note, one for each gate; "" where no review is required.
Row: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Obligations:
    """The gates that each model partition is meant to judge.

    `rules` owes rule gates; others are owed by partitions of `review.toml` or that judged by them.
    """

    named: frozenset[str]
    judged: Mapping[str, Collection[str]]

    def owes(self, partition: str, gate: Gate) -> bool:
        is_meant = partition in self.named or gate.path in self.judged.get(partition, ())
        return is_judged_by(gate, partition) and (is_meant or partition == RULES_PARTITION)

    def debtors(self, gates: Collection[Gate]) -> set[str]:
        """The partitions that are meant to judge any of the gates."""
        names = {*self.named, *self.judged, RULES_PARTITION}
        return {name for name in names if any(self.owes(name, gate) for gate in gates)}

    def including(self, partitions: Iterable[str]) -> Obligations:
        """Treat requested partitions that have judged nothing as if they were named."""
        new = {name for name in partitions if name not in self.judged}
        return replace(self, named=self.named | new)


@dataclass(frozen=True)
class PairStates:
    """All pairs of a knowledge base; `notes` and `gates` are sorted by path.

    :param rows: by partition and note path; `BEST` is among the partitions.
    :param disputed: by note path, places of gates that one partition passes and another does not.
    :param decisions: current acceptances of notes that exist, on any text, counted by partition,
        gate path and decision.
    :param gone: paths with current acceptances that are no note or gate any more, by kind.
    """

    notes: tuple[NoteFacts, ...]
    gates: tuple[Gate, ...]
    rows: Mapping[str, Mapping[str, Row]]
    applicable: Mapping[NoteKind, Row]
    disputed: Mapping[str, frozenset[int]]
    decisions: Mapping[tuple[str, ...], int]
    gone: Mapping[str, Sequence[str]]
    problems: tuple[Problem, ...] = ()

    @property
    def partitions(self) -> tuple[str, ...]:
        return tuple(name for name in self.rows if name != BEST)

    def row(self, partition: str, note: NoteFacts) -> Row:
        """The states of a note; a partition without any acceptance lacks all that it could judge."""
        if partition in self.rows:
            return self.rows[partition][note.path]
        return tuple(
            state if is_judged_by(gate, partition) else ""
            for gate, state in zip(self.gates, self.applicable[note.kind], strict=True)
        )

    @property
    def model_gates(self) -> list[Gate]:
        """The gates that models judge and that apply to any note."""
        columns = zip(self.gates, *self.applicable.values(), strict=True)
        return [gate for gate, *states in columns if not gate.rule and any(states)]

    def count(self, partition: str, notes: Iterable[NoteFacts]) -> list[Counter[str]]:
        return count_states((self.row(partition, note) for note in notes), width=len(self.gates))


def is_judged_by(gate: Gate, partition: str) -> bool:
    """Rule gates are judged by the partition `rules`, those without a rule by models."""
    return gate.rule in RULE_NAMES if partition == RULES_PARTITION else not gate.rule


def count_states(rows: Iterable[Row], *, width: int) -> list[Counter[str]]:
    columns = list(zip(*rows, strict=True)) or [()] * width
    return [Counter(filter(None, column)) for column in columns]


def read_obligations(corpus: Corpus) -> Obligations:
    rows = CurrentAcceptance.objects.values_list("model_partition__name", "gate__path")
    judged: dict[str, set[str]] = {}
    for partition, gate_path in rows.distinct().order_by():
        judged.setdefault(partition, set()).add(gate_path)
    return Obligations(named=frozenset(corpus.config.partitions), judged=judged)


def read_pair_states(corpus: Corpus) -> PairStates:
    """Read the state of every pair; the cost grows with the knowledge base."""
    listed, catalog = corpus.notes(), corpus.gates
    scope = Scope(corpus, notes=listed.notes, gates=catalog.gates)
    obligations = read_obligations(corpus)
    current = CurrentAcceptance.objects.order_by()
    rows_queued = current.queued().values_list(*_KEY, "decision")
    queued = {tuple(key): decision for *key, decision in rows_queued}
    known = {scope.path_ids.get(note.path) for note in scope.notes}
    gone = set(current.values_list("note_id", flat=True).distinct()) - known
    kept = current.exclude(note_id__in=NamedKeys({0, *gone}))
    decisions = kept.values_list(_KEY[0], _KEY[2], "decision").annotate(Count("pk"))
    taken_by = {note.kind: scope.gates_of_kind(note.kind) for note in scope.notes}
    applicable = {
        kind: tuple(MISSING if gate in taken else "" for gate in scope.gates)
        for kind, taken in taken_by.items()
    }
    rows: dict[str, dict[str, Row]] = {}
    for name in sorted({*obligations.judged, *obligations.debtors(scope.gates)}):
        owed = [obligations.owes(name, gate) for gate in scope.gates]
        rows[name] = dict(_rows(scope, name, owed, queued))
    compare = cache(_compare)
    compared = {
        note.path: compare((applicable[note.kind], *(row[note.path] for row in rows.values())))
        for note in scope.notes
    }
    return PairStates(
        notes=tuple(scope.notes),
        gates=tuple(scope.gates),
        rows={**rows, BEST: {path: best for path, (best, _disputed) in compared.items()}},
        applicable=applicable,
        disputed={path: disputed for path, (_best, disputed) in compared.items() if disputed},
        decisions={tuple(key): number for *key, number in decisions},
        gone={
            "note": [path.path for path in KbPath.objects.in_bulk(gone).values()],
            "gate": sorted(
                set().union(*obligations.judged.values()) - {it.path for it in scope.gates}
            ),
        },
        problems=(*listed.problems, *catalog.problems),
    )


def _rows(
    scope: Scope, partition: str, owed: Sequence[bool], queued: Mapping[tuple[str, ...], str]
) -> Iterator[tuple[str, Row]]:
    """Yield each note's states; a decided pair shows where it applies, a stale one where it is owed."""
    for item in partition_staleness(scope, model_partition=partition):
        path, states = item.note.path, {it.gate.path: it.reasons[0].value for it in item.stale}
        for gate in item.fresh:
            states[gate.path] = queued.get((partition, path, gate.path), FRESH)
        found = zip((states.get(gate.path, "") for gate in scope.gates), owed, strict=True)
        yield path, tuple(state if state in DECIDED or is_owed else "" for state, is_owed in found)


def _compare(rows: tuple[Row, ...]) -> tuple[Row, frozenset[int]]:
    cells = list(zip(*rows, strict=True))
    disputed = (at for at, cell in enumerate(cells) if FRESH in cell and FAILING & {*cell})
    return tuple(min(cell, key=_RANKS.__getitem__) for cell in cells), frozenset(disputed)


_LOADED = ("note", "gate", "note_snapshot", "gate_snapshot")


@dataclass(frozen=True)
class FileChange:
    """A file then and now; `diff` is None when it is the same text, or gone (`now` is None)."""

    before: FileSnapshot
    now: str | None
    now_sha256: str | None
    diff: WordDiff | None = None

    def with_diff(self, keep: set[int]) -> FileChange:
        if self.now is None or self.before.text == self.now:
            return self
        diff = word_diff(self.before.text, self.now, keep=keep)
        return FileChange(self.before, self.now, self.now_sha256, diff)


@dataclass(frozen=True)
class PairChange:
    """The change of a pair since its acceptance; open findings with the earlier line they quote."""

    accepted: CurrentAcceptance
    gate_id: str
    note: FileChange
    gate: FileChange
    findings: list[tuple[QueueFindingJson, int | None]]

    @property
    def is_gone(self) -> bool:
        return self.note.now is None or self.gate.now is None

    @property
    def is_fresh(self) -> bool:
        return self.note.diff is None and self.gate.diff is None and not self.is_gone


def read_pair_change(
    corpus: Corpus,
    note_path: str,
    gate_id: str,
    model_partition: str,
    *,
    since_review: bool,
    all_lines: bool,
) -> PairChange:
    """Compare with the accepted texts, or those of the review; `all_lines`: show equal ones too."""
    note_path, gate_path = normalise_path(note_path), corpus.config.gate_path(gate_id)
    rows = CurrentAcceptance.objects.of_partition(model_partition)
    of_review = (f"event__review_pair__{name}" for name in ("job", *_LOADED))
    rows = rows.select_related(*_LOADED, *of_review)
    row = rows.filter(note__path=note_path, gate__path=gate_path).first()
    if row is None:
        raise InputRejected(
            f"nothing was accepted for {note_path} and {gate_id} in {model_partition}",
            "nothing-accepted",
            hint="have the pair reviewed first",
        )
    pair = row.event.review_pair
    texts = pair if pair and since_review else row
    note = _change(texts.note_snapshot, corpus.read_note, note_path)
    findings = _open_findings(corpus, row, pair, note) if pair else []
    keep = {line for _finding, line in findings if line is not None}
    if all_lines:
        keep = set(range(1, note.before.text.count("\n") + 2))
    return PairChange(
        accepted=row,
        gate_id=gate_id,
        note=note.with_diff(keep),
        gate=_change(texts.gate_snapshot, corpus.gate, gate_path).with_diff(set()),
        findings=findings,
    )


def change_document(
    corpus: Corpus, note_path: str, gate_id: str, model_partition: str
) -> SelectionJson:
    """Return the selector's answer for the pair; a fresh one has no target."""
    selection = select_targets(
        corpus,
        SelectionRequest(
            gates=(gate_id,),
            notes=(note_path,),
            model_partition=model_partition,
            with_diffs=True,
        ),
    )
    document = selection.document()
    document.targets = list(selection.targets())
    document.diffs = list(selection.diffs())
    return document


def _change(before: FileSnapshot, read: Callable[[str], NoteText | Gate], path: str) -> FileChange:
    try:
        file = read(path)
    except UnreadableFile:
        return FileChange(before, None, None)
    return FileChange(before, file.text, file.sha256)


def _open_findings(
    corpus: Corpus, row: CurrentAcceptance, pair: ReviewPair, note: FileChange
) -> list[tuple[QueueFindingJson, int | None]]:
    reviewed = (pair, row.note.path, row.gate.path)
    digests = {row.note.path: note.now_sha256} if note.now_sha256 else {}
    (found,) = read_findings_now(corpus, [reviewed], digests=digests)
    judged = pair.note_snapshot.text
    return [
        (finding, follow_quote(judged, note.before.text, quote=finding.quote, line=finding.line))
        for finding in found
        if finding.status == DispositionState.OPEN
    ]
