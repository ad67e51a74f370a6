"""Which note and gate a finding's fingerprint belongs to, also where its review was carried over."""

from __future__ import annotations

from dataclasses import dataclass

from review.domain.identity import fingerprint
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
    rows = Acceptance.objects.filter(
        kind=AcceptanceKind.CARRY_OVER, review_pair__findings__isnull=False
    ).values_list(
        "note__path",
        "gate__path",
        "review_pair__findings__severity",
        "review_pair__findings__text",
        "review_pair_id",
        "review_pair__findings__ordinal",
        "review_pair__findings__quote",
    )
    for row in rows.order_by("-pk").iterator():
        found, quote = PlacedFinding(*row[:-1]), row[-1]
        known = fingerprint(
            note_path=found.note_path, gate_path=found.gate_path, quote=quote, text=found.text
        )
        if known == mark:
            return found
    return None
