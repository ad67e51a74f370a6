"""Labels: the last word about each finding, and what it says of each gate text and partition."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Q

from review.domain.paths import lens_of
from review.domain.statistics import Beta, Proportion, pooled_mean, shrunk
from review.models import Disposition, Finding, FindingState, KbPath, NamedKeys
from review.selection.path_filters import gate_label
from review.vocabulary import Decision, DispositionState, NotAccepted

PEOPLE = "human:"
NONE = Proportion(0, 0)
LENS, EARLIER_TEXTS = "lens", "earlier-texts"
_LENS_WEIGHT = 4.0
_MAX_HISTORY_WEIGHT = 10
_SETTLED = (DispositionState.FIXED, DispositionState.REJECTED)


class Cell(NamedTuple):
    """One text of a gate in one model partition, as keys of the store."""

    gate: int
    gate_text: int
    partition: int


CELL = ("pair__gate_id", "pair__gate_snapshot_id", "pair__job__model_partition_id")


def is_person(actor: str) -> bool:
    """Return True for a person, and False for an agent or an unnamed actor."""
    return actor.startswith(PEOPLE)


def count_findings() -> Counter[Cell]:
    """Count the findings of each cell; one that was reported again counts once."""
    rows = Finding.objects.exclude(pair__not_accepted=NotAccepted.TRIAL).values_list(*CELL)
    counted = rows.annotate(Count("fingerprint", distinct=True))
    return Counter({Cell(*cell): number for *cell, number in counted.order_by()})


class Labels:
    """The settled findings of the store, with the cells that reported each."""

    def __init__(self) -> None:
        """Read all dispositions, and the reports of the findings that they are about."""
        rows = Disposition.objects.order_by("pk").values_list("fingerprint", "state", "actor")
        self._said = list(rows)
        self._cells: defaultdict[str, set[Cell]] = defaultdict(set)
        about = Finding.objects.filter(fingerprint__in=Disposition.objects.values("fingerprint"))
        for name, *cell in about.order_by().values_list("fingerprint", *CELL):
            self._cells[name].add(Cell(*cell))
        self._same = self._read_others({name for name, *_said in self._said} - set(self._cells))

    def precision(self, is_judge: Callable[[str], bool]) -> dict[Cell, Proportion]:
        """Return what was `fixed` of what was `fixed` or `rejected`, by the judges' last word."""
        last = {
            self._same.get(name, name): state
            for name, state, actor in self._said
            if is_judge(actor)
        }
        found: defaultdict[Cell, Proportion] = defaultdict(lambda: NONE)
        for name, state in last.items():
            if state in _SETTLED:
                for cell in self._cells[name]:
                    found[cell] += Proportion(int(state == DispositionState.FIXED), 1)
        return found

    def _read_others(self, wanted: Collection[str]) -> Mapping[str, str]:
        """Read findings that no review lists: of moved notes, and of reviews as a whole.

        :return: the fingerprint of a moved finding to the one under which it was reported.
        """
        same: dict[str, str] = {}
        rows = FindingState.objects.filter(
            # Of a pass a person said that it warns or fails, not the gate.
            ~Q(finding=None, pair__decision=Decision.PASS),
            fingerprint__in=Disposition.objects.values("fingerprint"),
        ).values_list("fingerprint", "finding__fingerprint", *CELL)
        for name, reported, *cell in rows if wanted else ():
            if name in wanted:
                same[name] = reported or name
                self._cells[same[name]].add(Cell(*cell))
        return same


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
