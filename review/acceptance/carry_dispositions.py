"""Takes along what people decided about findings, when the review of a text is carried over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from review.acceptance.by_path import AcceptanceRow
from review.domain.disposition import review_fingerprint
from review.domain.finding_identity import own_fingerprints
from review.models import Disposition, Finding, SnapshotText, batched


@dataclass(frozen=True)
class CarryPlan:
    """An acceptance to be made at the new paths, with the texts of the files that moved."""

    row: AcceptanceRow
    note_path: str
    gate_path: str
    texts: tuple[SnapshotText, ...] = ()

    @property
    def key(self) -> tuple[int, str, str]:
        """Partition and paths."""
        return (self.row.partition_id, self.note_path, self.gate_path)


def carried_dispositions(plans: Iterable[CarryPlan]) -> list[tuple[CarryPlan, Disposition]]:
    """The latest disposition of each finding, as a row to be stored for its new fingerprint.

    It says who decided, why and when, as the old one did. A fingerprint about which somebody
    decided already is left alone. In the order in which they were made: the last one counts.
    """
    moved = _moved_fingerprints(plans)
    decided = Disposition.objects.latest_of(old for _plan, old, _new in moved)
    there = Disposition.objects.latest_of(new for _plan, _old, new in moved)
    copies = {
        (new, decided[old].pk): (plan, _copy(decided[old], new))
        for plan, old, new in moved
        if old in decided and new not in there
    }
    return [copies[key] for key in sorted(copies, key=lambda key: key[1])]


def _moved_fingerprints(plans: Iterable[CarryPlan]) -> list[tuple[CarryPlan, str, str]]:
    """The fingerprints of the findings of each review at the old paths and at the new ones."""
    by_pair: dict[int, list[CarryPlan]] = {}
    for plan in plans:
        if plan.row.review_pair_id is not None:
            by_pair.setdefault(plan.row.review_pair_id, []).append(plan)
    found = [
        (
            plan,
            _of_review(plan.row, plan.row.note_path, plan.row.gate_path),
            _of_review(plan.row, plan.note_path, plan.gate_path),
        )
        for plans_of_pair in by_pair.values()
        for plan in plans_of_pair
    ]
    for chunk in batched(sorted(by_pair), 500):
        rows = Finding.objects.filter(pair_id__in=chunk).order_by("pair_id", "ordinal")
        for pair_id, group in groupby(rows, key=attrgetter("pair_id")):
            findings = list(group)
            for plan in by_pair[pair_id]:
                row = plan.row
                old = [finding.fingerprint for finding in findings]
                if (row.note_path, row.gate_path) != (row.pair_note_path, row.pair_gate_path):
                    old = own_fingerprints(
                        findings, note_path=row.note_path, gate_path=row.gate_path
                    )
                new = own_fingerprints(findings, note_path=plan.note_path, gate_path=plan.gate_path)
                found += [(plan, *values) for values in zip(old, new, strict=True)]
    return found


def _of_review(row: AcceptanceRow, note_path: str, gate_path: str) -> str:
    return review_fingerprint(
        note_path=note_path, gate_path=gate_path, partition=row.model_partition
    )


def _copy(row: Disposition, fingerprint: str) -> Disposition:
    return Disposition(
        fingerprint=fingerprint,
        state=row.state,
        reason=row.reason,
        actor=row.actor,
        note_sha256=row.note_sha256,
        at=row.at,
    )
