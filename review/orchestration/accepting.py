"""Moves acceptances: one event, one current row, and the one rule that can hold it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from review.models import Acceptance, CurrentAcceptance, ReviewStore
from review.orchestration.finding_states import refresh_finding_states
from review.vocabulary import AcceptanceKind, Decision


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
    def key(self) -> tuple[int, int, int]:
        """What there is one current acceptance of."""
        return (self.model_partition_id, self.note_id, self.gate_id)


def accept(candidates: Sequence[Candidate], *, now: datetime) -> list[Candidate]:
    """Accept what is not superseded; answers the candidates that are. Call inside a transaction.

    A candidate is superseded when the key's current acceptance pins other text that was read
    later (DESIGN section 7). Candidates are taken in their order: for the second of one key, the
    first is the current one.
    """
    if not candidates:
        return []
    # First, so that two transactions move acceptances one after the other on every database.
    ReviewStore.objects.move_acceptances()
    current: dict[tuple[int, int, int], _Baseline | Candidate] = {**_current(candidates)}
    accepted: list[Candidate] = []
    superseded: list[Candidate] = []
    for item in candidates:
        if _is_superseded(item, current.get(item.key)):
            superseded.append(item)
        else:
            accepted.append(item)
            current[item.key] = item
    events = Acceptance.objects.bulk_create(
        [_event(item, now=now) for item in accepted], batch_size=100
    )
    CurrentAcceptance.objects.point_at(list({_key(event): event for event in events}.values()))
    refresh_finding_states({item.note_id for item in accepted}, {item.gate_id for item in accepted})
    return superseded


@dataclass(frozen=True)
class _Baseline:
    note_snapshot_id: int
    gate_snapshot_id: int
    text_read_at: datetime


def _current(candidates: Sequence[Candidate]) -> dict[tuple[int, int, int], _Baseline]:
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
    return {row[:3]: _Baseline(row[3], row[4], row[5]) for row in rows}


def _is_superseded(item: Candidate, current: _Baseline | Candidate | None) -> bool:
    if current is None or current.text_read_at <= item.text_read_at:
        return False
    same_text = (item.note_snapshot_id, item.gate_snapshot_id) == (
        current.note_snapshot_id,
        current.gate_snapshot_id,
    )
    return not same_text


def _key(event: Acceptance) -> tuple[int, int, int]:
    return (event.model_partition_id, event.note_id, event.gate_id)


def _event(item: Candidate, *, now: datetime) -> Acceptance:
    return Acceptance(
        note_id=item.note_id,
        gate_id=item.gate_id,
        model_partition_id=item.model_partition_id,
        note_snapshot_id=item.note_snapshot_id,
        gate_snapshot_id=item.gate_snapshot_id,
        kind=item.kind,
        decision=item.decision,
        review_pair_id=item.review_pair_id,
        text_read_at=item.text_read_at,
        actor=item.actor,
        reason=item.reason,
        accepted_at=now,
    )
