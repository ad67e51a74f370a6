"""Every current acceptance with its review, for exports: read from the store alone, in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from django.db.models import F

from review.documents.base import timestamp
from review.models import CurrentAcceptance, KbPath, ModelPartition, batched
from review.reviews.texts import rationales
from review.selection.path_filters import gate_label

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
    partitions = list(ModelPartition.objects.values_list("pk", flat=True))
    accepted = CurrentAcceptance.objects.values("note_id").distinct()
    notes = sorted(KbPath.objects.filter(pk__in=accepted).values_list("path", "pk"))
    for chunk in batched(notes, _NOTES_AT_ONCE):
        rows = sorted(_rows(partitions, [note_id for _path, note_id in chunk]), key=_by_names)
        pair_ids = [row["review_pair_id"] for row in rows if row["review_pair_id"]]
        texts = rationales(pair_ids) if with_text else {}
        yield from (_exported(row, texts, gates_folder) for row in rows)


_COLUMNS = {
    "note_path": "note__path",
    "gate_path": "gate__path",
    "gate_hash": "gate_snapshot__content_sha256",
    "note_hash": "note_snapshot__content_sha256",
    "model_partition_name": "model_partition__name",
    "kind": "event__kind",
    "accepted_at": "event__accepted_at",
    "review_pair_id": "event__review_pair_id",
    "actor": "event__actor",
    "reason": "event__reason",
}


_by_names = itemgetter("note_path", "gate_path", "model_partition_name")


def _rows(partition_ids: Sequence[int], note_ids: Sequence[int]) -> Any:
    """With the partitions, so that rows are found by the index of their key."""
    rows = CurrentAcceptance.objects.filter(model_partition__in=partition_ids, note__in=note_ids)
    return rows.values("decision", **{name: F(path) for name, path in _COLUMNS.items()})


def _exported(row: dict[str, Any], texts: dict[int, str], gates_folder: str) -> ExportedReview:
    actor, reason = row.pop("actor"), row.pop("reason")
    override = f"Accepted by {actor} without a review: {reason}\n"
    return ExportedReview(
        gate_id=gate_label(row["gate_path"], gates_folder),
        model_partition=row.pop("model_partition_name"),
        recorded_at=timestamp(row.pop("accepted_at")) or "",
        text=texts.get(row["review_pair_id"], "") if row["review_pair_id"] else override,
        **row,
    )
