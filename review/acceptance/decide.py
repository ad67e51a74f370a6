"""Record what people decide: an override, or the decision of a review that could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from review.acceptance import ack
from review.acceptance.accept import accept, key_of, of_review
from review.documents.base import Document, from_row
from review.domain.paths import normalise_path
from review.errors import Conflict, InputRejected
from review.jobs.provenance import contradicting_models
from review.knowledge_base import Corpus, DraftPair
from review.models import Acceptance, CurrentAcceptance, DecisionEvent, ReviewPair, ReviewStore
from review.protocol.telemetry import telemetry_models
from review.selection.documents import KeyJson
from review.selection.names import command_to_review, named_gates, read_named_note
from review.settings import Config
from review.vocabulary import AcceptanceKind, Decision, NotAccepted, PairStatus


class OverriddenJson(Document, kw_only=True, tag_field="schema", tag="override-acceptance/1"):
    """The answer of `override_acceptance`."""

    model_partition: str
    overridden: list[KeyJson]
    reason: str
    actor: str


class RereadJson(KeyJson, kw_only=True):
    """A review that has a decision now; `accepted` is null in a dry run."""

    review_pair_id: int
    model_partition: str
    decision: str
    accepted: bool | None = None
    not_accepted_because: str | None = None


class DecisionSetJson(RereadJson, kw_only=True, tag_field="schema", tag="set-decision/1"):
    """The answer of `set_decision`; `was` is the decision that counted until now."""

    review_job_id: int
    was: str


_READ_AGAIN = "look at it again; nothing was written"


class PairOfAnotherModel(Conflict):
    """Another model than the partition's wrote the review: it is evidence, never an acceptance."""


@dataclass(frozen=True, kw_only=True)
class OverrideRequest(ack.AckOptions):
    """The pairs of one note that a person accepts as they are, of expected digests, and why."""

    note: str
    gates: tuple[str, ...]
    kind: AcceptanceKind = AcceptanceKind.OVERRIDE
    expect_note_sha256: str | None = None
    expect_gate_sha256: str | None = None


def override_acceptance(
    request: OverrideRequest, *, corpus: Corpus, now: datetime
) -> OverriddenJson:
    """Accept today's texts of the pairs as passed, without a review: all of them, or none."""
    note = read_named_note(corpus, normalise_path(request.note))
    pairs = [DraftPair(note, gate) for gate in named_gates(corpus, request.gates)]
    for pair in pairs:
        expected = (request.expect_note_sha256, request.expect_gate_sha256)
        ack.refuse_edited(pair, *expected, since="you read it", hint=_READ_AGAIN)
    with transaction.atomic():
        # First, so that the texts below are accepted after whatever was accepted before us.
        ReviewStore.objects.move_acceptances()
        if not all(
            ack.accept_now([(pair, Decision.PASS, None) for pair in pairs], request, now=now)
        ):
            why = "a later text was accepted in the meantime; nothing was written"
            raise Conflict(f"{note.path}: {why}", "superseded")
    return from_row(OverriddenJson, request, overridden=list(map(ack.key_json, pairs)))


def set_decision(
    pair_id: int, decision: Decision, *, reason: str, actor: str, config: Config, now: datetime
) -> DecisionSetJson:
    """Decide a completed pair as pass, warn or fail, which is kept even if superseded.

    What the pair's texts were acked to or carried over to keeps its texts and takes the decision.
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
        gate_id=config.gate_id(pair.gate.path),
        model_partition=pair.job.model_partition.name,
        decision=decision.value,
        was=earlier.decision if earlier else pair.decision,
        accepted=not superseded,
        not_accepted_because=why_not or None,
    )


def _require_pair(pair_id: int, *, config: Config) -> ReviewPair:
    pairs = ReviewPair.objects.select_related("job__model_partition", "note", "gate")
    pair = pairs.filter(pk=pair_id).first()
    if pair is None:
        hint = "list what waits for a decision: commonplace warn_selector --needs-a-look --json"
        raise InputRejected(f"no review pair {pair_id} in this store", "unknown-pair", hint=hint)
    if pair.status != PairStatus.COMPLETED:
        hint = f"first: commonplace ingest_bundle_output --review-job-id {pair.job_id}"
        why = f"pair {pair_id} is {pair.status}: it has no review to decide"
        raise Conflict(why, "pair-not-completed", hint=hint)
    if pair.not_accepted == NotAccepted.TRIAL:
        message = f"pair {pair_id} tries a gate on one of its cases: no note is reviewed by it"
        raise Conflict(
            message, "pair-of-trial", hint="if the case expects the wrong answer, edit the case"
        )
    # An undecided pair of such a job is marked as undecided; the telemetry still tells.
    telemetry, partition = pair.job.telemetry, pair.job.model_partition.name
    other = contradicting_models(partition, telemetry, config=config)
    if other or pair.not_accepted == NotAccepted.PARTITION_MISMATCH:
        ran = ", ".join(telemetry_models(telemetry)) or "another model"
        gate_id = config.gate_id(pair.gate.path)
        raise PairOfAnotherModel(
            f"pair {pair_id}: {ran} wrote the review, not partition {partition!r}; it is kept as"
            " evidence and never accepted",
            hint=command_to_review(pair.note.path, gate_id, model_partition=partition),
        )
    return pair


def _decided(pair: ReviewPair, said: Mapping[str, str]) -> list[Acceptance]:
    """Make acceptances of what rests on the review, and of the pair's own key if none does."""
    current = CurrentAcceptance.objects.filter(
        model_partition_id=OuterRef("model_partition_id"), event=OuterRef("pk")
    )
    found = list(Acceptance.objects.filter(Exists(current), review_pair=pair).order_by("pk"))
    own = of_review(pair.job, pair, said["actor"])
    if key_of(own) not in map(key_of, found):
        found.append(own)
    for acceptance in found:
        acceptance.pk = None
        for name, value in said.items():
            setattr(acceptance, name, value)
    return found
