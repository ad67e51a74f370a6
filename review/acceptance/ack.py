"""Advances acceptances over changes that do not matter; the review they rest on stays the same."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from django.db import transaction

from review.acceptance.accept import Candidate, accept
from review.acceptance.documents import AckedJson, AcksJson, KeyJson, RefusedKeyJson
from review.acceptance.evidence import PairState, Review, read_pair_states
from review.domain.staleness import Digests, staleness_reasons
from review.errors import Conflict, ReviewError
from review.knowledge_base import Corpus, UnreadableFile
from review.models import FileSnapshot, ModelPartition, ReviewStore
from review.selection.documents import TargetInput, TargetJson
from review.selection.names import command_to_review, named_gates, named_note
from review.selection.note_cache import DraftPair, NoteCache, gate_snapshot
from review.vocabulary import AcceptanceKind


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
class AckRequest:
    """The pairs of one note to ack, and what the caller has looked at.

    :param gates: gate ids or paths; a bundle is none.
    :param expect_note_sha256: refuse unless these are the note's bytes; None takes any.
    """

    note: str
    gates: tuple[str, ...]
    model_partition: str
    actor: str
    reason: str = ""
    expect_note_sha256: str | None = None
    accept_gate_change: bool = False


@dataclass(frozen=True)
class AckOptions:
    """In whose name acceptances move, and whether changed gates are taken too."""

    model_partition: str
    kind: AcceptanceKind
    actor: str
    reason: str = ""
    accept_gate_change: bool = False


@dataclass(frozen=True)
class AckCandidate:
    """A pair to ack, with the bytes that were read.

    :param review_pair_id: refuse unless the key rests on this review; None takes any.
    """

    pair: DraftPair
    review_pair_id: int | None = None


@dataclass(frozen=True)
class AckOutcome:
    """What becomes of each pair: acked with the review it carries on, fresh already, or refused."""

    acked: tuple[tuple[DraftPair, Review], ...] = ()
    fresh: tuple[DraftPair, ...] = ()
    refused: tuple[tuple[DraftPair, ReviewError], ...] = ()

    def add_to(self, answer: AcksJson) -> None:
        """Add the pairs to a document."""
        answer.acked += [
            AckedJson(
                **_names(pair), review_pair_id=review.review_pair_id, decision=review.decision.value
            )
            for pair, review in self.acked
        ]
        answer.already_fresh += map(key_json, self.fresh)
        answer.refused += [refused_json(key_json(pair), error) for pair, error in self.refused]


class PairNames(TypedDict):
    """How documents name a pair."""

    note_path: str
    gate_path: str
    gate_id: str


class PinnedTexts(TypedDict):
    """The keys of the texts that an acceptance pins."""

    note_id: int
    gate_id: int
    note_snapshot_id: int
    gate_snapshot_id: int


def ack_gate_review(request: AckRequest, *, corpus: Corpus, now: datetime) -> AcksJson:
    """Ack pairs of one note: all of them, or none and the reasons.

    :raises NoSuchNote, UnknownGate, NotOneGate, UnreadableFile: a name stands for no file to read.
    :raises NoteEdited, GateChangedToo, NoEvidence, Superseded: see there; nothing was written.
    """
    gates = named_gates(corpus, request.gates)
    note = named_note(corpus, NoteCache(corpus), request.note)
    if request.expect_note_sha256 not in (None, note.sha256):
        raise NoteEdited(
            f"{note.path} is {note.sha256} now, not {request.expect_note_sha256}",
            hint="it was edited since you read it: look at the change again",
        )
    options = AckOptions(
        model_partition=request.model_partition,
        kind=AcceptanceKind.ACK,
        actor=request.actor,
        reason=request.reason,
        accept_gate_change=request.accept_gate_change,
    )
    answer = AcksJson(model_partition=request.model_partition, acked=[], already_fresh=[])
    with transaction.atomic():
        candidates = [AckCandidate(DraftPair(note, gate)) for gate in gates]
        outcome = apply_acks(candidates, options=options, now=now)
        if outcome.refused:
            errors = [error for _pair, error in outcome.refused]
            message = "; ".join(error.message for error in errors)
            raise type(errors[0])(f"{message}; nothing was acked", hint=errors[0].hint)
    outcome.add_to(answer)
    return answer


def evaluate_acks(candidates: Sequence[AckCandidate], *, options: AckOptions) -> AckOutcome:
    """Say what would become of each pair; nothing is written."""
    states = read_pair_states(
        ((item.pair.note.path, item.pair.gate.path) for item in candidates),
        model_partition=options.model_partition,
    )
    acked: list[tuple[DraftPair, Review]] = []
    fresh: list[DraftPair] = []
    refused: list[tuple[DraftPair, ReviewError]] = []
    for item in candidates:
        pair = item.pair
        state = states[pair.note.path, pair.gate.path]
        current = Digests(note=pair.note.sha256, gate=pair.gate.sha256)
        if not staleness_reasons(current=current, accepted=state.accepted):
            fresh.append(pair)
        elif (error := _refusal(item, state, options=options)) is not None:
            refused.append((pair, error))
        elif state.review is not None:
            acked.append((pair, state.review))
    return AckOutcome(tuple(acked), tuple(fresh), tuple(refused))


def apply_acks(
    candidates: Sequence[AckCandidate], *, options: AckOptions, now: datetime
) -> AckOutcome:
    """Ack the pairs that can be; the others are refused by name. Call inside a transaction."""
    outcome = evaluate_acks(candidates, options=options)
    if not outcome.acked:  # nothing is written, not even the lock taken
        return outcome
    # Before the evaluation that counts: an ingest that comes in between is either seen or waits.
    ReviewStore.objects.move_acceptances()
    outcome = evaluate_acks(candidates, options=options)
    acceptances = _acceptances(outcome.acked, options=options, now=now)
    late = set(accept(acceptances, now=now))
    results = list(zip(outcome.acked, acceptances, strict=True))
    return AckOutcome(
        acked=tuple(acked for acked, candidate in results if candidate not in late),
        fresh=outcome.fresh,
        refused=(
            *outcome.refused,
            *((pair, _superseded(pair)) for (pair, _), candidate in results if candidate in late),
        ),
    )


def pin_texts(pairs: Sequence[DraftPair], *, now: datetime) -> list[PinnedTexts]:
    """Keep the texts of the pairs, and give the keys that an acceptance of each pins."""
    texts = [text for pair in pairs for text in (pair.note.snapshot, gate_snapshot(pair.gate))]
    keys = FileSnapshot.objects.take(texts, now=now)
    pinned = []
    for pair in pairs:
        note = keys[pair.note.path, pair.note.sha256]
        gate = keys[pair.gate.path, pair.gate.sha256]
        pinned.append(
            PinnedTexts(
                note_id=note.path_id,
                gate_id=gate.path_id,
                note_snapshot_id=note.snapshot_id,
                gate_snapshot_id=gate.snapshot_id,
            )
        )
    return pinned


def key_json(pair: DraftPair) -> KeyJson:
    """A pair, for a document."""
    return KeyJson(**_names(pair))


def refused_json(key: KeyJson | TargetJson | TargetInput, error: ReviewError) -> RefusedKeyJson:
    """A refused pair, for a document."""
    return RefusedKeyJson(
        note_path=key.note_path,
        gate_path=key.gate_path,
        gate_id=key.gate_id,
        code=code_of(error),
        message=error.message,
    )


def code_of(error: ReviewError) -> str:
    """The name of a refusal; of a file that cannot be read, what is wrong with it."""
    return error.problem.code.value if isinstance(error, UnreadableFile) else error.code


def _refusal(item: AckCandidate, state: PairState, *, options: AckOptions) -> ReviewError | None:
    name = _name(item.pair)
    review = state.review
    if review is None:
        return NoEvidence(
            f"{name}: no completed review in partition {options.model_partition!r} decided it",
            hint=command_to_review(
                item.pair.note.path,
                item.pair.gate.gate_id,
                model_partition=options.model_partition,
            ),
        )
    if item.review_pair_id not in (None, review.review_pair_id):
        return ReviewMoved(f"{name}: it rests on review {review.review_pair_id} by now")
    known_gate = state.accepted.gate if state.accepted else review.gate_sha256
    if known_gate != item.pair.gate.sha256 and not options.accept_gate_change:
        return GateChangedToo(
            f"{name}: the gate changed since its review was accepted",
            hint=f"{_command_to_compare(item.pair, options)} shows what changed in it;"
            " --accept-gate-change says that it asks the same as before",
        )
    return None


def _acceptances(
    acked: Iterable[tuple[DraftPair, Review]], *, options: AckOptions, now: datetime
) -> list[Candidate]:
    items = list(acked)
    partition = ModelPartition.objects.get(name=options.model_partition)
    return [
        Candidate(
            **texts,
            model_partition_id=partition.pk,
            kind=options.kind,
            decision=review.decision,
            review_pair_id=review.review_pair_id,
            text_read_at=now,
            actor=options.actor,
            reason=options.reason,
        )
        for (_pair, review), texts in zip(
            items, pin_texts([pair for pair, _review in items], now=now), strict=True
        )
    ]


def _superseded(pair: DraftPair) -> Superseded:
    return Superseded(f"{_name(pair)}: a later text was accepted in the meantime; select again")


def _command_to_compare(pair: DraftPair, options: AckOptions) -> str:
    words = ["review_target_selector", pair.gate.gate_id, "--note", pair.note.path]
    return f"commonplace {shlex.join([*words, '--model', options.model_partition, '--diff'])}"


def _name(pair: DraftPair) -> str:
    return f"{pair.note.path} {pair.gate.gate_id}"


def _names(pair: DraftPair) -> PairNames:
    return PairNames(note_path=pair.note.path, gate_path=pair.gate.path, gate_id=pair.gate.gate_id)
