"""Passes that people read: only they say what a gate misses, since only flags become findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from django.db.models import F

from review.calibration.labels import CELL, NONE, PEOPLE, Cell
from review.domain.statistics import Proportion
from review.knowledge_base import Gate
from review.models import CurrentAcceptance, DecisionEvent
from review.vocabulary import QUEUED_DECISIONS, AcceptanceKind, Decision

# A multiplier and a modulus that scatter consecutive keys.
_SCATTER, _WITHIN = 2_654_435_761, 2**32


def read_missed() -> dict[Cell, Proportion]:
    """Count, of the passes that people decided again, those that are to warn or fail."""
    rows = DecisionEvent.objects.filter(actor__startswith=PEOPLE, pair__decision=Decision.PASS)
    said = rows.order_by("pk").values_list("pair_id", "decision", *CELL)
    last = {pair: (Cell(*cell), word in QUEUED_DECISIONS) for pair, word, *cell in said}
    found: defaultdict[Cell, Proportion] = defaultdict(lambda: NONE)
    for cell, missed in last.values():
        found[cell] += Proportion(int(missed), 1)
    return found


def pick_passes(gates: Iterable[Gate], partitions: Collection[str], *, number: int) -> list[int]:
    """Return accepted passes by today's gates that no person decided: the same, as if at random."""
    rows = CurrentAcceptance.objects.filter(
        decision=Decision.PASS,
        event__kind=AcceptanceKind.FULL_REVIEW,
        event__reason="",
        gate_snapshot__content_sha256__in={gate.sha256 for gate in gates},
    )
    if partitions:
        rows = rows.filter(model_partition__name__in=partitions)
    pairs = rows.order_by(F("event__review_pair_id") * _SCATTER % _WITHIN)
    return list(pairs.values_list("event__review_pair_id", flat=True)[:number])
