"""What is accepted for one note, in every model partition: one row a key, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from review.models import CurrentAcceptance, ModelPartition


@dataclass(frozen=True, slots=True)
class Evidence:
    """The review that an acceptance rests on; its paths differ where it was carried over."""

    pair_id: int
    note_path: str
    gate_path: str
    note_snapshot_id: int
    note_sha256: str


@dataclass(frozen=True, slots=True)
class Accepted:
    """The current acceptance of one gate and partition; an override has no evidence."""

    event_id: int
    gate_path: str
    model_partition: str
    note_sha256: str
    gate_sha256: str
    note_snapshot_id: int
    decision: str
    kind: str
    accepted_at: datetime
    actor: str
    reason: str
    evidence: Evidence | None


def read_accepted(note_id: int | None) -> list[Accepted]:
    """Current acceptances of a note, the latest event first."""
    # By partition, since that is how the index is laid out.
    partitions = list(ModelPartition.objects.values_list("pk", flat=True))
    rows = CurrentAcceptance.objects.filter(model_partition_id__in=partitions, note_id=note_id)
    found = []
    for row in rows.order_by("-event_id").values_list(*_ACCEPTED, *_EVIDENCE):
        values, evidence = row[: len(_ACCEPTED)], row[len(_ACCEPTED) :]
        known = Evidence(*evidence) if evidence[0] is not None else None
        found.append(Accepted(*(*values, known)))
    return found


_ACCEPTED = (
    "event_id",
    "gate__path",
    "model_partition__name",
    "note_snapshot__content_sha256",
    "gate_snapshot__content_sha256",
    "note_snapshot_id",
    "decision",
    "event__kind",
    "event__accepted_at",
    "event__actor",
    "event__reason",
)
_EVIDENCE = (
    "event__review_pair_id",
    "event__review_pair__note__path",
    "event__review_pair__gate__path",
    "event__review_pair__note_snapshot_id",
    "event__review_pair__note_snapshot__content_sha256",
)
