"""The points that reviews make, and what people decided about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from django.db import models
from django.db.models import Max, Q

from review.models.acceptances import Acceptance
from review.models.pairs import ReviewPair
from review.models.paths import KbPath, ModelPartition
from review.models.snapshots import FileSnapshot, batched
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


class FindingState(models.Model):
    """Derived, and rebuildable: what the queue filters, counts and sorts by, without joins.

    A review none of whose findings is as severe as its decision has a row of its own, with ordinal
    0 and no finding. `read_snapshot` is the text that the reviewer read; `gate_snapshot` is the
    accepted one. `later_objections` of other partitions rest on the same gate text. `seen_before` is
    new or persisting; `seen` may be regressed instead, by a disposition.
    `passed_in` are the keys of the partitions that passed the pair later, joined by commas.
    `decided_sha256` is the digest of the note when the finding was deferred.
    """

    event = models.ForeignKey(Acceptance, models.PROTECT, db_index=False, related_name="+")
    note = models.ForeignKey(KbPath, models.PROTECT, db_index=False, related_name="+")
    gate = models.ForeignKey(KbPath, models.PROTECT, db_index=False, related_name="+")
    model_partition = models.ForeignKey(
        ModelPartition, models.PROTECT, db_index=False, related_name="+"
    )
    pair = models.ForeignKey(ReviewPair, models.PROTECT, db_index=False, related_name="+")
    finding = models.ForeignKey(
        Finding, models.PROTECT, null=True, db_index=False, related_name="+"
    )
    read_snapshot = models.ForeignKey(
        FileSnapshot, models.PROTECT, db_index=False, related_name="+"
    )
    gate_snapshot = models.ForeignKey(
        FileSnapshot, models.PROTECT, db_index=False, related_name="+"
    )
    note_path = models.TextField()
    gate_path = models.TextField()
    folder = models.TextField(blank=True)
    ordinal = models.PositiveIntegerField()
    decision = models.CharField(max_length=12)
    severity = models.CharField(max_length=8)
    fingerprint = models.CharField(max_length=16, db_index=True)
    later_objections = models.PositiveIntegerField()
    passed_in = models.TextField(blank=True, default="")
    text_read_at = models.DateTimeField()
    first_at = models.DateTimeField()
    seen_before = models.CharField(max_length=12)
    seen = models.CharField(max_length=12)
    state = models.CharField(max_length=12)
    decided_sha256 = models.CharField(max_length=64, blank=True, default="")

    class Meta:
        db_table = "review_finding_states"
        indexes = [
            models.Index(fields=["note", "gate"], name="finding_state_by_pair"),
            models.Index(fields=["note_path", "gate_path", "ordinal"], name="finding_state_order"),
            models.Index(
                # All that the facets count, so that the database reads nothing but the index.
                fields=[
                    "gate",
                    "gate_snapshot",
                    "later_objections",
                    "state",
                    "severity",
                    "decision",
                    "seen",
                    "model_partition",
                    "folder",
                    "first_at",
                    "note",
                    "read_snapshot",
                ],
                name="finding_state_facets",
            ),
            models.Index(
                fields=["note"],
                condition=models.Q(state=DispositionState.DEFERRED),
                name="finding_state_deferred",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["event", "ordinal"], name="finding_state_once"),
        ]

    def __str__(self) -> str:
        return f"{self.fingerprint} {self.state}"
