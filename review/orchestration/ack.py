"""Advances acceptances over changes that do not matter; the review they rest on stays the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from django.db import transaction

from review.contracts.acks import AckedJson, AcksJson, KeyJson, RefusedKeyJson
from review.corpus import Corpus, UnreadableFile
from review.errors import ReviewError
from review.orchestration.ack_moves import Acked, NoteEdited, Outcome, Refused, Terms, Wanted, move
from review.orchestration.naming import named_gates, named_note
from review.orchestration.note_shelf import DraftPair, NoteShelf
from review.vocabulary import AcceptanceKind


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


def ack_gate_review(request: AckRequest, *, corpus: Corpus, now: datetime) -> AcksJson:
    """Ack pairs of one note: all of them, or none and the reasons.

    :raises NoSuchNote, UnknownGate, NotOneGate, UnreadableFile: a name stands for no file to read.
    :raises NoteEdited, GateChangedToo, NoEvidence, Superseded: see there; nothing was written.
    """
    gates = named_gates(corpus, request.gates)
    note = named_note(corpus, NoteShelf(corpus), request.note)
    if request.expect_note_sha256 not in (None, note.sha256):
        raise NoteEdited(
            f"{note.path} is {note.sha256} now, not {request.expect_note_sha256}",
            hint="it was edited since you read it: look at the change again",
        )
    terms = Terms(
        model_partition=request.model_partition,
        kind=AcceptanceKind.ACK,
        actor=request.actor,
        reason=request.reason,
        accept_gate_change=request.accept_gate_change,
    )
    wanted = [Wanted(DraftPair(note, gate)) for gate in gates]
    with transaction.atomic():
        outcome = move(wanted, terms=terms, now=now)
        _refuse_all(outcome)
    return AcksJson(
        model_partition=request.model_partition,
        acked=acked_json(outcome.acked),
        already_fresh=[key_json(pair) for pair in outcome.fresh],
    )


def acked_json(acked: Iterable[Acked]) -> list[AckedJson]:
    """Pairs that moved, for a document."""
    return [
        AckedJson(
            note_path=item.pair.note.path,
            gate_path=item.pair.gate.path,
            gate_id=item.pair.gate.gate_id,
            review_pair_id=item.review.review_pair_id,
            decision=item.review.decision.value,
        )
        for item in acked
    ]


def key_json(pair: DraftPair) -> KeyJson:
    """A pair, for a document."""
    return KeyJson(note_path=pair.note.path, gate_path=pair.gate.path, gate_id=pair.gate.gate_id)


def refused_json(refused: Iterable[Refused]) -> list[RefusedKeyJson]:
    """Pairs that were refused, for a document."""
    return [refused_pair(key_json(item.pair), item.error) for item in refused]


class NamedPair(Protocol):
    """A note and a gate by name, as a selection lists them."""

    note_path: str
    gate_path: str
    gate_id: str


def refused_pair(pair: NamedPair, error: ReviewError) -> RefusedKeyJson:
    """The refusal of one listed pair, as data."""
    return RefusedKeyJson(
        note_path=pair.note_path,
        gate_path=pair.gate_path,
        gate_id=pair.gate_id,
        code=code_of(error),
        message=error.message,
    )


class ListedTarget(NamedPair, Protocol):
    """A pair of a selection, with the review it rested on when it was listed."""

    accepted_review_pair_id: int | None


_Target = TypeVar("_Target", bound=ListedTarget)


def gather(
    targets: Iterable[_Target], pair_of: Callable[[_Target], DraftPair]
) -> tuple[list[Wanted], list[RefusedKeyJson]]:
    """The pairs with the bytes they have now; those that cannot be had are refused as data.

    :param pair_of: raises a `ReviewError` where the texts are not those that were listed.
    """
    wanted: list[Wanted] = []
    refused: list[RefusedKeyJson] = []
    for target in targets:
        try:
            pair = pair_of(target)
        except ReviewError as error:
            refused.append(refused_pair(target, error))
        else:
            wanted.append(Wanted(pair, target.accepted_review_pair_id))
    return wanted, refused


def code_of(error: ReviewError) -> str:
    """The name of a refusal; of a file that cannot be read, what is wrong with it."""
    return error.problem.code.value if isinstance(error, UnreadableFile) else error.code


def _refuse_all(outcome: Outcome) -> None:
    """Raise the first refusal with the messages of all."""
    if not outcome.refused:
        return
    errors = [item.error for item in outcome.refused]
    first = errors[0]
    message = "; ".join(error.message for error in errors)
    raise type(first)(f"{message}; nothing was acked", hint=first.hint)
