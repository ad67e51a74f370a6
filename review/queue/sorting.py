"""Ranks of findings, where the queue is not sorted by place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Case, Count, Value, When
from django.db.models.expressions import Combinable

from review.calibration.labels import Cell, Labels, Standings
from review.domain.statistics import NOISY
from review.models import FindingState, NamedKeys
from review.vocabulary import DispositionState, Severity

# A rank is one number: noisy gates last, then by severity, by gate and partition, by age.
_SINKS, _BY_SEVERITY, _BY_CELL = 1_000_000, 100_000, 10
_SEVERITIES = (Severity.FAIL, Severity.WARN, Severity.INFO)


class QueueSort(StrEnum):
    """By place; by severity, precision and age; or by the information that a label would add."""

    PLACE = "place"
    PRIORITY = "priority"
    LABELS = "labels"


@dataclass(frozen=True)
class Ranking:
    """The rank of a row, and why the rows of a gate and partition come last."""

    rank: Combinable
    sinks_because: dict[tuple[int, int], str]


def make_ranking(
    sort: QueueSort, gate_texts: Collection[int], steps_of_age: Collection[str], gates_folder: str
) -> Ranking:
    """Rank the rows of these texts of gates.

    :param steps_of_age: of the column `age`, the youngest first.
    """
    if sort is QueueSort.PLACE:
        return Ranking(Value(0), {})
    rows = FindingState.objects.filter(gate_snapshot_id__in=NamedKeys(gate_texts))
    open_rows = rows.filter(state=DispositionState.OPEN)
    counted = open_rows.values_list("gate_id", "gate_snapshot_id", "model_partition_id")
    counts = {Cell(*cell): n for *cell, n in counted.annotate(Count("pk")).order_by()}
    found = Standings(Labels(), counts, gates_folder=gates_folder)
    standings = {cell: found.of(cell) for cell in counts}
    if sort is QueueSort.LABELS:
        gains = {cell: n * standings[cell].belief.learned_by_one for cell, n in counts.items()}
        disputed = Case(When(passed_in="", then=Value(1)), default=Value(0))
        cells = sorted(gains, key=lambda cell: (-gains[cell], cell))
        return Ranking(_position(cells) * Value(_BY_CELL) + disputed, {})
    noisy = {cell for cell, standing in standings.items() if standing.people.word == NOISY}
    cells = sorted(counts, key=lambda cell: (-standings[cell].belief.mean, cell))
    sinks = Case(*(_when(cell, 1) for cell in noisy), default=Value(0))
    steps = {word: position for position, word in enumerate(reversed([*steps_of_age]))}
    rank = (
        sinks * Value(_SINKS)
        + _steps("severity", {word: n for n, word in enumerate(_SEVERITIES)}) * Value(_BY_SEVERITY)
        + _position(cells) * Value(_BY_CELL)
        + (_steps("age", steps) if steps else Value(0))
    )
    why = "noisy gate: {0.k} of {0.n} findings were right, at most {0.high:.0%}".format
    return Ranking(rank, {(c.gate, c.partition): why(standings[c].people) for c in noisy})


def _position(cells: list[Cell]) -> Case:
    whens = [_when(cell, position) for position, cell in enumerate(cells)]
    return Case(*whens, default=Value(len(cells)))


def _when(cell: Cell, value: int) -> When:
    return When(gate_id=cell.gate, model_partition_id=cell.partition, then=Value(value))


def _steps(column: str, steps: dict[str, int]) -> Case:
    whens = [When(**{column: word}, then=Value(position)) for word, position in steps.items()]
    return Case(*whens, default=Value(len(steps)))
