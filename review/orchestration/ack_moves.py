"""Weighs pairs that want an ack, and moves those that can be: the part all acks share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from review.domain.staleness import Digests, staleness_reasons
from review.errors import Conflict, ReviewError
from review.models import FileSnapshot, ModelPartition, ReviewStore
from review.orchestration.accepting import Candidate, accept
from review.orchestration.note_shelf import DraftPair, gate_snapshot
from review.queries.evidence import Key, Review, Standing, read_standings
from review.vocabulary import AcceptanceKind, Staleness


class NoEvidence(Conflict):
    """No completed review of the key is decided pass, warn or fail: there is nothing to carry."""


class GateChangedToo(Conflict):
    """The gate asks something else than when the review was accepted, and nobody took that on."""


class NoteEdited(Conflict):
    """The note is not the text that the caller looked at."""


class GateEdited(Conflict):
    """The gate is not the text that the caller looked at."""


class ReviewMoved(Conflict):
    """The key rests on another review than the one that the change was measured against."""


class Superseded(Conflict):
    """A later text of the key was accepted in the meantime."""


@dataclass(frozen=True)
class Terms:
    """In whose name acceptances move, and whether changed gates are taken too."""

    model_partition: str
    kind: AcceptanceKind
    actor: str
    reason: str = ""
    accept_gate_change: bool = False


@dataclass(frozen=True)
class Wanted:
    """A pair to ack, with the bytes that were read.

    :param review_pair_id: refuse unless the key rests on this review; None takes any.
    """

    pair: DraftPair
    review_pair_id: int | None = None

    @property
    def key(self) -> Key:
        """Note and gate path."""
        return (self.pair.note.path, self.pair.gate.path)


@dataclass(frozen=True)
class Acked:
    """A pair whose acceptance moves, and the review that is carried on."""

    pair: DraftPair
    review: Review


@dataclass(frozen=True)
class Refused:
    """A pair that does not move, and why."""

    pair: DraftPair
    error: ReviewError


@dataclass(frozen=True)
class Outcome:
    """What becomes of each pair; a fresh one needs nothing."""

    acked: tuple[Acked, ...] = ()
    fresh: tuple[DraftPair, ...] = ()
    refused: tuple[Refused, ...] = ()


def weigh(wanted: Sequence[Wanted], *, terms: Terms) -> Outcome:
    """Say what would become of each pair; nothing is written."""
    standings = read_standings((item.key for item in wanted), model_partition=terms.model_partition)
    acked: list[Acked] = []
    fresh: list[DraftPair] = []
    refused: list[Refused] = []
    for item in wanted:
        standing = standings[item.key]
        reasons = _reasons(item.pair, standing)
        error = _refusal(item, standing, reasons, terms=terms)
        if not reasons:
            fresh.append(item.pair)
        elif error is not None:
            refused.append(Refused(item.pair, error))
        elif standing.review is not None:
            acked.append(Acked(item.pair, standing.review))
    return Outcome(tuple(acked), tuple(fresh), tuple(refused))


def move(wanted: Sequence[Wanted], *, terms: Terms, now: datetime) -> Outcome:
    """Ack the pairs that can be; the others are refused by name. Call inside a transaction.

    Nothing is written, not even a turn taken, when no pair wants it.
    """
    outcome = weigh(wanted, terms=terms)
    if not outcome.acked:
        return outcome
    # Before the look that counts: an ingest that comes in between is either seen or waits.
    ReviewStore.objects.move_acceptances()
    outcome = weigh(wanted, terms=terms)
    candidates = _candidates(outcome.acked, terms=terms, now=now)
    late = set(accept(list(candidates), now=now))
    superseded = [acked.pair for item, acked in candidates.items() if item in late]
    return Outcome(
        acked=tuple(acked for item, acked in candidates.items() if item not in late),
        fresh=outcome.fresh,
        refused=(*outcome.refused, *(Refused(pair, _superseded(pair)) for pair in superseded)),
    )


def _reasons(pair: DraftPair, standing: Standing) -> tuple[Staleness, ...]:
    current = Digests(note=pair.note.sha256, gate=pair.gate.sha256)
    if standing.accepted is None:
        return staleness_reasons(current=current, accepted=None)
    known = Digests(note=standing.accepted.note_sha256, gate=standing.accepted.gate_sha256)
    return staleness_reasons(current=current, accepted=known)


def _refusal(
    item: Wanted, standing: Standing, reasons: Sequence[Staleness], *, terms: Terms
) -> ReviewError | None:
    name = _name(item.pair)
    review = standing.review
    if review is None:
        return NoEvidence(
            f"{name}: no completed review in partition {terms.model_partition!r} decided it",
            hint="an ack carries a review on: have the pair reviewed",
        )
    if item.review_pair_id not in (None, review.review_pair_id):
        return ReviewMoved(f"{name}: it rests on review {review.review_pair_id} by now")
    known_gate = standing.accepted.gate_sha256 if standing.accepted else review.gate_sha256
    if known_gate != item.pair.gate.sha256 and not terms.accept_gate_change:
        return GateChangedToo(
            f"{name}: the gate changed since its review was accepted",
            hint="read the gate's diff; --accept-gate-change says that it asks the same as before",
        )
    return None


def _candidates(acked: Iterable[Acked], *, terms: Terms, now: datetime) -> dict[Candidate, Acked]:
    items = list(acked)
    texts = [item.pair.note.snapshot for item in items]
    texts += [gate_snapshot(item.pair.gate) for item in items]
    keys = FileSnapshot.objects.take(texts, now=now)
    partition = ModelPartition.objects.get(name=terms.model_partition)
    found: dict[Candidate, Acked] = {}
    for item in items:
        note = keys[item.pair.note.path, item.pair.note.sha256]
        gate = keys[item.pair.gate.path, item.pair.gate.sha256]
        candidate = Candidate(
            note_id=note.path_id,
            gate_id=gate.path_id,
            model_partition_id=partition.pk,
            note_snapshot_id=note.snapshot_id,
            gate_snapshot_id=gate.snapshot_id,
            kind=terms.kind,
            decision=item.review.decision,
            review_pair_id=item.review.review_pair_id,
            text_read_at=now,
            actor=terms.actor,
            reason=terms.reason,
        )
        found[candidate] = item
    return found


def _superseded(pair: DraftPair) -> Superseded:
    return Superseded(f"{_name(pair)}: a later text was accepted in the meantime; select again")


def _name(pair: DraftPair) -> str:
    return f"{pair.note.path} {pair.gate.gate_id}"
