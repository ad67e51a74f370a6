"""What a key's acceptance rests on: the texts it pins, and the review that an ack would carry."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from review.domain.staleness import Digests
from review.models import CurrentAcceptance, DecisionEvent, ReviewPair, batched
from review.vocabulary import ACCEPTING_DECISIONS, Decision, NotAccepted

Key = tuple[str, str]
_CHUNK = 200


@dataclass(frozen=True, slots=True)
class Review:
    """A completed pair that an acceptance can rest on, with the decision that counts."""

    review_pair_id: int
    decision: Decision
    gate_sha256: str


@dataclass(frozen=True, slots=True)
class PairState:
    """The texts that a key's current acceptance pins, and the review that an ack would carry on."""

    accepted: Digests | None = None
    review: Review | None = None


def read_pair_states(keys: Iterable[Key], *, model_partition: str) -> dict[Key, PairState]:
    """The state of each (note path, gate path) for a partition; one that is unknown is empty.

    The review is the current acceptance's; a key that has none (an override's) has the latest
    completed pair that was decided pass, warn or fail by a model of its partition.
    """
    states = dict.fromkeys(keys, PairState())
    for chunk in batched(list(states), _CHUNK):
        notes, gates = {key[0] for key in chunk}, {key[1] for key in chunk}
        accepted = CurrentAcceptance.objects.of_partition(model_partition).filter(
            note__path__in=notes, gate__path__in=gates
        )
        for row in accepted.values_list(
            "note__path",
            "gate__path",
            "note_snapshot__content_sha256",
            "gate_snapshot__content_sha256",
            "decision",
            "event__review_pair_id",
            "event__review_pair__gate_snapshot__content_sha256",
        ):
            note_path, gate_path, note_sha256, gate_sha256, decision, pair_id, judged = row
            review = Review(pair_id, Decision(decision), judged) if pair_id else None
            if (note_path, gate_path) in states:
                states[note_path, gate_path] = PairState(Digests(note_sha256, gate_sha256), review)
        without = {key for key in chunk if states[key].review is None}
        for key, review in _latest_reviews(without, model_partition).items():
            states[key] = replace(states[key], review=review)
    return states


def latest_decisions(pair_ids: Iterable[int]) -> dict[int, Decision]:
    """What people decided about the pairs, by pair; the last one counts (`DecisionEvent`)."""
    found: dict[int, Decision] = {}
    for chunk in batched(sorted(set(pair_ids)), 500):
        rows = DecisionEvent.objects.filter(pair_id__in=chunk).order_by("pk")
        for pair_id, decision in rows.values_list("pair_id", "decision"):
            found[pair_id] = Decision(decision)
    return found


def _latest_reviews(keys: set[Key], model_partition: str) -> dict[Key, Review]:
    if not keys:
        return {}
    rows = list(
        ReviewPair.objects.completed()
        .filter(
            note__path__in={key[0] for key in keys},
            gate__path__in={key[1] for key in keys},
            job__model_partition__name=model_partition,
        )
        .exclude(not_accepted=NotAccepted.PARTITION_MISMATCH)
        .order_by("reviewed_at", "pk")
        .values_list("note__path", "gate__path", "pk", "decision", "gate_snapshot__content_sha256")
    )
    decided = latest_decisions(row[2] for row in rows)
    found: dict[Key, Review] = {}
    for note_path, gate_path, pair_id, decision, gate_sha256 in rows:
        counts = decided.get(pair_id, Decision(decision))
        if (note_path, gate_path) in keys and counts in ACCEPTING_DECISIONS:
            found[note_path, gate_path] = Review(pair_id, counts, gate_sha256)
    return found
