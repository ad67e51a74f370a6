"""What a key's acceptance rests on: its current texts, and the review that an ack would carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from review.models import (
    CurrentAcceptance,
    DecisionEvent,
    KbPath,
    ModelPartition,
    ReviewPair,
    batched,
)
from review.vocabulary import ACCEPTING_DECISIONS, Decision, NotAccepted

Key = tuple[str, str]
_CHUNK = 200


@dataclass(frozen=True, slots=True)
class Accepted:
    """The texts that a key's current acceptance pins; an override rests on no review."""

    note_sha256: str
    gate_sha256: str
    review_pair_id: int | None


@dataclass(frozen=True, slots=True)
class Review:
    """A completed pair that an acceptance can rest on, with the decision that counts."""

    review_pair_id: int
    decision: Decision
    note_sha256: str
    gate_sha256: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a key stands: what is accepted, and the review that an ack would carry on."""

    accepted: Accepted | None = None
    review: Review | None = None


@dataclass(frozen=True, slots=True)
class _PathIds:
    notes: Mapping[int, str]
    gates: Mapping[int, str]
    partition_id: int


def read_standings(keys: Iterable[Key], *, model_partition: str) -> dict[Key, Standing]:
    """The standing of each (note path, gate path) for a partition; one that is unknown is empty.

    The review is the current acceptance's; a key that has none (an override's) has the latest
    completed pair that was decided pass, warn or fail by a model of its partition.
    """
    wanted = list(dict.fromkeys(keys))
    partition_id = (
        ModelPartition.objects.filter(name=model_partition).values_list("pk", flat=True).first()
    )
    found = dict.fromkeys(wanted, Standing())
    if partition_id is None:
        return found
    for chunk in batched(wanted, _CHUNK):
        found.update(_standings(chunk, partition_id))
    return found


def latest_decisions(pair_ids: Iterable[int]) -> dict[int, Decision]:
    """What people decided about the pairs, by pair; the last one counts (`DecisionEvent`)."""
    found: dict[int, Decision] = {}
    for chunk in batched(sorted(set(pair_ids)), 500):
        rows = DecisionEvent.objects.filter(pair_id__in=chunk).order_by("pk")
        for pair_id, decision in rows.values_list("pair_id", "decision"):
            found[pair_id] = Decision(decision)
    return found


def _standings(keys: Sequence[Key], partition_id: int) -> dict[Key, Standing]:
    notes = KbPath.objects.ids({note for note, _gate in keys})
    gates = KbPath.objects.ids({gate for _note, gate in keys})
    ids = _PathIds(
        notes={key: path for path, key in notes.items()},
        gates={key: path for path, key in gates.items()},
        partition_id=partition_id,
    )
    accepted = _accepted(ids)
    pair_ids = {row.review_pair_id for row in accepted.values() if row.review_pair_id is not None}
    reviews = _reviews(pair_ids)
    without = {key for key in keys if key not in accepted or not accepted[key].review_pair_id}
    latest = _latest_reviews(without, ids) if without else {}
    standings: dict[Key, Standing] = {}
    for key in keys:
        row = accepted.get(key)
        carried = reviews.get(row.review_pair_id) if row and row.review_pair_id else None
        standings[key] = Standing(row, carried or latest.get(key))
    return standings


def _accepted(ids: _PathIds) -> dict[Key, Accepted]:
    rows = CurrentAcceptance.objects.filter(
        model_partition_id=ids.partition_id, note_id__in=ids.notes, gate_id__in=ids.gates
    ).values_list(
        "note_id",
        "gate_id",
        "note_snapshot__content_sha256",
        "gate_snapshot__content_sha256",
        "event__review_pair_id",
    )
    return {
        (ids.notes[note_id], ids.gates[gate_id]): Accepted(note_sha256, gate_sha256, pair_id)
        for note_id, gate_id, note_sha256, gate_sha256, pair_id in rows
    }


def _reviews(pair_ids: Iterable[int]) -> dict[int, Review]:
    found: dict[int, Review] = {}
    for chunk in batched(sorted(pair_ids), 500):
        rows = ReviewPair.objects.filter(pk__in=chunk).values_list(*_PAIR)
        decided = latest_decisions(chunk)
        for pair_id, decision, note_sha256, gate_sha256 in rows:
            counts = decided.get(pair_id, Decision(decision))
            found[pair_id] = Review(pair_id, counts, note_sha256, gate_sha256)
    return found


def _latest_reviews(keys: Iterable[Key], ids: _PathIds) -> dict[Key, Review]:
    wanted = set(keys)
    rows = (
        ReviewPair.objects.completed()
        .filter(
            note_id__in=ids.notes,
            gate_id__in=ids.gates,
            job__model_partition_id=ids.partition_id,
        )
        .exclude(not_accepted=NotAccepted.PARTITION_MISMATCH)
        .order_by("reviewed_at", "pk")
        .values_list("note_id", "gate_id", *_PAIR)
    )
    known = [(ids.notes[row[0]], ids.gates[row[1]], *row[2:]) for row in rows]
    known = [row for row in known if row[:2] in wanted]
    decided = latest_decisions(row[2] for row in known)
    found: dict[Key, Review] = {}
    for note_path, gate_path, pair_id, decision, note_sha256, gate_sha256 in known:
        counts = decided.get(pair_id, Decision(decision))
        if counts in ACCEPTING_DECISIONS:
            found[note_path, gate_path] = Review(pair_id, counts, note_sha256, gate_sha256)
    return found


_PAIR = (
    "pk",
    "decision",
    "note_snapshot__content_sha256",
    "gate_snapshot__content_sha256",
)
