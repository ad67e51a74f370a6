"""Read stored reviews without a decision again: they were paid for, and the reader has learned."""

from __future__ import annotations

from datetime import datetime

from review.acceptance.decide import DecisionRequest, PairOfAnotherModel, set_decision
from review.documents.base import Document, from_row
from review.domain.paths import gate_id_of
from review.ingest.parse import read_review
from review.models import ReviewPair, ReviewText
from review.reviews.needs_a_look import LookRequest, undecided_pairs
from review.settings.config import Config
from review.vocabulary import ACCEPTING_DECISIONS, Decision, NotAccepted


class RereadJson(Document):
    """A review that has a decision now; `accepted` is null in a dry run."""

    review_pair_id: int
    note_path: str
    gate_path: str
    gate_id: str
    model_partition: str
    decision: str
    accepted: bool | None
    not_accepted_because: str | None


class RereadReviewsJson(Document, kw_only=True):
    """The answer of `reread_reviews`."""

    schema: str = "reread-reviews/1"
    dry_run: bool
    decided: list[RereadJson]
    still_unknown: int


REASON = "the stored review was read again"


def reread_reviews(
    *, actor: str, dry_run: bool, config: Config, now: datetime
) -> RereadReviewsJson:
    """Decide the unanswered reviews whose text states a decision; each is one event."""
    pairs = undecided_pairs(LookRequest()).filter(not_accepted=NotAccepted.DECISION_UNKNOWN)
    decided: list[RereadJson] = []
    unread = 0
    for pair_id in list(pairs.order_by("pk").values_list("pk", flat=True)):
        text = ReviewText.objects.values_list("text", flat=True).get(pk=pair_id)
        decision = read_review(text).decision.decision
        answer = None
        if decision in ACCEPTING_DECISIONS:
            answer = _decide(
                pair_id, decision, actor=actor, dry_run=dry_run, config=config, now=now
            )
        if answer is None:
            unread += 1
        else:
            decided.append(answer)
    return RereadReviewsJson(dry_run=dry_run, decided=decided, still_unknown=unread)


def _decide(
    pair_id: int, decision: Decision, *, actor: str, dry_run: bool, config: Config, now: datetime
) -> RereadJson | None:
    """Decide the pair; return None where another model than the partition's wrote the review."""
    if dry_run:
        related = ("note", "gate", "job__model_partition")
        pair = ReviewPair.objects.select_related(*related).get(pk=pair_id)
        return RereadJson(
            review_pair_id=pair_id,
            note_path=pair.note.path,
            gate_path=pair.gate.path,
            gate_id=gate_id_of(pair.gate.path, gates_folder=config.gates_folder),
            model_partition=pair.job.model_partition.name,
            decision=decision.value,
            accepted=None,
            not_accepted_because=None,
        )
    request = DecisionRequest(review_pair_id=pair_id, decision=decision, reason=REASON, actor=actor)
    try:
        done = set_decision(request, config=config, now=now)
    except PairOfAnotherModel:
        return None
    return from_row(RereadJson, done)
