"""Acks the changed pairs of a selection, each only as it was when it was selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec
from django.db import transaction

from review.conf import Config
from review.contracts.acks import AcksJson, RefusedKeyJson
from review.contracts.base import NotThisDocument, decode
from review.contracts.selection import SELECTION_SCHEMA, SelectionInput, TargetInput
from review.corpus import Corpus
from review.domain.identity import gate_path_of, normalise_path
from review.errors import InputRejected
from review.models import batched
from review.orchestration.ack import acked_json, gather, key_json, refused_json
from review.orchestration.ack_moves import GateEdited, NoteEdited, Terms, Wanted, move
from review.orchestration.note_shelf import DraftPair, NoteShelf
from review.orchestration.provenance import canonical_partition
from review.orchestration.selection_input import BadTargets, PartitionNotConcrete
from review.vocabulary import AcceptanceKind, Staleness

_CHUNK = 200
_CHANGES = frozenset({Staleness.NOTE_CHANGED.value, Staleness.GATE_CHANGED.value})


@dataclass(frozen=True)
class AckInputRequest:
    """A selection whose changed pairs are to be acked.

    :param source: what a message calls the input.
    """

    selection: bytes
    source: str
    actor: str
    reason: str = ""


class AckTarget(TargetInput):
    """A target of a selection, with all its reasons and the review it rested on then."""

    reasons: list[str] = []
    accepted_review_pair_id: int | None = None

    @property
    def is_change(self) -> bool:
        """Whether an ack can settle it: something changed since it was accepted."""
        return bool(_CHANGES.intersection(self.reasons or [self.reason]))

    @property
    def identity(self) -> tuple[str, str, str | None, str | None]:
        """What makes two targets the same."""
        return (self.note_path, self.gate_path, self.note_sha256, self.gate_sha256)


def ack_selection(
    request: AckInputRequest, *, corpus: Corpus, config: Config, now: datetime
) -> AcksJson:
    """Ack the note-changed and gate-changed targets whose two files still have the listed hashes.

    The others are refused by name and do not hold these up. A changed gate is taken: whoever hands
    in its hash has seen it.

    :raises NotThisDocument, PartitionNotConcrete, BadTargets: the input is none; nothing was written.
    """
    partition, targets = _read(request, config=config)
    changes = list({item.identity: item for item in targets if item.is_change}.values())
    terms = Terms(
        model_partition=partition,
        kind=AcceptanceKind.ACK,
        actor=request.actor,
        reason=request.reason,
        accept_gate_change=True,
    )
    answer = AcksJson(
        model_partition=partition,
        acked=[],
        already_fresh=[],
        ignored=sum(not item.is_change for item in targets),
    )
    shelf = NoteShelf(corpus)
    for chunk in batched(changes, _CHUNK):
        wanted, refused = _still_as_listed(chunk, corpus=corpus, shelf=shelf)
        with transaction.atomic():
            outcome = move(wanted, terms=terms, now=now)
        answer.acked += acked_json(outcome.acked)
        answer.already_fresh += [key_json(pair) for pair in outcome.fresh]
        answer.refused += [*refused, *refused_json(outcome.refused)]
    return answer


def _read(request: AckInputRequest, *, config: Config) -> tuple[str, list[AckTarget]]:
    source = request.source
    document = decode(request.selection, SelectionInput, source=source)
    if document.schema != SELECTION_SCHEMA:
        raise NotThisDocument(
            f"{source}: schema {document.schema!r}, expected {SELECTION_SCHEMA!r}",
            hint="acks read what review_target_selector --json prints",
        )
    if document.model_partition is None:
        raise PartitionNotConcrete(
            f"{source}: model_partition is null: nothing is accepted for no model",
            hint="select with --model PARTITION",
        )
    targets: list[AckTarget] = []
    faults: list[str] = []
    for index, raw in enumerate(document.targets):
        try:
            targets.append(_target(raw, config=config))
        except (InputRejected, msgspec.DecodeError, UnicodeDecodeError) as error:
            faults.append(f"targets[{index}]: {error}")
    if faults:
        raise BadTargets(f"{source}: {'; '.join(faults[:5])}", hint="nothing was written")
    return canonical_partition(document.model_partition, config=config), targets


def _target(raw: msgspec.Raw, *, config: Config) -> AckTarget:
    target = msgspec.json.decode(raw, type=AckTarget)
    paths = (normalise_path(target.note_path), normalise_path(target.gate_path))
    if paths[1] != gate_path_of(target.gate_id, gates_folder=config.gates_folder):
        raise BadTargets(f"gate_id {target.gate_id!r} is not the gate at {target.gate_path!r}")
    if target.is_change and not (target.note_sha256 and target.gate_sha256):
        raise BadTargets(
            "note_sha256 and gate_sha256 say which texts were looked at; one is missing"
        )
    return msgspec.structs.replace(target, note_path=paths[0], gate_path=paths[1])


def _still_as_listed(
    targets: Sequence[AckTarget], *, corpus: Corpus, shelf: NoteShelf
) -> tuple[list[Wanted], list[RefusedKeyJson]]:
    return gather(targets, lambda target: _pair(target, corpus=corpus, shelf=shelf))


def _pair(target: AckTarget, *, corpus: Corpus, shelf: NoteShelf) -> DraftPair:
    """The pair with the bytes it has now.

    :raises UnreadableFile, NoteEdited, GateEdited: they are not those that were listed.
    """
    pair = DraftPair(shelf.note(target.note_path), corpus.gate(target.gate_path))
    name = f"{target.note_path} {target.gate_id}"
    if pair.note.sha256 != target.note_sha256:
        raise NoteEdited(f"{name}: the note was edited since it was selected")
    if pair.gate.sha256 != target.gate_sha256:
        raise GateEdited(f"{name}: the gate was edited since it was selected")
    return pair
