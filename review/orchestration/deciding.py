"""Records what people decide: an override, or the decision of a review that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from review.conf import Config
from review.contracts.acks import DecisionSetJson, OverriddenJson
from review.corpus import Corpus
from review.domain.identity import gate_id_of
from review.errors import Conflict, InputRejected, UsageRefused
from review.models import (
    Acceptance,
    CurrentAcceptance,
    DecisionEvent,
    FileSnapshot,
    ModelPartition,
    ReviewPair,
    ReviewStore,
)
from review.orchestration.accepting import Candidate, accept
from review.orchestration.ack import key_json
from review.orchestration.ack_moves import GateEdited, NoteEdited, Superseded
from review.orchestration.naming import named_gates, named_note
from review.orchestration.note_shelf import DraftPair, NoteShelf, gate_snapshot
from review.orchestration.provenance import telemetry_contradicts, telemetry_models
from review.queries.evidence import latest_decisions
from review.vocabulary import AcceptanceKind, Decision, NotAccepted, PairStatus


class UnknownPair(InputRejected):
    """No review pair has this id."""


class PairNotCompleted(Conflict):
    """The pair has no review that could be decided."""


class PairOfAnotherModel(Conflict):
    """Another model than the partition's wrote the review: it is evidence, never an acceptance."""


@dataclass(frozen=True)
class OverrideRequest:
    """The pairs of one note that a person accepts as they are, and why.

    :param gates: gate ids or paths; a bundle is none.
    :param expect_note_sha256: refuse unless these are the note's bytes; None takes any.
    :param expect_gate_sha256: the same for every one of the gates.
    """

    note: str
    gates: tuple[str, ...]
    model_partition: str
    reason: str
    actor: str
    expect_note_sha256: str | None = None
    expect_gate_sha256: str | None = None


@dataclass(frozen=True)
class DecisionRequest:
    """What a person read in a review; `decision` is pass, warn or fail."""

    review_pair_id: int
    decision: Decision
    reason: str
    actor: str


def override_acceptance(
    request: OverrideRequest, *, corpus: Corpus, now: datetime
) -> OverriddenJson:
    """Accept today's texts of the pairs as passed, without a review: all of them, or none.

    :raises UsageRefused: no reason or no actor is given.
    :raises NoSuchNote, UnknownGate, NotOneGate, UnreadableFile: a name stands for no file to read.
    :raises NoteEdited, GateEdited: a text is not the one that was expected; nothing was written.
    :raises Superseded: a later text was accepted in the meantime; nothing was written.
    """
    _require_words(reason=request.reason, actor=request.actor)
    note = named_note(corpus, NoteShelf(corpus), request.note)
    pairs = [DraftPair(note, gate) for gate in named_gates(corpus, request.gates)]
    _require_texts(pairs, request)
    with transaction.atomic():
        # First, so that the texts below are accepted after whatever was accepted before us.
        ReviewStore.objects.move_acceptances()
        superseded = accept(_overrides(pairs, request, now=now), now=now)
        if superseded:
            raise Superseded(
                f"{note.path}: a later text was accepted in the meantime; nothing was written"
            )
    return OverriddenJson(
        model_partition=request.model_partition,
        overridden=[key_json(pair) for pair in pairs],
        reason=request.reason,
        actor=request.actor,
    )


def set_decision(request: DecisionRequest, *, config: Config, now: datetime) -> DecisionSetJson:
    """Decide a completed pair; the decision is kept, and accepted unless it is superseded.

    What the pair's texts were acked to or carried over to keeps its texts and takes the decision.

    :raises UsageRefused: no reason or no actor is given.
    :raises UnknownPair, PairNotCompleted, PairOfAnotherModel: there is no review to decide.
    """
    _require_words(reason=request.reason, actor=request.actor)
    pair = _require_pair(request.review_pair_id, config=config)
    gate_id = gate_id_of(pair.gate.path, gates_folder=config.gates_folder)
    with transaction.atomic():
        # First: of two people deciding at once, the one whose event is later is accepted later.
        ReviewStore.objects.move_acceptances()
        was = latest_decisions([pair.pk]).get(pair.pk, Decision(pair.decision))
        DecisionEvent.objects.create(
            pair=pair,
            decision=request.decision,
            actor=request.actor,
            reason=request.reason,
            at=now,
        )
        superseded = accept(_decided(pair, request), now=now)
        why_not = NotAccepted.SUPERSEDED if superseded else None
        ReviewPair.objects.settle(pair.pk, not_accepted=why_not)
    return DecisionSetJson(
        review_pair_id=pair.pk,
        review_job_id=pair.job_id,
        note_path=pair.note.path,
        gate_path=pair.gate.path,
        gate_id=gate_id,
        model_partition=pair.job.model_partition.name,
        decision=request.decision.value,
        was=was.value,
        accepted=not superseded,
        not_accepted_because=why_not and why_not.value,
    )


def _require_words(*, reason: str, actor: str) -> None:
    if not reason.strip():
        raise UsageRefused("a person's decision needs a reason: --reason R")
    if not actor.strip():
        raise UsageRefused("a person's decision needs to say whose it is: --actor A")


def _require_texts(pairs: Sequence[DraftPair], request: OverrideRequest) -> None:
    for pair in pairs:
        name = f"{pair.note.path} {pair.gate.gate_id}"
        if request.expect_note_sha256 not in (None, pair.note.sha256):
            raise NoteEdited(f"{name}: the note was edited since you read it", hint=_READ_AGAIN)
        if request.expect_gate_sha256 not in (None, pair.gate.sha256):
            raise GateEdited(f"{name}: the gate was edited since you read it", hint=_READ_AGAIN)


_READ_AGAIN = "look at it again; nothing was written"


def _overrides(
    pairs: Sequence[DraftPair], request: OverrideRequest, *, now: datetime
) -> list[Candidate]:
    texts = [pair.note.snapshot for pair in pairs] + [gate_snapshot(pair.gate) for pair in pairs]
    keys = FileSnapshot.objects.take(texts, now=now)
    partition = ModelPartition.objects.intern(request.model_partition)
    candidates = []
    for pair in pairs:
        note = keys[pair.note.path, pair.note.sha256]
        gate = keys[pair.gate.path, pair.gate.sha256]
        candidates.append(
            Candidate(
                note_id=note.path_id,
                gate_id=gate.path_id,
                model_partition_id=partition.pk,
                note_snapshot_id=note.snapshot_id,
                gate_snapshot_id=gate.snapshot_id,
                kind=AcceptanceKind.OVERRIDE,
                decision=Decision.PASS,
                review_pair_id=None,
                text_read_at=now,
                actor=request.actor,
                reason=request.reason,
            )
        )
    return candidates


def _require_pair(pair_id: int, *, config: Config) -> ReviewPair:
    pair = (
        ReviewPair.objects.select_related("job__model_partition", "note", "gate")
        .filter(pk=pair_id)
        .first()
    )
    if pair is None:
        raise UnknownPair(
            f"no review pair {pair_id} in this store",
            hint="list what waits for a decision: commonplace warn_selector --needs-a-look --json",
        )
    if pair.status != PairStatus.COMPLETED:
        raise PairNotCompleted(
            f"pair {pair_id} is {pair.status}: it has no review to decide",
            hint=f"ingest the output of job {pair.job_id} first",
        )
    # An undecided pair of such a job is marked as undecided; the telemetry still tells.
    telemetry = pair.job.telemetry
    ran = telemetry_models(telemetry)
    other = telemetry_contradicts(pair.job.model_partition.name, telemetry, config=config)
    if other or pair.not_accepted == NotAccepted.PARTITION_MISMATCH:
        raise PairOfAnotherModel(
            f"pair {pair_id}: {', '.join(ran) or 'another model'} wrote the review, not partition"
            f" {pair.job.model_partition.name!r}; it is kept as evidence and never accepted",
            hint="have the pair reviewed by the partition's model",
        )
    return pair


def _decided(pair: ReviewPair, request: DecisionRequest) -> list[Candidate]:
    """The pair's own key first, unless its current acceptance rests on the pair already."""
    resting = _resting_on(pair)
    own = (pair.job.model_partition_id, pair.note_id, pair.gate_id)
    candidates = [
        _candidate(
            request,
            texts=row,
            partition_id=row.model_partition_id,
            kind=AcceptanceKind(row.event.kind),
            text_read_at=row.event.text_read_at,
        )
        for row in resting
    ]
    if own not in {item.key for item in candidates}:
        candidates.append(
            _candidate(
                request,
                texts=pair,
                partition_id=pair.job.model_partition_id,
                kind=AcceptanceKind.FULL_REVIEW,
                text_read_at=pair.job.created_at,
            )
        )
    return candidates


def _candidate(
    request: DecisionRequest,
    *,
    texts: ReviewPair | CurrentAcceptance,
    partition_id: int,
    kind: AcceptanceKind,
    text_read_at: datetime,
) -> Candidate:
    return Candidate(
        note_id=texts.note_id,
        gate_id=texts.gate_id,
        model_partition_id=partition_id,
        note_snapshot_id=texts.note_snapshot_id,
        gate_snapshot_id=texts.gate_snapshot_id,
        kind=kind,
        decision=request.decision,
        review_pair_id=request.review_pair_id,
        text_read_at=text_read_at,
        actor=request.actor,
        reason=request.reason,
    )


def _resting_on(pair: ReviewPair) -> list[CurrentAcceptance]:
    """Current acceptances with this review, found by the keys that ever had it."""
    events = Acceptance.objects.filter(review_pair=pair)
    keys = set(events.values_list("model_partition_id", "note_id", "gate_id"))
    rows = CurrentAcceptance.objects.filter(
        model_partition_id__in={key[0] for key in keys},
        note_id__in={key[1] for key in keys},
        gate_id__in={key[2] for key in keys},
        event__review_pair=pair,
    )
    return list(rows.select_related("event").order_by("pk"))
