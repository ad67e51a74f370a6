"""Current acceptances by place: everything a move of a file or folder concerns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Q

from review.models import CurrentAcceptance, KbPath, ModelPartition, batched

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


def acceptances_at(place: str, *, model_partition: str | None) -> list[AcceptanceRow]:
    """What is accepted for notes or gates at `place` or below it, sorted by note, gate, partition.

    :param model_partition: only this one's; None takes all.
    """
    path_ids = _paths_at(place)
    partitions = ModelPartition.objects.all()
    if model_partition is not None:
        partitions = partitions.filter(name=model_partition)
    found: dict[tuple[int, int, int], AcceptanceRow] = {}
    for partition_id in partitions.values_list("pk", flat=True):
        for row in _rows(partition_id, path_ids):
            found[row.partition_id, row.note_id, row.gate_id] = row
    return sorted(found.values(), key=lambda row: (row.note_path, row.gate_path, row.partition_id))


def accepted_keys(
    keys: Iterable[tuple[int, str, str]],
) -> set[tuple[int, str, str]]:
    """Those of the (partition id, note path, gate path) that have a current acceptance."""
    wanted = set(keys)
    path_ids = KbPath.objects.ids({path for _partition, *paths in wanted for path in paths})
    names = {key: path for path, key in path_ids.items()}
    rows = CurrentAcceptance.objects.filter(
        model_partition_id__in={partition for partition, _note, _gate in wanted},
        note_id__in={path_ids[note] for _partition, note, _gate in wanted if note in path_ids},
        gate_id__in={path_ids[gate] for _partition, _note, gate in wanted if gate in path_ids},
    ).values_list("model_partition_id", "note_id", "gate_id")
    found = {(partition, names[note], names[gate]) for partition, note, gate in rows}
    return found & wanted


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


def _paths_at(place: str) -> list[int]:
    rows = KbPath.objects.filter(Q(path=place) | Q(path__startswith=f"{place}/"))
    # SQLite compares without regard to case here.
    return [
        key
        for key, path in rows.values_list("pk", "path")
        if path == place or path.startswith(f"{place}/")
    ]


def _rows(partition_id: int, path_ids: Iterable[int]) -> Iterator[AcceptanceRow]:
    of_partition = CurrentAcceptance.objects.filter(model_partition_id=partition_id)
    for chunk in batched(path_ids, _CHUNK):
        for moved in (Q(note_id__in=chunk), Q(gate_id__in=chunk)):
            for row in of_partition.filter(moved).values_list(*_COLUMNS):
                yield AcceptanceRow(*row)


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
