"""The precision of each gate text and model partition, as measured and as estimated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from review.calibration.labels import NONE, Cell, Labels, is_person
from review.domain.paths import lens_of
from review.domain.statistics import Beta, Proportion, pooled_mean, shrunk
from review.models import KbPath, NamedKeys
from review.selection.path_filters import gate_label

LENS, EARLIER_TEXTS = "lens", "earlier-texts"
_LENS_WEIGHT = 4.0
_MAX_HISTORY_WEIGHT = 10


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
        keys = {cell.gate for cell in (*cells, *self.people)}
        paths = KbPath.objects.filter(pk__in=NamedKeys(keys)).values_list("pk", "path")
        self._ids = {key: gate_label(path, gates_folder) for key, path in paths}
        # By lens or gate, and partition.
        self._pooled: defaultdict[tuple[str | int, int], Proportion] = defaultdict(lambda: NONE)
        for cell, own in self.people.items():
            for group in (self.lens(cell.gate), cell.gate):
                self._pooled[group, cell.partition] += own

    def of(self, cell: Cell) -> Standing:
        """Combine the labels of a cell with those of earlier texts, else with those of its lens."""
        own = self.people.get(cell, NONE)
        mean = pooled_mean(self._pooled[self.lens(cell.gate), cell.partition])
        of_gate = self._pooled[cell.gate, cell.partition]
        earlier = Proportion(of_gate.k - own.k, of_gate.n - own.n)
        borrowed_from, weight = LENS, _LENS_WEIGHT
        if earlier.n:
            mean = shrunk(earlier, mean=mean, weight=_LENS_WEIGHT).mean
            borrowed_from, weight = EARLIER_TEXTS, float(min(_MAX_HISTORY_WEIGHT, earlier.n))
        return Standing(own, shrunk(own, mean=mean, weight=weight), borrowed_from, weight)

    def gate_id(self, gate: int) -> str:
        return self._ids[gate]

    def lens(self, gate: int) -> str:
        return lens_of(self._ids[gate])
