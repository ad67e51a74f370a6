"""Which note and gate a finding's fingerprint belongs to, also where its review was carried over."""

from __future__ import annotations

from dataclasses import dataclass

from review.domain.finding_identity import own_fingerprints
from review.models import Acceptance, Finding
from review.vocabulary import AcceptanceKind

_NEAR_AMONG = 200_000


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """A finding at the note and gate where it is known by its fingerprint.

    :param pair_id: of the review that reported it, as its `ordinal`-th.
    """

    note_path: str
    gate_path: str
    severity: str
    text: str
    pair_id: int
    ordinal: int


def find_finding(mark: str) -> PlacedFinding | None:
    """The latest finding with this fingerprint, or None.

    A review that was carried over has its findings under fingerprints of the new path, which no
    row holds: they are made again, all of them, so this is dear for a fingerprint nobody has.
    """
    row = (
        Finding.objects.filter(fingerprint=mark)
        .order_by("-pk")
        .values_list(
            "pair__note__path", "pair__gate__path", "severity", "text", "pair_id", "ordinal"
        )
        .first()
    )
    return PlacedFinding(*row) if row is not None else _find_carried(mark)


def known_fingerprints() -> list[str]:
    """Fingerprints of stored findings, to name near ones."""
    marks = Finding.objects.order_by("-pk").values_list("fingerprint", flat=True)
    return list(marks[:_NEAR_AMONG])


def _find_carried(mark: str) -> PlacedFinding | None:
    carried = Acceptance.objects.filter(kind=AcceptanceKind.CARRY_OVER).order_by("-pk")
    keys = carried.values_list("review_pair_id", "note__path", "gate__path")
    for pair_id, note_path, gate_path in keys.iterator():
        findings = list(Finding.objects.filter(pair_id=pair_id).order_by("ordinal"))
        values = own_fingerprints(findings, note_path=note_path, gate_path=gate_path)
        if mark in values:
            row = findings[values.index(mark)]
            return PlacedFinding(note_path, gate_path, row.severity, row.text, pair_id, row.ordinal)
    return None
