"""Copy what people decided about findings when the review of a text is carried over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from review.domain.disposition import review_fingerprint
from review.domain.finding_identity import own_fingerprints
from review.models import CurrentAcceptance, Disposition, Finding, NamedKeys, SnapshotText


@dataclass(frozen=True)
class CarryPlan:
    """An acceptance to be made at the new paths, with the texts of the files that moved."""

    row: CurrentAcceptance
    note_path: str
    gate_path: str
    texts: tuple[SnapshotText, ...] = ()

    @property
    def is_move(self) -> bool:
        return (self.note_path, self.gate_path) != (self.row.note.path, self.row.gate.path)

    @property
    def key(self) -> tuple[int, str, str]:
        return (self.row.model_partition_id, self.note_path, self.gate_path)


def carried_dispositions(plans: Sequence[CarryPlan]) -> list[tuple[CarryPlan, Disposition]]:
    """Return the latest disposition of each finding, as a new row for its new fingerprint.

    It says who decided, why and when, as the old one did, in the order in which they were made.
    Fingerprints about which somebody decided already are left out.
    """
    moved = list(_moved_fingerprints([plan for plan in plans if plan.row.event.review_pair_id]))
    decided = Disposition.objects.latest_of(old for _plan, old, _new in moved)
    there = Disposition.objects.latest_of(new for _plan, _old, new in moved)
    copies = {
        (decided[old].pk, new): (plan, decided[old])
        for plan, old, new in moved
        if old in decided and new not in there
    }
    return [
        (plan, _copy(row, new))
        for (_pk, new), (plan, row) in sorted(copies.items(), key=lambda item: item[0])
    ]


def _moved_fingerprints(plans: Sequence[CarryPlan]) -> Iterator[tuple[CarryPlan, str, str]]:
    """Yield the fingerprints of the findings of each review at the old and at the new paths."""
    pairs = {plan.row.event.review_pair_id or 0 for plan in plans}
    rows = Finding.objects.filter(pair_id__in=NamedKeys(pairs)).order_by("pair_id", "ordinal")
    findings = {key: list(group) for key, group in groupby(rows, attrgetter("pair_id"))}
    for plan in plans:
        row, pair = plan.row, plan.row.event.review_pair
        reported = findings.get(row.event.review_pair_id, [])
        before = {"note_path": row.note.path, "gate_path": row.gate.path}
        after = {"note_path": plan.note_path, "gate_path": plan.gate_path}
        old = [finding.fingerprint for finding in reported]
        if pair and (row.note_id, row.gate_id) != (pair.note_id, pair.gate_id):
            old = own_fingerprints(reported, **before)
        new = own_fingerprints(reported, **after)
        old.append(review_fingerprint(**before, partition=row.model_partition.name))
        new.append(review_fingerprint(**after, partition=row.model_partition.name))
        yield from ((plan, *fingerprints) for fingerprints in zip(old, new, strict=True))


def _copy(row: Disposition, fingerprint: str) -> Disposition:
    copied = copy(row)
    copied.pk, copied.fingerprint = None, fingerprint
    return copied
