"""Record what people decide: an override, or the decision of a review that could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from review.acceptance.accept import accept, key_of
from review.acceptance.ack import (
    GateEdited,
    NoteEdited,
    Superseded,
    key_json,
    latest_decisions,
    pin_texts,
)
from review.acceptance.documents import DecisionSetJson, OverriddenJson
from review.domain.paths import gate_id_of, normalise_path
from review.errors import Conflict, InputRejected, UsageRefused
from review.jobs.provenance import telemetry_contradicts, telemetry_models
from review.knowledge_base import Corpus, DraftPair
from review.models import (
    Acceptance,
    CurrentAcceptance,
    DecisionEvent,
    ModelPartition,
    ReviewPair,
    ReviewStore,
)
from review.selection.gate_names import command_to_review, named_gates, read_named_note
from review.settings.config import Config
from review.vocabulary import AcceptanceKind, Decision, NotAccepted, PairStatus


class UnknownPair(InputRejected):
    """No review pair has this id."""


class PairNotCompleted(Conflict):
    """The pair has no review that could be decided."""


class PairOfTrial(Conflict):
    """The pair tries a gate on one of its cases: it decides nothing about a note."""


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
    """A person's decision about a review; `decision` is pass, warn or fail."""

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
    note = read_named_note(corpus, normalise_path(request.note))
    pairs = [DraftPair(note, gate) for gate in named_gates(corpus, request.gates)]
    _require_texts(pairs, request)
    with transaction.atomic():
        # First, so that the texts below are accepted after whatever was accepted before us.
        ReviewStore.objects.move_acceptances()
        partition, _ = ModelPartition.objects.get_or_create(name=request.model_partition)
        acceptances = [
            Acceptance(
                **texts,
                model_partition_id=partition.pk,
                kind=AcceptanceKind.OVERRIDE,
                decision=Decision.PASS,
                text_read_at=now,
                actor=request.actor,
                reason=request.reason,
            )
            for texts in pin_texts(pairs, now=now)
        ]
        if accept(acceptances, now=now):
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
    :raises UnknownPair, PairNotCompleted, PairOfTrial, PairOfAnotherModel: there is no review to decide.
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
        why_not = NotAccepted.SUPERSEDED.value if superseded else ""
        ReviewPair.objects.completed().filter(pk=pair.pk).update(not_accepted=why_not)
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
        not_accepted_because=why_not or None,
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
            hint=f"first: commonplace ingest_bundle_output --review-job-id {pair.job_id}",
        )
    if pair.not_accepted == NotAccepted.TRIAL:
        raise PairOfTrial(
            f"pair {pair_id} tries a gate on one of its cases: no note is reviewed by it",
            hint="if the case expects the wrong answer, edit the case",
        )
    # An undecided pair of such a job is marked as undecided; the telemetry still tells.
    telemetry = pair.job.telemetry
    ran = telemetry_models(telemetry)
    other = telemetry_contradicts(pair.job.model_partition.name, telemetry, config=config)
    if other or pair.not_accepted == NotAccepted.PARTITION_MISMATCH:
        raise PairOfAnotherModel(
            f"pair {pair_id}: {', '.join(ran) or 'another model'} wrote the review, not partition"
            f" {pair.job.model_partition.name!r}; it is kept as evidence and never accepted",
            hint=command_to_review(
                pair.note.path,
                gate_id_of(pair.gate.path, gates_folder=config.gates_folder),
                model_partition=pair.job.model_partition.name,
            ),
        )
    return pair


def _decided(pair: ReviewPair, request: DecisionRequest) -> list[Acceptance]:
    """Make acceptances of what rests on the review, and of the pair's own key if none does."""
    events = Acceptance.objects.filter(review_pair=pair)
    resting = CurrentAcceptance.objects.filter(
        model_partition_id__in=events.values("model_partition_id"),
        note_id__in=events.values("note_id"),
        gate_id__in=events.values("gate_id"),
        event__review_pair=pair,
    ).select_related("event")
    own = Acceptance(
        model_partition_id=pair.job.model_partition_id,
        note_id=pair.note_id,
        gate_id=pair.gate_id,
        note_snapshot_id=pair.note_snapshot_id,
        gate_snapshot_id=pair.gate_snapshot_id,
        kind=AcceptanceKind.FULL_REVIEW,
        text_read_at=pair.job.created_at,
    )
    found = [row.event for row in resting.order_by("pk")]
    if key_of(own) not in map(key_of, found):
        found.append(own)
    for acceptance in found:
        acceptance.pk = None
        acceptance.review_pair = pair
        acceptance.decision = request.decision
        acceptance.actor, acceptance.reason = request.actor, request.reason
    return found
