"""Labels: the last word about each finding, counted for each text of a gate and model partition."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from django.db.models import Count

from review.domain.statistics import Proportion
from review.models import Disposition, Finding, FindingState
from review.vocabulary import DispositionState, NotAccepted

PEOPLE = "human:"
NONE = Proportion(0, 0)
_SETTLED = (DispositionState.FIXED, DispositionState.REJECTED)


class Cell(NamedTuple):
    """One text of a gate in one model partition, as keys of the store."""

    gate: int
    gate_text: int
    partition: int


_CELL = ("pair__gate_id", "pair__gate_snapshot_id", "pair__job__model_partition_id")


def is_person(actor: str) -> bool:
    """Return True for a person, and False for an agent or an unnamed actor."""
    return actor.startswith(PEOPLE)


def count_findings() -> Counter[Cell]:
    """Count the findings of each cell; one that was reported again counts once."""
    rows = Finding.objects.exclude(pair__not_accepted=NotAccepted.TRIAL).values_list(*_CELL)
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
        for name, *cell in about.order_by().values_list("fingerprint", *_CELL):
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
            fingerprint__in=Disposition.objects.values("fingerprint")
        ).values_list("fingerprint", "finding__fingerprint", *_CELL)
        for name, reported, *cell in rows if wanted else ():
            if name in wanted:
                same[name] = reported or name
                self._cells[same[name]].add(Cell(*cell))
        return same
