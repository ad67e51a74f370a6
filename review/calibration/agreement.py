"""Decisions, agreement and repeatability, from every completed review of every text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import combinations, groupby
from operator import itemgetter

from django.db.models import Count, Q

from review.calibration.labels import Cell
from review.domain.statistics import Agreement, Proportion
from review.models import JoinedKeys, NamedKeys, ReviewPair
from review.vocabulary import ACCEPTING_DECISIONS, QUEUED_DECISIONS, Decision

_Keys = frozenset[int]  # of texts of notes
# A gate and its text, and the two partitions.
AgreementKey = tuple[int, int, int, int]


@dataclass
class Decisions:
    """Reviews by decision, repeats that flipped, and tables of two partitions."""

    counts: dict[Cell, dict[str, int]] = field(default_factory=dict)
    flips: dict[Cell, Proportion] = field(default_factory=dict)
    tables: dict[AgreementKey, Agreement] = field(default_factory=dict)


def read_decisions(gates: Collection[int] | None = None) -> Decisions:
    """Read the reviews of some gates, by key, or of all.

    A partition that judged the same two texts several times flags them if at least half of its
    reviews do; it flipped if not all do or none.
    """
    rows = ReviewPair.objects.completed().filter(decision__in=ACCEPTING_DECISIONS)
    if gates is not None:
        rows = rows.filter(gate_id__in=NamedKeys(gates))
    # One row a cell: the notes of a cell come as one string, which is cheaper than a row for each.
    cells = rows.values_list("gate_id", "gate_snapshot_id", "job__model_partition_id").annotate(
        passes=JoinedKeys("note_snapshot_id", filter=Q(decision=Decision.PASS)),
        flags=JoinedKeys("note_snapshot_id", filter=Q(decision__in=QUEUED_DECISIONS)),
        fails=Count("pk", filter=Q(decision=Decision.FAIL)),
    )
    found = Decisions()
    ordered = cells.order_by("gate_id", "gate_snapshot_id", "job__model_partition_id").iterator()
    for (gate, text), group in groupby(ordered, key=itemgetter(0, 1)):
        judged = []
        for *_texts, partition, passes, flags, fails in group:
            cell = Cell(gate, text, partition)
            passed, flagged = _counted(passes), _counted(flags)
            found.counts[cell] = {
                "pass": passed.total(), "warn": flagged.total() - fails, "fail": fails
            }  # fmt: skip
            repeated = [key for key in passed | flagged if passed[key] + flagged[key] > 1]
            flips = sum(key in passed and key in flagged for key in repeated)
            found.flips[cell] = Proportion(flips, len(repeated))
            flagging = frozenset(key for key in flagged if flagged[key] >= passed[key])
            judged.append((partition, flagging, frozenset(passed | flagged)))
        for one, other in combinations(judged, 2):
            if table := _table(one[1:], other[1:]):
                found.tables[gate, text, one[0], other[0]] = table
    return found


def _counted(joined: str | None) -> Counter[int]:
    return Counter(map(int, joined.split(","))) if joined else Counter()


def _table(one: tuple[_Keys, _Keys], other: tuple[_Keys, _Keys]) -> Agreement | None:
    """Compare what two partitions flag, of the notes that both judged; None: they share none."""
    (flagged, judged), (flagged2, judged2) = one, other
    shared, both = judged & judged2, len(flagged & flagged2)
    first, second = len(flagged & shared) - both, len(flagged2 & shared) - both
    rest = len(shared) - both - first - second
    return Agreement(both, first, second, rest) if shared else None
