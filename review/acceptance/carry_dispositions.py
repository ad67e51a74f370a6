"""Copy what people decided about findings when the review of a text is carried over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from review.domain.disposition import review_fingerprint
from review.domain.finding_identity import own_fingerprints
from review.models import CurrentAcceptance, Disposition, FileText, Finding, batched


@dataclass(frozen=True)
class CarryPlan:
    """An acceptance to be made at the new paths, with the texts of the files that moved."""

    row: CurrentAcceptance
    note_path: str
    gate_path: str
    texts: tuple[FileText, ...] = ()

    @property
    def key(self) -> tuple[int, str, str]:
        return (self.row.model_partition_id, self.note_path, self.gate_path)


def carried_dispositions(plans: Sequence[CarryPlan]) -> list[tuple[CarryPlan, Disposition]]:
    """Return the latest disposition of each finding, as a new row for its new fingerprint.

    It says who decided, why and when, as the old one did, in the order in which they were made.
    Fingerprints about which somebody decided already are left out.
    """
    moved = _moved_fingerprints([plan for plan in plans if plan.row.event.review_pair_id])
    decided = Disposition.objects.latest_of(old for _plan, old, _new in moved)
    there = Disposition.objects.latest_of(new for _plan, _old, new in moved)
    copies = {
        (decided[old].pk, new): plan
        for plan, old, new in moved
        if old in decided and new not in there
    }
    rows = {row.pk: row for row in decided.values()}
    return [
        (plan, _copy(rows[pk], new))
        for (pk, new), plan in sorted(copies.items(), key=lambda item: item[0])
    ]


def _moved_fingerprints(plans: Sequence[CarryPlan]) -> list[tuple[CarryPlan, str, str]]:
    """Return the fingerprints of the findings of each review at the old and at the new paths."""
    found = []
    findings: dict[int | None, list[Finding]] = {}
    for chunk in batched({plan.row.event.review_pair_id for plan in plans}, 500):
        rows = Finding.objects.filter(pair_id__in=chunk).order_by("pair_id", "ordinal")
        findings |= {key: list(group) for key, group in groupby(rows, attrgetter("pair_id"))}
    for plan in plans:
        row = plan.row
        reported = findings.get(row.event.review_pair_id, [])
        before = {"note_path": row.note.path, "gate_path": row.gate.path}
        after = {"note_path": plan.note_path, "gate_path": plan.gate_path}
        old = [finding.fingerprint for finding in reported]
        pair = row.event.review_pair
        if pair and (row.note_id, row.gate_id) != (pair.note_id, pair.gate_id):
            old = own_fingerprints(reported, **before)
        new = own_fingerprints(reported, **after)
        old.append(review_fingerprint(**before, partition=row.model_partition.name))
        new.append(review_fingerprint(**after, partition=row.model_partition.name))
        found += [(plan, *fingerprints) for fingerprints in zip(old, new, strict=True)]
    return found


def _copy(row: Disposition, fingerprint: str) -> Disposition:
    return Disposition(
        fingerprint=fingerprint,
        state=row.state,
        reason=row.reason,
        actor=row.actor,
        note_sha256=row.note_sha256,
        at=row.at,
    )
