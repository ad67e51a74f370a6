"""Record what people decide: an override, or the decision of a review that could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from review.acceptance.accept import accept, key_of, of_review
from review.acceptance.ack import (
    GateEdited,
    MoveOptions,
    NoteEdited,
    Superseded,
    accept_now,
    key_json,
)
from review.acceptance.documents import DecisionSetJson, OverriddenJson
from review.domain.paths import gate_id_of, normalise_path
from review.errors import Conflict, InputRejected
from review.jobs.provenance import telemetry_contradicts, telemetry_models
from review.knowledge_base import Corpus, DraftPair
from review.models import Acceptance, CurrentAcceptance, DecisionEvent, ReviewPair, ReviewStore
from review.selection.names import command_to_review, named_gates, read_named_note
from review.settings import Config
from review.vocabulary import AcceptanceKind, Decision, NotAccepted, PairStatus

_READ_AGAIN = "look at it again; nothing was written"


class UnknownPair(InputRejected):
    """No review pair has this id."""


class PairNotCompleted(Conflict):
    """The pair has no review that could be decided."""


class PairOfTrial(Conflict):
    """The pair tries a gate on one of its cases: it decides nothing about a note."""


class PairOfAnotherModel(Conflict):
    """Another model than the partition's wrote the review: it is evidence, never an acceptance."""


@dataclass(frozen=True, kw_only=True)
class OverrideRequest(MoveOptions):
    """The pairs of one note that a person accepts as they are, and why.

    :param gates: gate ids or paths; a bundle is none.
    :param expect_note_sha256: refuse unless these are the note's bytes; None takes any.
    :param expect_gate_sha256: the same for every one of the gates.
    """

    note: str
    gates: tuple[str, ...]
    kind: AcceptanceKind = AcceptanceKind.OVERRIDE
    expect_note_sha256: str | None = None
    expect_gate_sha256: str | None = None


def override_acceptance(
    request: OverrideRequest, *, corpus: Corpus, now: datetime
) -> OverriddenJson:
    """Accept today's texts of the pairs as passed, without a review: all of them, or none.

    :raises NoSuchNote, UnknownGate, NotOneGate, UnreadableFile: a name stands for no file to read.
    :raises NoteEdited, GateEdited: a text is not the one that was expected; nothing was written.
    :raises Superseded: a later text was accepted in the meantime; nothing was written.
    """
    note = read_named_note(corpus, normalise_path(request.note))
    pairs = [DraftPair(note, gate) for gate in named_gates(corpus, request.gates)]
    for pair in pairs:
        name = f"{pair.note.path} {pair.gate.gate_id}"
        if request.expect_note_sha256 not in (None, pair.note.sha256):
            raise NoteEdited(f"{name}: the note was edited since you read it", hint=_READ_AGAIN)
        if request.expect_gate_sha256 not in (None, pair.gate.sha256):
            raise GateEdited(f"{name}: the gate was edited since you read it", hint=_READ_AGAIN)
    with transaction.atomic():
        # First, so that the texts below are accepted after whatever was accepted before us.
        ReviewStore.objects.move_acceptances()
        if not all(accept_now([(pair, Decision.PASS, None) for pair in pairs], request, now=now)):
            raise Superseded(
                f"{note.path}: a later text was accepted in the meantime; nothing was written"
            )
    return OverriddenJson(
        model_partition=request.model_partition,
        overridden=[key_json(pair) for pair in pairs],
        reason=request.reason,
        actor=request.actor,
    )


def set_decision(
    pair_id: int, decision: Decision, *, reason: str, actor: str, config: Config, now: datetime
) -> DecisionSetJson:
    """Decide a completed pair as pass, warn or fail; the decision is kept, and accepted unless it is superseded.

    What the pair's texts were acked to or carried over to keeps its texts and takes the decision.

    :raises UnknownPair, PairNotCompleted, PairOfTrial, PairOfAnotherModel: there is no review to decide.
    """
    pair = _require_pair(pair_id, config=config)
    with transaction.atomic():
        # First: of two people deciding at once, the one whose event is later is accepted later.
        ReviewStore.objects.move_acceptances()
        earlier = pair.decision_events.order_by("pk").last()
        said = {"decision": decision, "actor": actor, "reason": reason}
        DecisionEvent.objects.create(pair=pair, at=now, **said)
        superseded = accept(_decided(pair, said), now=now)
        why_not = NotAccepted.SUPERSEDED.value if superseded else ""
        ReviewPair.objects.completed().filter(pk=pair.pk).update(not_accepted=why_not)
    return DecisionSetJson(
        review_pair_id=pair.pk,
        review_job_id=pair.job_id,
        note_path=pair.note.path,
        gate_path=pair.gate.path,
        gate_id=gate_id_of(pair.gate.path, gates_folder=config.gates_folder),
        model_partition=pair.job.model_partition.name,
        decision=decision.value,
        was=earlier.decision if earlier else pair.decision,
        accepted=not superseded,
        not_accepted_because=why_not or None,
    )


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


def _decided(pair: ReviewPair, said: Mapping[str, str]) -> list[Acceptance]:
    """Make acceptances of what rests on the review, and of the pair's own key if none does."""
    found = [
        event
        for event in Acceptance.objects.filter(review_pair=pair).order_by("pk")
        if CurrentAcceptance.objects.filter(
            model_partition_id=event.model_partition_id,
            note_id=event.note_id,
            gate_id=event.gate_id,
            event=event,
        )
    ]
    own = of_review(pair.job, pair)
    if key_of(own) not in map(key_of, found):
        found.append(own)
    for acceptance in found:
        acceptance.pk = None
        for name, value in said.items():
            setattr(acceptance, name, value)
    return found
