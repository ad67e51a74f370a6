"""Read stored reviews without a decision again: they were paid for, and the reader has learned."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from review.acceptance.decide import PairOfAnotherModel, set_decision
from review.documents.base import Document, from_row
from review.domain.paths import gate_id_of
from review.ingest.parse import read_review
from review.models import ReviewPair
from review.reviews.needs_a_look import LookRequest, undecided_pairs
from review.settings import Config
from review.vocabulary import ACCEPTING_DECISIONS, NotAccepted


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
    schema: str = "reread-reviews/1"
    dry_run: bool
    decided: list[RereadJson]
    still_unknown: int


REASON = "the stored review was read again"


def reread_reviews(
    *, actor: str, dry_run: bool, config: Config, now: datetime
) -> RereadReviewsJson:
    """Decide the unanswered reviews whose text states a decision; each is one event.

    One that another model than the partition's wrote stays as it is.
    """
    found = undecided_pairs(LookRequest()).filter(not_accepted=NotAccepted.DECISION_UNKNOWN)
    related = ("note", "gate", "job__model_partition", "review_text")
    pair_ids = list(found.order_by("pk").values_list("pk", flat=True))
    decided: list[RereadJson] = []
    for pair_id in pair_ids:
        pair = ReviewPair.objects.select_related(*related).get(pk=pair_id)
        decision = read_review(pair.review_text.text).decision.decision
        if decision not in ACCEPTING_DECISIONS:
            continue
        if dry_run:
            gate_id = gate_id_of(pair.gate.path, gates_folder=config.gates_folder)
            names = (pair.note.path, pair.gate.path, gate_id, pair.job.model_partition.name)
            decided.append(RereadJson(pair_id, *names, decision.value, None, None))
            continue
        with suppress(PairOfAnotherModel):
            done = set_decision(
                pair_id, decision, reason=REASON, actor=actor, config=config, now=now
            )
            decided.append(from_row(RereadJson, done))
    return RereadReviewsJson(
        dry_run=dry_run, decided=decided, still_unknown=len(pair_ids) - len(decided)
    )
