"""Every current acceptance with its review, for exports: read from the store alone, in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from review.contracts.base import timestamp
from review.models import CurrentAcceptance, KbPath, ModelPartition, batched
from review.queries.places import gate_label
from review.queries.review_texts import rationales

_NOTES_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class ExportedReview:
    """A current acceptance; `text` is its review's, or who overrode it and why."""

    note_path: str
    gate_id: str
    gate_path: str
    gate_hash: str
    note_hash: str
    model_partition: str
    decision: str
    kind: str
    recorded_at: str
    review_pair_id: int | None
    text: str


def exported_reviews(*, gates_folder: str, with_text: bool) -> Iterator[ExportedReview]:
    """All current acceptances, sorted by note path, gate path and partition."""
    partitions = dict(ModelPartition.objects.values_list("pk", "name"))
    accepted = CurrentAcceptance.objects.values("note_id").distinct()
    notes = sorted(KbPath.objects.filter(pk__in=accepted).values_list("path", "pk"))
    for chunk in batched(notes, _NOTES_AT_ONCE):
        rows = [
            (*row[:2], name, *row[2:])
            for key, name in partitions.items()
            for row in _rows(key, [note_id for _path, note_id in chunk])
        ]
        rows.sort(key=lambda row: row[:3])
        texts = rationales([row[-3] for row in rows if row[-3]]) if with_text else {}
        yield from (_exported(row, texts, gates_folder) for row in rows)


def _rows(partition_id: int, note_ids: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    current = CurrentAcceptance.objects.filter(model_partition_id=partition_id)
    yield from current.filter(note_id__in=note_ids).values_list(*_COLUMNS)


_COLUMNS = (
    "note__path",
    "gate__path",
    "gate_snapshot__content_sha256",
    "note_snapshot__content_sha256",
    "decision",
    "event__kind",
    "event__accepted_at",
    "event__review_pair_id",
    "event__actor",
    "event__reason",
)


def _exported(row: tuple[Any, ...], texts: dict[int, str], gates_folder: str) -> ExportedReview:
    note, gate, partition, gate_sha, note_sha, decision, kind, at, pair_id, actor, reason = row
    return ExportedReview(
        note_path=note,
        gate_id=gate_label(gate, gates_folder),
        gate_path=gate,
        gate_hash=gate_sha,
        note_hash=note_sha,
        model_partition=partition,
        decision=decision,
        kind=kind,
        recorded_at=timestamp(at) or "",
        review_pair_id=pair_id,
        text=texts.get(pair_id, "")
        if pair_id
        else f"Accepted by {actor} without a review: {reason}\n",
    )
