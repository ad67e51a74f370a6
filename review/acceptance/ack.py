"""Advance acceptances over changes that do not matter; the review they rest on stays the same."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.db.models.functions import Coalesce

from review.acceptance.accept import accept, of_texts
from review.acceptance.documents import AckedJson, AcksJson, KeyJson, RefusedKeyJson
from review.domain.paths import normalise_path
from review.domain.staleness import Digests, staleness_reasons
from review.errors import Conflict, ReviewError
from review.knowledge_base import Corpus, DraftPair, UnreadableFile
from review.models import (
    CurrentAcceptance,
    DecisionEvent,
    FileSnapshot,
    ModelPartition,
    ReviewPair,
    ReviewStore,
)
from review.selection.documents import TargetInput, TargetJson
from review.selection.names import command_to_review, named_gates, read_named_note
from review.vocabulary import ACCEPTING_DECISIONS, AcceptanceKind, Decision, NotAccepted

Key = tuple[str, str]


class NoEvidence(Conflict):
    """No completed review of the key is decided pass, warn or fail: there is nothing to carry."""


class GateChangedToo(Conflict):
    """The gate changed since the review was accepted, and the ack does not cover that."""


class NoteEdited(Conflict):
    """The note is not the text that the caller looked at."""


class GateEdited(Conflict):
    """The gate is not the text that the caller looked at."""


class ReviewMoved(Conflict):
    """The key rests on another review than the one that the change was measured against."""


class Superseded(Conflict):
    """A later text of the key was accepted in the meantime."""


@dataclass(frozen=True, kw_only=True)
class MoveOptions:
    """In whose name acceptances move, and in which way."""

    model_partition: str
    actor: str
    reason: str = ""
    kind: AcceptanceKind = AcceptanceKind.ACK


@dataclass(frozen=True, kw_only=True)
class AckOptions(MoveOptions):
    """How to ack; changed gates are refused unless they are accepted too."""

    accept_gate_change: bool = False


@dataclass(frozen=True, kw_only=True)
class AckRequest(AckOptions):
    """The pairs of one note to ack, and what the caller has looked at.

    :param gates: gate ids or paths; a bundle is none.
    :param expect_note_sha256: refuse unless these are the note's bytes; None takes any.
    """

    note: str
    gates: tuple[str, ...]
    expect_note_sha256: str | None = None


class Ack(NamedTuple):
    """A pair to ack, with the bytes that were read.

    :param expected_review: refuse unless the key rests on this review; None takes any.
    """

    pair: DraftPair
    expected_review: int | None = None


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


def ack_gate_review(request: AckRequest, *, corpus: Corpus, now: datetime) -> AcksJson:
    """Ack pairs of one note: all of them, or none and the reasons.

    :raises NoSuchNote, UnknownGate, NotOneGate, UnreadableFile: a name stands for no file to read.
    :raises NoteEdited, GateChangedToo, NoEvidence, Superseded: see there; nothing was written.
    """
    gates = named_gates(corpus, request.gates)
    note = read_named_note(corpus, normalise_path(request.note))
    if request.expect_note_sha256 not in (None, note.sha256):
        raise NoteEdited(
            f"{note.path} is {note.sha256} now, not {request.expect_note_sha256}",
            hint="it was edited since you read it: look at the change again",
        )
    answer = AcksJson(model_partition=request.model_partition, acked=[], already_fresh=[])
    with transaction.atomic():
        acks = [Ack(DraftPair(note, gate)) for gate in gates]
        if errors := apply_acks(acks, answer, options=request, now=now):
            message = "; ".join(error.message for error in errors)
            raise type(errors[0])(f"{message}; nothing was acked", hint=errors[0].hint)
    return answer


def apply_acks(
    acks: Sequence[Ack], answer: AcksJson, *, options: AckOptions, now: datetime | None
) -> list[ReviewError]:
    """Ack the pairs that can be, and add the results to the answer; return the refusals.

    Call inside a transaction.

    :param now: None only evaluates them.
    """
    if now is not None:
        # First, so that an ingest that comes in between is either seen or waits.
        ReviewStore.objects.take_turn()
    states = read_pair_states(
        {(pair.note.path, pair.gate.path) for pair, _expected in acks},
        model_partition=options.model_partition,
    )
    stale: list[tuple[DraftPair, Decision, int | None]] = []
    refused: list[tuple[DraftPair, ReviewError]] = []
    for ack in acks:
        pair, state = ack.pair, states[ack.pair.note.path, ack.pair.gate.path]
        current = Digests(note=pair.note.sha256, gate=pair.gate.sha256)
        if not staleness_reasons(current=current, accepted=state.accepted):
            answer.already_fresh.append(key_json(pair))
        elif refusal := _refusal(ack, state, options=options):
            refused.append((pair, refusal))
        elif state.review:
            stale.append((pair, state.review.decision, state.review.review_pair_id))
    accepted = [True] * len(stale) if now is None else accept_now(stale, options, now=now)
    for (pair, decision, pair_id), is_accepted in zip(stale, accepted, strict=True):
        if is_accepted:
            names = (pair.note.path, pair.gate.path, pair.gate.gate_id)
            answer.acked.append(AckedJson(*names, pair_id or 0, decision.value))
        else:
            late = "a later text was accepted in the meantime; select again"
            refused.append((pair, Superseded(f"{_name(pair)}: {late}")))
    answer.refused += [refused_json(key_json(pair), error) for pair, error in refused]
    return [error for _pair, error in refused]


def accept_now(
    pairs: Sequence[tuple[DraftPair, Decision, int | None]], options: MoveOptions, *, now: datetime
) -> list[bool]:
    """Accept today's texts of pairs with a decision, on a review or none; False: superseded.

    Call inside a transaction.
    """
    sides = [side for pair, *_evidence in pairs for side in (pair.note, pair.gate)]
    texts = {(side.path, side.sha256): side.text for side in sides}
    keys = FileSnapshot.objects.take(texts, now=now)
    partition, _ = ModelPartition.objects.get_or_create(name=options.model_partition)
    rows = []
    for pair, decision, review_pair_id in pairs:
        note, gate = (keys[text.path, text.sha256] for text in (pair.note, pair.gate))
        rows.append(
            of_texts(
                note,
                gate,
                model_partition_id=partition.pk,
                kind=options.kind,
                decision=decision,
                review_pair_id=review_pair_id,
                text_read_at=now,
                actor=options.actor,
                reason=options.reason,
            )
        )
    superseded = accept(rows, now=now)
    return [row not in superseded for row in rows]


def key_json(pair: DraftPair) -> KeyJson:
    return KeyJson(pair.note.path, pair.gate.path, pair.gate.gate_id)


def refused_json(key: KeyJson | TargetJson | TargetInput, error: ReviewError) -> RefusedKeyJson:
    return RefusedKeyJson(key.note_path, key.gate_path, key.gate_id, code_of(error), error.message)


def code_of(error: ReviewError) -> str:
    """Return the code of a refusal; of a file that cannot be read, that of its problem."""
    return error.problem.code.value if isinstance(error, UnreadableFile) else error.code


def read_pair_states(keys: Collection[Key], *, model_partition: str) -> dict[Key, PairState]:
    """Return the state of each (note path, gate path) for a partition; of an unknown one, an empty one.

    The review is the current acceptance's; a key that has none (an override's) has the latest
    completed pair that was decided pass, warn or fail by a model of its partition.

    :param keys: a few hundred at most.
    """
    states = dict.fromkeys(keys, PairState())
    accepted = CurrentAcceptance.objects.of_partition(model_partition).filter(
        note__path__in={note for note, _gate in keys}, gate__path__in={gate for _note, gate in keys}
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
        note_path, gate_path, *digests, decision, pair_id, judged = row
        review = Review(pair_id, Decision(decision), judged) if pair_id else None
        if (note_path, gate_path) in states:
            states[note_path, gate_path] = PairState(Digests(*digests), review)
    without = {key for key in states if states[key].review is None}
    for key, review in _latest_reviews(without, model_partition).items():
        states[key] = replace(states[key], review=review)
    return states


def _latest_reviews(keys: Collection[Key], model_partition: str) -> dict[Key, Review]:
    if not keys:
        return {}
    by_people = DecisionEvent.objects.filter(pair=OuterRef("pk")).order_by("-pk")
    rows = (
        ReviewPair.objects.completed()
        .filter(
            note__path__in={note for note, _gate in keys},
            gate__path__in={gate for _note, gate in keys},
            job__model_partition__name=model_partition,
        )
        .exclude(not_accepted=NotAccepted.PARTITION_MISMATCH)
        .annotate(counts=Coalesce(Subquery(by_people.values("decision")[:1]), "decision"))
        .filter(counts__in=ACCEPTING_DECISIONS)
        .order_by("reviewed_at", "pk")
        .values_list("note__path", "gate__path", "pk", "counts", "gate_snapshot__content_sha256")
    )
    return {
        (note_path, gate_path): Review(pair_id, Decision(decision), gate_sha256)
        for note_path, gate_path, pair_id, decision, gate_sha256 in rows
        if (note_path, gate_path) in keys
    }


def _refusal(ack: Ack, state: PairState, *, options: AckOptions) -> ReviewError | None:
    name, review, gate = _name(ack.pair), state.review, ack.pair.gate
    if review is None:
        return NoEvidence(
            f"{name}: no completed review in partition {options.model_partition!r} decided it",
            hint=command_to_review(
                ack.pair.note.path, gate.gate_id, model_partition=options.model_partition
            ),
        )
    if ack.expected_review not in (None, review.review_pair_id):
        return ReviewMoved(f"{name}: it rests on review {review.review_pair_id} by now")
    known_gate = state.accepted.gate if state.accepted else review.gate_sha256
    if known_gate != gate.sha256 and not options.accept_gate_change:
        words = ["review_target_selector", gate.gate_id, "--note", ack.pair.note.path]
        command = shlex.join([*words, "--model", options.model_partition, "--diff"])
        return GateChangedToo(
            f"{name}: the gate changed since its review was accepted",
            hint=f"commonplace {command} shows what changed in it;"
            " --accept-gate-change says that it asks the same as before",
        )
    return None


def _name(pair: DraftPair) -> str:
    return f"{pair.note.path} {pair.gate.gate_id}"
