"""The state of every pair of a note and a gate, in every model partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeAlias

from review.domain.applicability import NoteKind
from review.domain.problems import Problem
from review.domain.rule_names import RULE_NAMES
from review.knowledge_base import Corpus, Gate, NoteFacts
from review.models import CurrentAcceptance, KbPath, ModelPartition
from review.selection.freshness import Scope
from review.settings.config import RULES_PARTITION, Config
from review.vocabulary import Decision, Staleness

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

# The states of a note, one for each gate; "" where no review is required.
Row: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Obligations:
    """The gates that each model partition is meant to judge.

    The partition `rules` owes the rule gates. Any other gate is owed by each partition that
    `review.toml` names, and by each that has judged a note by this gate.
    """

    named: frozenset[str]
    judged: Mapping[str, frozenset[str]]

    def owes(self, partition: str, gate: Gate) -> bool:
        is_meant = partition in self.named or gate.path in self.judged.get(partition, ())
        return is_judged_by(gate, partition) and (is_meant or partition == RULES_PARTITION)

    def is_owed(self, gate: Gate) -> bool:
        return any(self.owes(name, gate) for name in (*self.named, *self.judged, RULES_PARTITION))

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
        """Partitions that have accepted something, sorted."""
        return tuple(name for name in self.rows if name != BEST)

    def row(self, partition: str, note: NoteFacts) -> Row:
        """The states of a note; a partition without any acceptance lacks all that it could judge."""
        if partition in self.rows:
            return self.rows[partition][note.path]
        return tuple(
            state if is_judged_by(gate, partition) else ""
            for gate, state in zip(self.gates, self.applicable[note.kind], strict=True)
        )

    def count_model_pairs(self) -> int:
        """Count the pairs that only models can judge."""
        kinds = Counter(note.kind for note in self.notes)
        by_models = [not gate.rule for gate in self.gates]
        return sum(
            number
            for kind, number in kinds.items()
            for state, of_model in zip(self.applicable[kind], by_models, strict=True)
            if state and of_model
        )

    def count(self, partition: str, notes: Iterable[NoteFacts]) -> list[Counter[str]]:
        """Count the states of these notes, gate by gate."""
        return count_states((self.row(partition, note) for note in notes), width=len(self.gates))


def is_judged_by(gate: Gate, partition: str) -> bool:
    """Rule gates are judged by the partition `rules`, all others by models."""
    return (gate.rule in RULE_NAMES) == (partition == RULES_PARTITION)


def count_states(rows: Iterable[Row], *, width: int) -> list[Counter[str]]:
    columns = list(zip(*rows, strict=True)) or [()] * width
    counts = [Counter(column) for column in columns]
    for count in counts:
        count.pop("", None)
    return counts


def read_obligations(config: Config) -> Obligations:
    rows = CurrentAcceptance.objects.values_list("model_partition__name", "gate__path")
    judged: dict[str, set[str]] = {}
    for partition, gate_path in rows.distinct().order_by():
        judged.setdefault(partition, set()).add(gate_path)
    return Obligations(
        named=frozenset(config.partitions),
        judged={name: frozenset(gates) for name, gates in judged.items()},
    )


def read_pair_states(corpus: Corpus, *, config: Config) -> PairStates:
    """Read the state of every pair; the cost grows with the knowledge base."""
    listed, catalog = corpus.notes(), corpus.gates
    scope = Scope(notes=listed.notes, gates=catalog.gates)
    obligations = read_obligations(config)
    found = _StoredStates(scope)
    applicable = {
        note.kind: tuple(MISSING if gate in scope.gates_of(note) else "" for gate in scope.gates)
        for note in scope.notes
    }
    rows = {
        name: dict(
            found.rows(name, applicable, [obligations.owes(name, gate) for gate in scope.gates])
        )
        for name in sorted(found.states)
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
        decisions=found.decisions,
        gone={kind: found.gone_paths(kind) for kind in ("note", "gate")},
        problems=(*listed.problems, *catalog.problems),
    )


class _StoredStates:
    """The states of all pairs with a current acceptance, from one pass over them."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        notes = {scope.path_ids.get(note.path) for note in scope.notes}
        gates = {scope.path_ids.get(gate.path): at for at, gate in enumerate(scope.gates)}
        # By partition, key of the note and place of the gate.
        self.states: dict[str, dict[int, dict[int, str]]] = {}
        self.decisions: dict[str, dict[str, Counter[str]]] = {}
        self._gone: dict[str, set[int]] = {"note": set(), "gate": set()}
        names = dict(ModelPartition.objects.values_list("pk", "name"))
        rows = CurrentAcceptance.objects.values_list(
            "model_partition_id", "note_id", "gate_id", "note_snapshot_id", "gate_snapshot_id",
            "decision",
        )  # fmt: skip
        for partition, note, gate, note_text, gate_text, decision in rows.iterator(chunk_size=5000):
            states = self.states.setdefault(names[partition], {})
            at = gates.get(gate)
            if note not in notes:
                self._gone["note"].add(note)
            if at is None:
                self._gone["gate"].add(gate)
            elif note in notes:
                path = scope.gates[at].path
                decisions = self.decisions.setdefault(names[partition], {})
                decisions.setdefault(path, Counter())[decision] += 1
                if gate_text != scope.snapshots.get(gate):
                    state = Staleness.GATE_CHANGED.value
                elif note_text != scope.snapshots.get(note):
                    state = Staleness.NOTE_CHANGED.value
                else:
                    state = FRESH if decision == Decision.PASS else decision
                states.setdefault(note, {})[at] = state

    def rows(
        self, partition: str, applicable: Mapping[NoteKind, Row], owed: Sequence[bool]
    ) -> Iterator[tuple[str, Row]]:
        for note in self._scope.notes:
            known = self.states[partition].get(self._scope.path_ids.get(note.path, 0), {})
            cells = zip(applicable[note.kind], owed, strict=True)
            yield (
                note.path,
                tuple(
                    state
                    if applies and ((state := known.get(at, MISSING)) in DECIDED or is_owed)
                    else ""
                    for at, (applies, is_owed) in enumerate(cells)
                ),
            )

    def gone_paths(self, kind: str) -> list[str]:
        paths = KbPath.objects.in_bulk(list(self._gone[kind]))
        return [row.path for row in paths.values()]


def _compare(rows: tuple[Row, ...]) -> tuple[Row, frozenset[int]]:
    """Return the best row of a note, and where its partitions disagree."""
    cells = list(zip(*rows, strict=True))
    disputed = (at for at, cell in enumerate(cells) if FRESH in cell and FAILING & {*cell})
    return tuple(min(cell, key=_RANKS.__getitem__) for cell in cells), frozenset(disputed)
