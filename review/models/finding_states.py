"""The queue's projection: one row for each finding of a current acceptance that warns or fails."""

from __future__ import annotations

from django.db import models

from review.models.acceptances import Acceptance
from review.models.findings import Finding
from review.models.pairs import ReviewPair
from review.models.paths import KbPath, ModelPartition
from review.models.snapshots import FileSnapshot
from review.vocabulary import DispositionState


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
