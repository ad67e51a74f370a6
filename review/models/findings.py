"""The points that reviews make, and what people decided about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from django.db import models
from django.db.models import Max, Q

from review.models.pairs import ReviewPair
from review.models.snapshots import batched
from review.vocabulary import DispositionState, Severity


class Finding(models.Model):
    """One point a review makes; `fingerprint` is the same when another review reports it again."""

    pair = models.ForeignKey(ReviewPair, models.PROTECT, db_index=False, related_name="findings")
    ordinal = models.PositiveIntegerField()
    severity = models.CharField(max_length=8, choices=Severity)
    text = models.TextField()
    quote = models.TextField(blank=True, default="")
    note_line = models.PositiveIntegerField(null=True)
    fingerprint = models.CharField(max_length=16, db_index=True)

    class Meta:
        db_table = "review_findings"
        constraints = [
            models.UniqueConstraint(
                fields=["pair", "ordinal"], name="review_finding_ordinal_once_per_pair"
            ),
            models.CheckConstraint(
                condition=Q(severity__in=Severity.values), name="review_finding_severity_known"
            ),
            models.CheckConstraint(
                condition=~Q(fingerprint=""), name="review_finding_has_fingerprint"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.fingerprint} {self.severity}"


class DispositionQuerySet(models.QuerySet["Disposition"]):
    def latest_of(self, fingerprints: Iterable[str]) -> dict[str, Disposition]:
        """The one that counts for each fingerprint: the last."""
        found: dict[str, Disposition] = {}
        for chunk in batched(sorted(set(fingerprints)), 500):
            last = (
                self.filter(fingerprint__in=chunk)
                .values("fingerprint")
                .annotate(last=Max("pk"))
                .values("last")
            )
            found.update((row.fingerprint, row) for row in self.filter(pk__in=last))
        return found


class Disposition(models.Model):
    """Append-only: what a person decided about a finding.

    `note_sha256` is the note's digest on disk at that moment: `deferred` holds until it changes.
    """

    fingerprint = models.CharField(max_length=16)
    state = models.CharField(max_length=12, choices=DispositionState)
    reason = models.TextField(blank=True, default="")
    actor = models.CharField(max_length=200)
    note_sha256 = models.CharField(max_length=64, blank=True, default="")
    at = models.DateTimeField()

    objects: ClassVar[DispositionQuerySet] = DispositionQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        db_table = "review_dispositions"
        indexes = [
            models.Index(fields=["fingerprint", "id"], name="review_disposition_latest"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=DispositionState.values),
                name="review_disposition_state_known",
            ),
            models.CheckConstraint(condition=~Q(actor=""), name="review_disposition_has_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.fingerprint} {self.state}"
