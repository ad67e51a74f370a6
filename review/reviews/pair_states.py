"""The state of every pair of a note and a gate, in every model partition."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeAlias

from review.knowledge_base import RULE_NAMES, Corpus, Gate, NoteFacts, NoteKind, Problem
from review.models import CurrentAcceptance, KbPath, ModelPartition
from review.selection.freshness import Scope
from review.settings import Config
from review.vocabulary import RULES_PARTITION, Decision, Staleness

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

_KEYS = ("model_partition_id", "note_id", "gate_id", "note_snapshot_id", "gate_snapshot_id")

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
    :param decisions: by partition and gate path: current acceptances of notes that exist, on any text.
    :param gone: paths with current acceptances that are no note or gate any more, by kind.
    """

    notes: tuple[NoteFacts, ...]
    gates: tuple[Gate, ...]
    rows: Mapping[str, Mapping[str, Row]]
    applicable: Mapping[NoteKind, Row]
    disputed: Mapping[str, frozenset[int]]
    decisions: Mapping[str, Mapping[str, Counter[str]]]
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


def read_obligations(config: Config) -> Obligations:
    rows = CurrentAcceptance.objects.values_list("model_partition__name", "gate__path")
    judged: dict[str, set[str]] = {}
    for partition, gate_path in rows.distinct().order_by():
        judged.setdefault(partition, set()).add(gate_path)
    return Obligations(named=frozenset(config.partitions), judged=judged)


def read_pair_states(corpus: Corpus) -> PairStates:
    """Read the state of every pair; the cost grows with the knowledge base."""
    listed, catalog = corpus.notes(), corpus.gates
    scope = Scope(corpus, notes=listed.notes, gates=catalog.gates)
    obligations = read_obligations(corpus.config)
    stored, decisions, gone = _read_stored(scope)
    taken_by = {note.kind: scope.gates_of(note) for note in scope.notes}
    applicable = {
        kind: tuple(MISSING if gate in taken else "" for gate in scope.gates)
        for kind, taken in taken_by.items()
    }
    rows: dict[str, dict[str, Row]] = {}
    for name in sorted({*stored, *obligations.debtors(scope.gates)}):
        owed, known = [obligations.owes(name, gate) for gate in scope.gates], stored.get(name, {})
        rows[name] = {
            note.path: _row(applicable[note.kind], owed, known.get(note.path, {}))
            for note in scope.notes
        }
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
        decisions=decisions,
        gone={
            kind: [path.path for path in KbPath.objects.in_bulk(gone[kind]).values()]
            for kind in gone
        },
        problems=(*listed.problems, *catalog.problems),
    )


def _read_stored(
    scope: Scope,
) -> tuple[Mapping[str, dict[str, dict[int, str]]], dict[str, dict[str, Counter[str]]], Any]:
    """Return states by partition, note path and place of the gate, decisions, and paths gone."""
    notes = {scope.path_ids.get(note.path): note.path for note in scope.notes}
    gates = {scope.path_ids.get(gate.path): at for at, gate in enumerate(scope.gates)}
    names = dict(ModelPartition.objects.values_list("pk", "name"))
    states: dict[str, dict[str, dict[int, str]]] = {}
    decisions: dict[str, dict[str, Counter[str]]] = defaultdict(partial(defaultdict, Counter))
    gone: dict[str, set[int]] = {"note": set(), "gate": set()}
    rows = CurrentAcceptance.objects.values_list(*_KEYS, "decision")
    for partition, note, gate, note_text, gate_text, decision in rows.iterator(chunk_size=5000):
        of_partition = states.setdefault(names[partition], {})
        if note not in notes:
            gone["note"].add(note)
        if gate not in gates:
            gone["gate"].add(gate)
        elif note in notes:
            at = gates[gate]
            decisions[names[partition]][scope.gates[at].path][decision] += 1
            if gate_text != scope.snapshots.get(gate):
                state = Staleness.GATE_CHANGED.value
            elif note_text != scope.snapshots.get(note):
                state = Staleness.NOTE_CHANGED.value
            else:
                state = FRESH if decision == Decision.PASS else decision
            of_partition.setdefault(notes[note], {})[at] = state
    for note, gate in scope.outdated:
        states[RULES_PARTITION][notes[note]][gates[gate]] = MISSING
    return states, decisions, gone


def _row(applicable: Row, owed: Sequence[bool], known: Mapping[int, str]) -> Row:
    """The states of a note; a decided pair shows where it applies, a stale one where it is owed."""
    states = (known.get(at, MISSING) for at in range(len(owed)))
    return tuple(
        state if applies and (state in DECIDED or is_owed) else ""
        for state, applies, is_owed in zip(states, applicable, owed, strict=True)
    )


def _compare(rows: tuple[Row, ...]) -> tuple[Row, frozenset[int]]:
    cells = list(zip(*rows, strict=True))
    disputed = (at for at, cell in enumerate(cells) if FRESH in cell and FAILING & {*cell})
    return tuple(min(cell, key=_RANKS.__getitem__) for cell in cells), frozenset(disputed)
