"""Acceptances: the insert-only events, and the current one of each key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django.db import models
from django.db.models import Q

from review.models.pairs import ReviewPair
from review.models.paths import KbPath, ModelPartition
from review.models.snapshots import FileSnapshot
from review.vocabulary import ACCEPTING_DECISIONS, QUEUED_DECISIONS, AcceptanceKind


class Acceptance(models.Model):
    """Insert-only: a reviewer or a person took these exact texts as judged.

    `text_read_at` is when the accepted text was read: the job's creation for a review, the
    moment itself for an ack. `review_pair` is the evidence; only an override has none.
    """

    note = models.ForeignKey(KbPath, models.PROTECT, db_index=False, related_name="+")
    gate = models.ForeignKey(KbPath, models.PROTECT, db_index=False, related_name="+")
    model_partition = models.ForeignKey(
        ModelPartition, models.PROTECT, db_index=False, related_name="+"
    )
    kind = models.CharField(max_length=12, choices=AcceptanceKind)
    review_pair = models.ForeignKey(
        ReviewPair,
        models.PROTECT,
        null=True,
        related_name="acceptances",
        db_column="accepted_review_pair_id",
    )
    note_snapshot = models.ForeignKey(
        FileSnapshot,
        models.PROTECT,
        db_index=False,
        related_name="+",
        db_column="accepted_note_snapshot_id",
    )
    gate_snapshot = models.ForeignKey(
        FileSnapshot,
        models.PROTECT,
        db_index=False,
        related_name="+",
        db_column="accepted_gate_snapshot_id",
    )
    decision = models.CharField(max_length=12)
    text_read_at = models.DateTimeField()
    actor = models.CharField(max_length=200)
    reason = models.TextField(blank=True, default="")
    accepted_at = models.DateTimeField()

    class Meta:
        db_table = "acceptance_events"
        indexes = [
            models.Index(
                fields=["note", "gate", "model_partition"], name="acceptance_event_by_key"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=AcceptanceKind.values), name="acceptance_event_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(decision__in=ACCEPTING_DECISIONS),
                name="acceptance_event_decision_accepts",
            ),
            models.CheckConstraint(
                condition=Q(review_pair__isnull=False) | Q(kind=AcceptanceKind.OVERRIDE),
                name="acceptance_event_has_evidence",
            ),
            models.CheckConstraint(
                condition=~Q(kind=AcceptanceKind.OVERRIDE) | (~Q(reason="") & ~Q(actor="")),
                name="acceptance_event_override_says_who_and_why",
            ),
            models.CheckConstraint(condition=~Q(actor=""), name="acceptance_event_has_actor"),
        ]

    def __str__(self) -> str:
        return f"acceptance {self.pk} ({self.kind})"


class CurrentAcceptanceQuerySet(models.QuerySet["CurrentAcceptance"]):
    def of_partition(self, name: str) -> CurrentAcceptanceQuerySet:
        return self.filter(model_partition__name=name)

    def queued(self) -> CurrentAcceptanceQuerySet:
        """Baselines that warn or fail, of all model partitions at once.

        Where a partition is named too, databases read all that it accepted to find the few.
        """
        return self.filter(decision__in=QUEUED_DECISIONS)

    def point_at(self, events: Sequence[Acceptance]) -> None:
        """Move the keys of `events` (saved, one a key) to them; call after `move_acceptances`."""
        self.bulk_create(
            [
                CurrentAcceptance(
                    model_partition_id=event.model_partition_id,
                    note_id=event.note_id,
                    gate_id=event.gate_id,
                    event=event,
                    note_snapshot_id=event.note_snapshot_id,
                    gate_snapshot_id=event.gate_snapshot_id,
                    decision=event.decision,
                )
                for event in events
            ],
            update_conflicts=True,
            unique_fields=["model_partition", "note", "gate"],
            update_fields=["event", "note_snapshot", "gate_snapshot", "decision"],
            batch_size=100,
        )


class CurrentAcceptance(models.Model):
    """One row a key: the acceptance that counts; derived, and rebuildable from the events."""

    model_partition = models.ForeignKey(
        ModelPartition, models.PROTECT, db_index=False, related_name="+"
    )
    note = models.ForeignKey(KbPath, models.PROTECT, db_index=False, related_name="+")
    gate = models.ForeignKey(KbPath, models.PROTECT, db_index=False, related_name="+")
    event = models.ForeignKey(Acceptance, models.PROTECT, db_index=False, related_name="current")
    note_snapshot = models.ForeignKey(
        FileSnapshot, models.PROTECT, db_index=False, related_name="+"
    )
    gate_snapshot = models.ForeignKey(
        FileSnapshot, models.PROTECT, db_index=False, related_name="+"
    )
    decision = models.CharField(max_length=12)

    objects: ClassVar[CurrentAcceptanceQuerySet] = CurrentAcceptanceQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        db_table = "review_current_acceptances"
        indexes = [
            models.Index(
                fields=["model_partition", "note", "note_snapshot", "gate_snapshot"],
                name="current_acceptance_freshness",
            ),
            models.Index(fields=["decision"], name="current_acceptance_decision"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["model_partition", "note", "gate"], name="current_acceptance_once_per_key"
            ),
            models.CheckConstraint(
                condition=Q(decision__in=ACCEPTING_DECISIONS),
                name="current_acceptance_decision_accepts",
            ),
        ]

    def __str__(self) -> str:
        return f"current acceptance {self.pk}"
