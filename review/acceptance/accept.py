"""Moves acceptances: one event, one current row, and the one rule that can hold it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from review.acceptance.finding_states import refresh_finding_states
from review.models import Acceptance, CurrentAcceptance, ReviewStore
from review.vocabulary import AcceptanceKind, Decision

_Key = tuple[int, int, int]
_Texts = tuple[int, int]


@dataclass(frozen=True)
class Candidate:
    """An acceptance to be made: keys of the rows it pins, and when its text was read."""

    note_id: int
    gate_id: int
    model_partition_id: int
    note_snapshot_id: int
    gate_snapshot_id: int
    kind: AcceptanceKind
    decision: Decision
    review_pair_id: int | None
    text_read_at: datetime
    actor: str
    reason: str = ""

    @property
    def key(self) -> _Key:
        """What there is one current acceptance of."""
        return (self.model_partition_id, self.note_id, self.gate_id)

    @property
    def texts(self) -> _Texts:
        """The texts it pins."""
        return (self.note_snapshot_id, self.gate_snapshot_id)


def accept(candidates: Sequence[Candidate], *, now: datetime) -> list[Candidate]:
    """Accept what is not superseded; answers the candidates that are. Call inside a transaction.

    A candidate is superseded when the key's current acceptance pins other text that was read
    later. Candidates are taken in their order: for the second of one key, the
    first is the current one.
    """
    if not candidates:
        return []
    # First, so that two transactions move acceptances one after the other on every database.
    ReviewStore.objects.move_acceptances()
    current = _baselines(candidates)
    accepted: list[Candidate] = []
    superseded: list[Candidate] = []
    for item in candidates:
        texts, text_read_at = current.get(item.key, (item.texts, item.text_read_at))
        if text_read_at > item.text_read_at and texts != item.texts:
            superseded.append(item)
        else:
            accepted.append(item)
            current[item.key] = (item.texts, item.text_read_at)
    events = Acceptance.objects.bulk_create(
        [Acceptance(**vars(item), accepted_at=now) for item in accepted], batch_size=100
    )
    latest = {item.key: event for item, event in zip(accepted, events, strict=True)}
    CurrentAcceptance.objects.point_at(list(latest.values()))
    refresh_finding_states({item.note_id for item in accepted}, {item.gate_id for item in accepted})
    return superseded


def _baselines(candidates: Sequence[Candidate]) -> dict[_Key, tuple[_Texts, datetime]]:
    """The texts of each key's current acceptance, and when they were read."""
    rows = CurrentAcceptance.objects.filter(
        model_partition_id__in={item.model_partition_id for item in candidates},
        note_id__in={item.note_id for item in candidates},
        gate_id__in={item.gate_id for item in candidates},
    ).values_list(
        "model_partition_id",
        "note_id",
        "gate_id",
        "note_snapshot_id",
        "gate_snapshot_id",
        "event__text_read_at",
    )
    return {row[:3]: (row[3:5], row[5]) for row in rows}
