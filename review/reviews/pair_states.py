"""The state of every pair of a note and a gate, in every model partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from review.domain.applicability import NoteKind
from review.domain.problems import Problem
from review.domain.rule_names import RULE_NAMES
from review.knowledge_base import Corpus, Gate, NoteFacts
from review.models import CurrentAcceptance, FileSnapshot, KbPath, ModelPartition, batched
from review.selection.freshness import (
    Accepted,
    Scope,
    parse_keys,
    partition_staleness,
    read_accepted,
)
from review.settings.config import RULES_PARTITION, Config
from review.vocabulary import Decision, Staleness

FRESH, WARN, FAIL = "fresh", Decision.WARN.value, Decision.FAIL.value
MISSING = Staleness.MISSING_REVIEW.value
# The best first. A fresh pair has the state of its decision; `fresh` is one that passed.
STATES = (FRESH, WARN, FAIL, Staleness.NOTE_CHANGED.value, Staleness.GATE_CHANGED.value, MISSING)
DECIDED = frozenset((FRESH, WARN, FAIL))
FAILING = frozenset((WARN, FAIL))
STALE = frozenset(Staleness.values)
# Stands for a partition: the best state that any partition gives a pair.
BEST = ""
_RANKS = {state: rank for rank, state in enumerate((*STATES, ""))}

# The states of a note, one for each gate; "" where nothing is owed.
Row: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Obligations:
    """Which gates each model partition is meant to judge.

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
        """Take partitions that were asked for and have judged nothing as if they were named."""
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
    gone: Mapping[str, Mapping[str, int]]
    problems: tuple[Problem, ...] = ()

    @property
    def partitions(self) -> tuple[str, ...]:
        """Partitions that have accepted something, sorted."""
        return tuple(name for name in self.rows if name != BEST)

    def row(self, partition: str, note: NoteFacts) -> Row:
        """The states of a note; a partition without any acceptance lacks all that it could judge."""
        rows = self.rows.get(partition)
        return rows[note.path] if rows is not None else self._unreviewed(partition, note)

    def _unreviewed(self, partition: str, note: NoteFacts) -> Row:
        return tuple(
            state if is_judged_by(gate, partition) else ""
            for gate, state in zip(self.gates, self.applicable[note.kind], strict=True)
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
    """Look at every note, gate and partition; the cost grows with the knowledge base."""
    listed, catalog = corpus.notes(), corpus.gates
    scope = Scope(notes=listed.notes, gates=catalog.gates)
    obligations = read_obligations(config)
    everything = CurrentAcceptance.objects.all()
    accepted = {name: read_accepted(everything, name) for name in _partition_names()}
    failing = _failing(scope)
    shared: dict[Row, Row] = {}
    rows = {
        name: dict(_rows(scope, name, accepted[name], failing.get(name, {}), obligations, shared))
        for name in accepted
    }
    applicable = {
        note.kind: _row(scope, {gate.path: MISSING for gate in scope.gates_of(note)})
        for note in scope.notes
    }
    best, disputed = _compare(scope, list(rows.values()), applicable)
    return PairStates(
        notes=tuple(scope.notes),
        gates=tuple(scope.gates),
        rows={**rows, BEST: best},
        applicable=applicable,
        disputed=disputed,
        decisions={
            name: _decisions(scope, accepted[name], failing.get(name, {})) for name in accepted
        },
        gone=_gone(scope, accepted.values()),
        problems=(*listed.problems, *catalog.problems),
    )


def _partition_names() -> list[str]:
    return [
        name
        for key, name in ModelPartition.objects.order_by("name").values_list("pk", "name")
        if CurrentAcceptance.objects.filter(model_partition_id=key).exists()
    ]


def _failing(scope: Scope) -> dict[str, dict[str, dict[str, str]]]:
    """Accepted warns and fails: by partition, note path and gate path."""
    paths = {key: path for path, key in scope.path_ids.items()}
    names = dict(ModelPartition.objects.values_list("pk", "name"))
    rows = CurrentAcceptance.objects.queued()
    columns = rows.values_list("model_partition_id", "note_id", "gate_id", "decision")
    found: dict[str, dict[str, dict[str, str]]] = {}
    for partition_id, note_id, gate_id, decision in columns.iterator(chunk_size=5000):
        if note_id in paths and gate_id in paths:
            notes = found.setdefault(names[partition_id], {})
            notes.setdefault(paths[note_id], {})[paths[gate_id]] = decision
    return found


def _rows(
    scope: Scope,
    partition: str,
    accepted: Accepted,
    failing: Mapping[str, Mapping[str, str]],
    obligations: Obligations,
    shared: dict[Row, Row],
) -> Iterator[tuple[str, Row]]:
    owed = {gate.path for gate in scope.gates if obligations.owes(partition, gate)}
    for item in partition_staleness(scope, model_partition=partition, accepted=accepted):
        decided = failing.get(item.note.path, {})
        states = {gate.path: decided.get(gate.path, FRESH) for gate in item.fresh}
        for stale in item.stale:
            if stale.gate.path in owed:
                states[stale.gate.path] = stale.reasons[0].value
        row = _row(scope, states)
        # Most notes of a healthy base share a few rows: kept once, they take no memory.
        yield item.note.path, shared.setdefault(row, row)


def _row(scope: Scope, states: Mapping[str, str]) -> Row:
    return tuple(states.get(gate.path, "") for gate in scope.gates)


def _compare(
    scope: Scope, partitions: Sequence[Mapping[str, Row]], applicable: Mapping[NoteKind, Row]
) -> tuple[dict[str, Row], dict[str, frozenset[int]]]:
    """The best row of each note, and where its partitions disagree."""
    known: dict[tuple[Row, ...], tuple[Row, frozenset[int]]] = {}
    best: dict[str, Row] = {}
    disputed: dict[str, frozenset[int]] = {}
    for note in scope.notes:
        rows = (applicable[note.kind], *(partition[note.path] for partition in partitions))
        found = known.get(rows)
        if found is None:
            cells = list(zip(*rows, strict=True))
            places = (at for at, cell in enumerate(cells) if FRESH in cell and FAILING & {*cell})
            row = tuple(min(cell, key=_RANKS.__getitem__) for cell in cells)
            found = known[rows] = (row, frozenset(places))
        best[note.path], places_of_note = found
        if places_of_note:
            disputed[note.path] = places_of_note
    return best, disputed


def _decisions(
    scope: Scope, accepted: Accepted, failing: Mapping[str, Mapping[str, str]]
) -> dict[str, Counter[str]]:
    known = {scope.path_ids.get(note.path) for note in scope.notes}
    paths = {note.path for note in scope.notes}
    found: dict[str, Counter[str]] = {gate.path: Counter() for gate in scope.gates}
    rows = (row for note_id, row in accepted.items() if note_id in known)
    for key, number in _count_keys(rows).items():
        if key in scope.gate_texts:
            # What does not warn or fail passed.
            found[scope.gate_texts[key]][Decision.PASS] += number
    for note_path in failing.keys() & paths:
        for gate_path, decision in failing[note_path].items():
            if gate_path in found:
                found[gate_path].update({decision: 1, Decision.PASS.value: -1})
    return found


def _count_keys(rows: Iterable[Iterable[tuple[int, str]]]) -> Counter[int]:
    """How often each gate snapshot was accepted; most notes have the same joined keys."""
    found: Counter[int] = Counter()
    for joined, number in Counter(joined for row in rows for _snapshot, joined in row).items():
        found.update(dict.fromkeys(parse_keys(joined), number))
    return found


def _gone(scope: Scope, accepted: Iterable[Accepted]) -> dict[str, dict[str, int]]:
    known = {scope.path_ids.get(note.path) for note in scope.notes}
    notes: Counter[int] = Counter()
    gates: Counter[str] = Counter()
    for rows in accepted:
        for note_id in rows.keys() - known:
            notes[note_id] += _count_keys([rows[note_id]]).total()
        counts = _count_keys(rows.values())
        for chunk in batched(sorted(counts.keys() - scope.gate_texts.keys()), 500):
            owners = FileSnapshot.objects.filter(pk__in=chunk).values_list("pk", "path__path")
            for key, path in owners:
                gates[path] += counts[key]
    paths = {
        key: path
        for chunk in batched(sorted(notes), 500)
        for key, path in KbPath.objects.filter(pk__in=chunk).values_list("pk", "path")
    }
    return {"note": {paths[key]: number for key, number in notes.items()}, "gate": dict(gates)}
