"""Current acceptances by path: everything a move of a file or folder concerns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from review.models import CurrentAcceptance, KbPath, ModelPartition, batched
from review.selection.orphans import EMPTY_SHA256
from review.selection.path_filters import below, is_below
from review.vocabulary import AcceptanceKind

_CHUNK = 200


@dataclass(frozen=True, slots=True)
class AcceptanceRow:
    """A current acceptance with its texts, and the pair it rests on (an override: none).

    The pair's paths are others than the acceptance's where it was carried over before.
    """

    partition_id: int
    model_partition: str
    note_id: int
    note_path: str
    gate_id: int
    gate_path: str
    note_snapshot_id: int
    note_sha256: str
    gate_snapshot_id: int
    gate_sha256: str
    decision: str
    kind: str
    actor: str
    reason: str
    review_pair_id: int | None
    pair_note_path: str | None
    pair_gate_path: str | None

    @property
    def is_retired(self) -> bool:
        """Whether a person said that the note or gate is gone for good."""
        pinned = (self.note_sha256, self.gate_sha256)
        return self.kind == AcceptanceKind.OVERRIDE and EMPTY_SHA256 in pinned


def acceptances_at(path: str, *, model_partition: str | None) -> list[AcceptanceRow]:
    """What is accepted for notes or gates at `path` or below it, sorted by note, gate, partition.

    :param model_partition: only this one's; None takes all.
    """
    names = KbPath.objects.filter(below((path,), field="path")).values_list("pk", "path")
    path_ids = [key for key, name in names if is_below(name, (path,))]
    # The index starts with the partition.
    partitions = ModelPartition.objects.all()
    if model_partition is not None:
        partitions = partitions.filter(name=model_partition)
    accepted = CurrentAcceptance.objects.filter(
        model_partition_id__in=list(partitions.values_list("pk", flat=True))
    )
    found: set[AcceptanceRow] = set()
    for chunk in batched(path_ids, _CHUNK):
        for at_path in (Q(note_id__in=chunk), Q(gate_id__in=chunk)):
            found |= {
                AcceptanceRow(*row) for row in accepted.filter(at_path).values_list(*_COLUMNS)
            }
    return sorted(found, key=lambda row: (row.note_path, row.gate_path, row.partition_id))


def accepted_keys(keys: Iterable[tuple[int, str, str]]) -> set[tuple[int, str, str]]:
    """Those of the (partition id, note path, gate path) that have an acceptance, not retired."""
    wanted = set(keys)
    rows = CurrentAcceptance.objects.filter(
        model_partition_id__in={key[0] for key in wanted},
        note__path__in={key[1] for key in wanted},
        gate__path__in={key[2] for key in wanted},
    )
    accepted = [AcceptanceRow(*row) for row in rows.values_list(*_COLUMNS)]
    return wanted & {
        (row.partition_id, row.note_path, row.gate_path) for row in accepted if not row.is_retired
    }


def still_current(rows: Iterable[AcceptanceRow]) -> set[AcceptanceRow]:
    """Those of the rows that count unchanged: nobody accepted or decided anything anew."""
    found: set[AcceptanceRow] = set()
    for chunk in batched(rows, _CHUNK):
        now = CurrentAcceptance.objects.filter(
            model_partition_id__in={row.partition_id for row in chunk},
            note_id__in={row.note_id for row in chunk},
            gate_id__in={row.gate_id for row in chunk},
        )
        found |= {AcceptanceRow(*row) for row in now.values_list(*_COLUMNS)}.intersection(chunk)
    return found


_COLUMNS = (
    "model_partition_id",
    "model_partition__name",
    "note_id",
    "note__path",
    "gate_id",
    "gate__path",
    "note_snapshot_id",
    "note_snapshot__content_sha256",
    "gate_snapshot_id",
    "gate_snapshot__content_sha256",
    "decision",
    "event__kind",
    "event__actor",
    "event__reason",
    "event__review_pair_id",
    "event__review_pair__note__path",
    "event__review_pair__gate__path",
)
