"""Review pairs, the review texts that judged them, and the decisions people made afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from django.db import connections, models
from django.db.models import Q
from django.db.models.expressions import RawSQL

from review.models.jobs import ReviewJob
from review.models.paths import KbPath
from review.models.snapshots import FileSnapshot
from review.vocabulary import (
    ACCEPTING_DECISIONS,
    OPEN_JOB_STATUSES,
    Decision,
    DecisionSource,
    JobPurpose,
    NotAccepted,
    PairStatus,
)

# In the order of the condition of their index.
UNDECIDED = (Decision.ERROR, Decision.UNKNOWN)


# One guarded UPDATE: it names the states it leaves, and takes these attributes.
_SAID = ("status", "decision", "decision_source", "problem", "not_accepted", "result_path")
_COMPLETE = (
    "UPDATE review_pairs SET status = %s, decision = %s, decision_source = %s, problem = %s,"
    " not_accepted = %s, result_path = %s, reviewed_at = %s WHERE id = %s AND status IN (%s, %s)"
)
_WAITING = (PairStatus.PENDING.value, PairStatus.MISSING.value)


class ReviewPairQuerySet(models.QuerySet["ReviewPair"]):
    def in_flight(self, model_partition: str) -> ReviewPairQuerySet:
        """Pairs that an open job of the partition will answer."""
        return self.filter(
            job__status__in=OPEN_JOB_STATUSES,
            job__purpose=JobPurpose.REVIEW,
            job__model_partition__name=model_partition,
        )

    def completed(self) -> ReviewPairQuerySet:
        """Completed pairs of notes; those of trials are none."""
        return self.filter(status=PairStatus.COMPLETED).exclude(not_accepted=NotAccepted.TRIAL)

    def undecided(self) -> ReviewPairQuerySet:
        """Pairs whose review has no decision that could be accepted; there are few."""
        # Written out: SQLite takes an index of some rows only where the statement itself says that no
        # other is wanted, and not for what a parameter holds.
        words = ", ".join(f"'{word.value}'" for word in UNDECIDED)
        undecided = self.filter(decision__in=RawSQL(words, (), models.TextField()))  # noqa: S611
        return undecided.exclude(not_accepted=NotAccepted.TRIAL)

    def complete(self, pairs: Sequence[ReviewPair], *, now: datetime) -> bool:
        """Pending or missing pairs to `completed`, with what `pairs` say of their reviews.

        False when one of them was completed already: roll the transaction back.
        """
        if not pairs:
            return True
        connection = connections[self.db]
        for pair in pairs:
            pair.status, pair.reviewed_at = PairStatus.COMPLETED.value, now
        moment = connection.ops.adapt_datetimefield_value(now)
        # Prepared once for all pairs of a job: half of an ingest's time went into making queries.
        with connection.cursor() as cursor:
            cursor.executemany(
                _COMPLETE,
                [
                    (*(getattr(pair, name) for name in _SAID), moment, pair.pk, *_WAITING)
                    for pair in pairs
                ],
            )
            return bool(cursor.rowcount == len(pairs))

    def settle(self, pair_id: int, *, not_accepted: NotAccepted | None) -> int:
        """Say of a completed pair whether a person's decision on it was accepted."""
        return self.completed().filter(pk=pair_id).update(not_accepted=not_accepted or "")

    def mark_missing(self, job_id: int, *, reasons: Mapping[int, str] | None = None) -> int:
        """A job's pending pairs to `missing`; `reasons` say by ordinal why a pair has no review."""
        moved = self.filter(job_id=job_id, status=PairStatus.PENDING).update(
            status=PairStatus.MISSING
        )
        missing = self.filter(job_id=job_id, status=PairStatus.MISSING)
        for ordinal, why in (reasons or {}).items():
            missing.filter(ordinal=ordinal).update(problem=why)
        return moved


class ReviewPair(models.Model):
    """One note and one gate requested in a job, with the exact texts that were judged.

    `decision` is what the parser read and is never overwritten: see `DecisionEvent`.
    """

    job = models.ForeignKey(ReviewJob, models.PROTECT, db_index=False, related_name="pairs")
    ordinal = models.PositiveIntegerField()
    note = models.ForeignKey(KbPath, models.PROTECT, db_index=False, related_name="+")
    gate = models.ForeignKey(KbPath, models.PROTECT, db_index=False, related_name="+")
    note_snapshot = models.ForeignKey(
        FileSnapshot, models.PROTECT, db_index=False, related_name="+"
    )
    gate_snapshot = models.ForeignKey(
        FileSnapshot, models.PROTECT, db_index=False, related_name="+"
    )
    status = models.CharField(max_length=12, choices=PairStatus, default=PairStatus.PENDING)
    decision = models.CharField(max_length=12, choices=Decision, blank=True, default="")
    decision_source = models.CharField(
        max_length=12, choices=DecisionSource, blank=True, default=""
    )
    problem = models.TextField(blank=True, default="")
    not_accepted = models.CharField(max_length=24, choices=NotAccepted, blank=True, default="")
    result_path = models.TextField(blank=True, default="")
    reviewed_at = models.DateTimeField(null=True)

    objects: ClassVar[ReviewPairQuerySet] = ReviewPairQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        db_table = "review_pairs"
        indexes = [
            models.Index(fields=["note", "gate"], name="review_pair_by_note_and_gate"),
            models.Index(
                fields=["decision"],
                condition=Q(decision__in=UNDECIDED),
                name="review_pair_undecided",
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["job", "note", "gate"], name="review_pair_once_per_job"
            ),
            models.UniqueConstraint(
                fields=["job", "ordinal"], name="review_pair_ordinal_once_per_job"
            ),
            models.CheckConstraint(
                condition=Q(status__in=PairStatus.values), name="review_pair_status_known"
            ),
            models.CheckConstraint(
                condition=Q(decision="") | Q(decision__in=Decision.values),
                name="review_pair_decision_known",
            ),
            models.CheckConstraint(
                condition=Q(status=PairStatus.COMPLETED, reviewed_at__isnull=False)
                & ~Q(decision="")
                | ~Q(status=PairStatus.COMPLETED) & Q(decision="", reviewed_at=None),
                name="review_pair_completed_has_decision",
            ),
            models.CheckConstraint(
                condition=Q(ordinal__gte=1), name="review_pair_ordinal_counts_from_1"
            ),
        ]

    def __str__(self) -> str:
        return f"pair {self.pk} of job {self.job_id}"


class ReviewText(models.Model):
    """The review's text, apart from the pair so that selectors never page it in."""

    pair = models.OneToOneField(
        ReviewPair, models.PROTECT, primary_key=True, related_name="review_text"
    )
    text = models.TextField()

    class Meta:
        db_table = "review_texts"

    def __str__(self) -> str:
        return f"text of pair {self.pair_id}"


class DecisionEvent(models.Model):
    """Append-only: a person's decision on a pair whose text the parser could not decide."""

    pair = models.ForeignKey(ReviewPair, models.PROTECT, related_name="decision_events")
    decision = models.CharField(max_length=12, choices=Decision)
    actor = models.CharField(max_length=200)
    reason = models.TextField()
    at = models.DateTimeField()

    class Meta:
        db_table = "review_decision_events"
        constraints = [
            models.CheckConstraint(
                condition=Q(decision__in=ACCEPTING_DECISIONS),
                name="review_decision_event_decides",
            ),
            models.CheckConstraint(
                condition=~Q(actor="") & ~Q(reason=""),
                name="review_decision_event_says_who_and_why",
            ),
        ]

    def __str__(self) -> str:
        return f"pair {self.pair_id}: {self.decision} by {self.actor}"
