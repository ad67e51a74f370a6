"""Advance acceptances over changes that do not matter; the review they rest on stays the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction

from review.acceptance.accept import accept
from review.acceptance.documents import AckedJson, AcksJson, KeyJson, RefusedKeyJson
from review.domain.paths import normalise_path
from review.domain.staleness import Digests, staleness_reasons
from review.errors import Conflict, ReviewError
from review.knowledge_base import Corpus, DraftPair, UnreadableFile
from review.models import (
    Acceptance,
    CurrentAcceptance,
    DecisionEvent,
    FileSnapshot,
    ModelPartition,
    ReviewPair,
    ReviewStore,
    batched,
)
from review.selection.documents import TargetInput, TargetJson
from review.selection.gate_names import command_to_review, named_gates, read_named_note
from review.vocabulary import ACCEPTING_DECISIONS, AcceptanceKind, Decision, NotAccepted

Key = tuple[str, str]
_CHUNK = 200


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
class AckOptions:
    """In whose name acceptances move, and whether changed gates are taken too."""

    model_partition: str
    actor: str
    reason: str = ""
    kind: AcceptanceKind = AcceptanceKind.ACK
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


@dataclass(frozen=True)
class Ack:
    """A pair to ack, with the bytes that were read, and the result: fresh if both are None.

    :param expected_review: refuse unless the key rests on this review; None takes any.
    :param review: the one that the ack carries on.
    """

    pair: DraftPair
    expected_review: int | None = None
    review: Review | None = None
    refusal: ReviewError | None = None


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
    with transaction.atomic():
        acks = apply_acks([Ack(DraftPair(note, gate)) for gate in gates], options=request, now=now)
        if errors := [ack.refusal for ack in acks if ack.refusal]:
            message = "; ".join(error.message for error in errors)
            raise type(errors[0])(f"{message}; nothing was acked", hint=errors[0].hint)
    answer = AcksJson(model_partition=request.model_partition, acked=[], already_fresh=[])
    add_acks(answer, acks)
    return answer


def evaluate_acks(acks: Sequence[Ack], *, options: AckOptions) -> list[Ack]:
    """Return the acks with the result that each would have; nothing is written."""
    states = read_pair_states(
        ((ack.pair.note.path, ack.pair.gate.path) for ack in acks),
        model_partition=options.model_partition,
    )
    found = []
    for ack in acks:
        state = states[ack.pair.note.path, ack.pair.gate.path]
        current = Digests(note=ack.pair.note.sha256, gate=ack.pair.gate.sha256)
        if not staleness_reasons(current=current, accepted=state.accepted):
            found.append(replace(ack, review=None))
        elif refusal := _refusal(ack, state, options=options):
            found.append(replace(ack, review=None, refusal=refusal))
        else:
            found.append(replace(ack, review=state.review))
    return found


def apply_acks(acks: Sequence[Ack], *, options: AckOptions, now: datetime) -> list[Ack]:
    """Ack the pairs that can be; the others are refused by name. Call inside a transaction."""
    found = evaluate_acks(acks, options=options)
    if not any(ack.review for ack in found):  # nothing is written, not even the lock taken
        return found
    # Before the evaluation that counts: an ingest that comes in between is either seen or waits.
    ReviewStore.objects.move_acceptances()
    found = evaluate_acks(acks, options=options)
    accepted = [(ack, ack.review) for ack in found if ack.review]
    partition = ModelPartition.objects.get(name=options.model_partition)
    rows = [
        Acceptance(
            **texts,
            model_partition_id=partition.pk,
            kind=options.kind,
            decision=review.decision,
            review_pair_id=review.review_pair_id,
            text_read_at=now,
            actor=options.actor,
            reason=options.reason,
        )
        for (_ack, review), texts in zip(
            accepted, pin_texts([ack.pair for ack, _review in accepted], now=now), strict=True
        )
    ]
    late = accept(rows, now=now)
    superseded = [ack for (ack, _), row in zip(accepted, rows, strict=True) if row in late]
    return [_superseded(ack) if ack in superseded else ack for ack in found]


def pin_texts(pairs: Sequence[DraftPair], *, now: datetime) -> list[dict[str, int]]:
    """Store the texts of the pairs, and return the keys that an acceptance of each pins."""
    texts = [text for pair in pairs for text in (pair.note, pair.gate)]
    keys = FileSnapshot.objects.take(texts, now=now)
    pinned = []
    for pair in pairs:
        note = keys[pair.note.path, pair.note.sha256]
        gate = keys[pair.gate.path, pair.gate.sha256]
        pinned.append(
            {
                "note_id": note.path_id,
                "gate_id": gate.path_id,
                "note_snapshot_id": note.pk,
                "gate_snapshot_id": gate.pk,
            }
        )
    return pinned


def add_acks(answer: AcksJson, acks: Sequence[Ack]) -> None:
    """Add the results of acks to a document."""
    for ack in acks:
        key = key_json(ack.pair)
        if ack.refusal:
            answer.refused.append(refused_json(key, ack.refusal))
        elif ack.review:
            answer.acked.append(
                AckedJson(
                    key.note_path,
                    key.gate_path,
                    key.gate_id,
                    ack.review.review_pair_id,
                    ack.review.decision.value,
                )
            )
        else:
            answer.already_fresh.append(key)


def key_json(pair: DraftPair) -> KeyJson:
    return KeyJson(pair.note.path, pair.gate.path, pair.gate.gate_id)


def refused_json(key: KeyJson | TargetJson | TargetInput, error: ReviewError) -> RefusedKeyJson:
    return RefusedKeyJson(key.note_path, key.gate_path, key.gate_id, code_of(error), error.message)


def code_of(error: ReviewError) -> str:
    """Return the code of a refusal; of a file that cannot be read, that of its problem."""
    return error.problem.code.value if isinstance(error, UnreadableFile) else error.code


def read_pair_states(keys: Iterable[Key], *, model_partition: str) -> dict[Key, PairState]:
    """Return the state of each (note path, gate path) for a partition; of an unknown one, an empty one.

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
    """Return what people decided about the pairs; the last decision of each counts."""
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


def _refusal(ack: Ack, state: PairState, *, options: AckOptions) -> ReviewError | None:
    name = _name(ack.pair)
    review = state.review
    if review is None:
        return NoEvidence(
            f"{name}: no completed review in partition {options.model_partition!r} decided it",
            hint=command_to_review(
                ack.pair.note.path,
                ack.pair.gate.gate_id,
                model_partition=options.model_partition,
            ),
        )
    if ack.expected_review not in (None, review.review_pair_id):
        return ReviewMoved(f"{name}: it rests on review {review.review_pair_id} by now")
    known_gate = state.accepted.gate if state.accepted else review.gate_sha256
    if known_gate != ack.pair.gate.sha256 and not options.accept_gate_change:
        return GateChangedToo(
            f"{name}: the gate changed since its review was accepted",
            hint=f"{_command_to_compare(ack.pair, options)} shows what changed in it;"
            " --accept-gate-change says that it asks the same as before",
        )
    return None


def _superseded(ack: Ack) -> Ack:
    message = f"{_name(ack.pair)}: a later text was accepted in the meantime; select again"
    return replace(ack, review=None, refusal=Superseded(message))


def _command_to_compare(pair: DraftPair, options: AckOptions) -> str:
    words = ["review_target_selector", pair.gate.gate_id, "--note", pair.note.path]
    return f"commonplace {shlex.join([*words, '--model', options.model_partition, '--diff'])}"


def _name(pair: DraftPair) -> str:
    return f"{pair.note.path} {pair.gate.gate_id}"
