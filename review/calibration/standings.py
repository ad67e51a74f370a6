"""The precision of each gate text and model partition, as measured and as estimated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from review.calibration.labels import Cell, Labels, is_person
from review.domain.paths import lens_of
from review.domain.statistics import Beta, Proportion, pooled_mean, shrunk
from review.models import KbPath, NamedKeys
from review.selection.path_filters import gate_label

LENS, EARLIER_TEXTS = "lens", "earlier-texts"
_LENS_WEIGHT = 4.0
_MAX_HISTORY_WEIGHT = 10
_NONE = Proportion(0, 0)


@dataclass(frozen=True)
class Standing:
    """The precision of a cell by people's labels.

    :param weight: labels that the borrowed part of `belief` is worth.
    """

    people: Proportion
    belief: Beta
    borrowed_from: str
    weight: float


class Standings:
    """Precision by people's labels, for the requested cells."""

    def __init__(self, labels: Labels, cells: Iterable[Cell], *, gates_folder: str) -> None:
        """Take the cells that will be requested; those with labels are known in any case."""
        self.people = labels.precision(is_person)
        gates = KbPath.objects.filter(
            pk__in=NamedKeys({cell.gate for cell in (*cells, *self.people)})
        )
        self._ids = {
            key: gate_label(path, gates_folder) for key, path in gates.values_list("pk", "path")
        }

    def of(self, cell: Cell) -> Standing:
        """Combine the labels of a cell with those of earlier texts, else with those of its lens."""
        own = self.people.get(cell, _NONE)
        mean = pooled_mean(self._by_lens.get((self.lens(cell.gate), cell.partition), _NONE))
        earlier = self._by_gate.get((cell.gate, cell.partition), _NONE)
        earlier = Proportion(earlier.k - own.k, earlier.n - own.n)
        if not earlier.n:
            belief = shrunk(own, mean=mean, weight=_LENS_WEIGHT)
            return Standing(own, belief, LENS, _LENS_WEIGHT)
        mean = shrunk(earlier, mean=mean, weight=_LENS_WEIGHT).mean
        weight = float(min(_MAX_HISTORY_WEIGHT, earlier.n))
        return Standing(own, shrunk(own, mean=mean, weight=weight), EARLIER_TEXTS, weight)

    def gate_id(self, gate: int) -> str:
        return self._ids[gate]

    def lens(self, gate: int) -> str:
        return lens_of(self._ids[gate])

    @cached_property
    def _by_lens(self) -> dict[tuple[str, int], Proportion]:
        found: defaultdict[tuple[str, int], Proportion] = defaultdict(lambda: _NONE)
        for cell, own in self.people.items():
            found[self.lens(cell.gate), cell.partition] += own
        return found

    @cached_property
    def _by_gate(self) -> dict[tuple[int, int], Proportion]:
        found: defaultdict[tuple[int, int], Proportion] = defaultdict(lambda: _NONE)
        for cell, own in self.people.items():
            found[cell.gate, cell.partition] += own
        return found
