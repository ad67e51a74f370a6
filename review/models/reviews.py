"""Pairs with their reviews, what was accepted of them, and what people said: all but pairs is only added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.db import connections, models
from django.db.models import PROTECT, CharField, F, ForeignKey, Max, Q

from review.models.jobs import ReviewJob
from review.models.snapshots import (
    FileSnapshot,
    KbPath,
    ModelPartition,
    batched,
    check,
    index,
    unique,
)
from review.vocabulary import (
    ACCEPTING_DECISIONS,
    OPEN_JOB_STATUSES,
    QUEUED_DECISIONS,
    AcceptanceKind,
    Decision,
    DecisionSource,
    DispositionState,
    JobPurpose,
    NotAccepted,
    PairStatus,
    Severity,
)

# In the order of the condition of their index.
UNDECIDED = (Decision.ERROR, Decision.UNKNOWN)
# One guarded UPDATE: it names the states it leaves.
_REVIEWED = ("decision", "decision_source", "problem", "not_accepted", "result_path")
_COMPLETE = (
    f"UPDATE review_pairs SET {', '.join(f'{name} = %s' for name in _REVIEWED)},"  # noqa: S608
    " status = 'completed', reviewed_at = %s WHERE id = %s AND status IN ('pending', 'missing')"
)
_NAMES = {
    "note_path": F("note__path"),
    "gate_path": F("gate__path"),
    "note_sha256": F("note_snapshot__content_sha256"),
    "gate_sha256": F("gate_snapshot__content_sha256"),
    "note_size": F("note_snapshot__byte_size"),
}
_KEEP_TEXT = "INSERT INTO review_texts (pair_id, text) VALUES (%s, %s)"
# From the events themselves: they need not be sent a second time.
_SAID = "note_snapshot_id, gate_snapshot_id, decision"
_POINT_AT = f"""
INSERT INTO review_current_acceptances (model_partition_id, note_id, gate_id, event_id, {_SAID})
SELECT model_partition_id, note_id, gate_id, id, accepted_note_snapshot_id,
    accepted_gate_snapshot_id, decision FROM acceptance_events WHERE id IN ({{}})
ON CONFLICT (model_partition_id, note_id, gate_id) DO UPDATE SET event_id = excluded.event_id,
    {", ".join(f"{name} = excluded.{name}" for name in _SAID.split(", "))}
"""  # noqa: S608


class ReviewPairQuerySet(models.QuerySet["ReviewPair"]):
    def in_flight(self, model_partition: str) -> ReviewPairQuerySet:
        """Pairs that an open job of the partition will answer."""
        return self.filter(
            job__status__in=OPEN_JOB_STATUSES,
            job__purpose=JobPurpose.REVIEW,
            job__model_partition__name=model_partition,
        )

    def with_names(self) -> ReviewPairQuerySet:
        """With the paths and digests of both texts, in the order of jobs and ordinals."""
        return self.annotate(**_NAMES).order_by("job_id", "ordinal")

    def completed(self) -> ReviewPairQuerySet:
        """Completed pairs of notes; those of trials are none."""
        return self.filter(status=PairStatus.COMPLETED).exclude(not_accepted=NotAccepted.TRIAL)

    def complete(self, texts: Mapping[ReviewPair, str], *, now: datetime) -> bool:
        """Complete pending or missing pairs; False: one was completed already, roll back."""
        connection = connections[self.db]
        moment = connection.ops.adapt_datetimefield_value(now)
        rows = [(*(getattr(pair, name) for name in _REVIEWED), moment, pair.pk) for pair in texts]
        # Prepared once for all pairs: half of an ingest's time went into making queries.
        with connection.cursor() as cursor:
            cursor.executemany(_COMPLETE, rows)
            if cursor.rowcount != len(rows):
                return False
            cursor.executemany(_KEEP_TEXT, [(pair.pk, text) for pair, text in texts.items()])
        for pair in texts:
            pair.status, pair.reviewed_at = PairStatus.COMPLETED.value, now
        return True

    def mark_missing(self, job_id: int, *, reasons: Mapping[int, str] | None = None) -> int:
        """A job's pending pairs to `missing`; `reasons` say by ordinal why a pair has no review."""
        pairs = self.filter(job_id=job_id)
        moved = pairs.filter(status=PairStatus.PENDING).update(status=PairStatus.MISSING)
        for ordinal, why in (reasons or {}).items():
            pairs.filter(status=PairStatus.MISSING, ordinal=ordinal).update(problem=why)
        return moved


class ReviewPair(models.Model):
    """A note and a gate requested in a job, with the exact texts that were judged.

    `decision` is what the parser read and is never overwritten: see `DecisionEvent`. `link_state` is
    that of the files that the note links to, as a rule that reads them was to see them.
    """

    job = ForeignKey(ReviewJob, PROTECT, db_index=False, related_name="pairs")
    ordinal = models.PositiveIntegerField()
    note = ForeignKey(KbPath, PROTECT, db_index=False, related_name="+")
    gate = ForeignKey(KbPath, PROTECT, db_index=False, related_name="+")
    note_snapshot = ForeignKey(FileSnapshot, PROTECT, db_index=False, related_name="+")
    gate_snapshot = ForeignKey(FileSnapshot, PROTECT, db_index=False, related_name="+")
    status = CharField(max_length=12, choices=PairStatus, default=PairStatus.PENDING)
    decision = CharField(max_length=12, choices=Decision, blank=True, default="")
    decision_source = CharField(max_length=12, choices=DecisionSource, blank=True, default="")
    problem = models.TextField(blank=True, default="")
    link_state = CharField(max_length=16, blank=True, default="", db_default="")
    not_accepted = CharField(max_length=24, choices=NotAccepted, blank=True, default="")
    result_path = models.TextField(blank=True, default="")
    reviewed_at = models.DateTimeField(null=True)
    # Loaded by `with_names`.
    note_path: str
    gate_path: str
    note_sha256: str
    gate_sha256: str
    note_size: int

    objects: ClassVar[ReviewPairQuerySet] = ReviewPairQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        db_table = "review_pairs"
        indexes = [
            index("review_pair_by_note_and_gate", "note gate"),
            index("review_pair_undecided", "decision", where=Q(decision__in=UNDECIDED)),
            index("review_pair_flagged", "decision", where=Q(decision__in=QUEUED_DECISIONS)),
        ]
        constraints = [
            unique("review_pair_once_per_job", "job note gate"),
            unique("review_pair_ordinal_once_per_job", "job ordinal"),
            check("review_pair_status_known", Q(status__in=PairStatus.values)),
            check("review_pair_decision_known", Q(decision="") | Q(decision__in=Decision.values)),
            check(
                "review_pair_completed_has_decision",
                Q(status=PairStatus.COMPLETED, reviewed_at__isnull=False) & ~Q(decision="")
                | ~Q(status=PairStatus.COMPLETED) & Q(decision="", reviewed_at=None),
            ),
            check("review_pair_ordinal_counts_from_1", Q(ordinal__gte=1)),
        ]

    def __str__(self) -> str:
        return f"pair {self.pk} of job {self.job_id}"


class ReviewText(models.Model):
    """The review's text, apart from the pair so that selectors never page it in."""

    pair = models.OneToOneField(ReviewPair, PROTECT, primary_key=True, related_name="review_text")
    text = models.TextField()

    class Meta:
        db_table = "review_texts"


class DecisionEvent(models.Model):
    """A person's decision on a pair whose text the parser could not decide."""

    pair = ForeignKey(ReviewPair, PROTECT, related_name="decision_events")
    decision = CharField(max_length=12, choices=Decision)
    actor = CharField(max_length=200)
    reason = models.TextField()
    at = models.DateTimeField()

    class Meta:
        db_table = "review_decision_events"
        constraints = [
            check("review_decision_event_decides", Q(decision__in=ACCEPTING_DECISIONS)),
            check("review_decision_event_says_who_and_why", ~Q(actor="") & ~Q(reason="")),
        ]


class Acceptance(models.Model):
    """A reviewer or a person took these exact texts as judged.

    `text_read_at` is when the accepted text was read: the job's creation for a review, the
    moment itself for an ack. `review_pair` is the evidence; only an override has none.
    """

    note = ForeignKey(KbPath, PROTECT, db_index=False, related_name="+")
    gate = ForeignKey(KbPath, PROTECT, db_index=False, related_name="+")
    model_partition = ForeignKey(ModelPartition, PROTECT, db_index=False, related_name="+")
    kind = CharField(max_length=12, choices=AcceptanceKind)
    review_pair = ForeignKey(
        ReviewPair,
        PROTECT,
        null=True,
        related_name="acceptances",
        db_column="accepted_review_pair_id",
    )
    note_snapshot = ForeignKey(
        FileSnapshot,
        PROTECT,
        db_index=False,
        related_name="+",
        db_column="accepted_note_snapshot_id",
    )
    gate_snapshot = ForeignKey(
        FileSnapshot,
        PROTECT,
        db_index=False,
        related_name="+",
        db_column="accepted_gate_snapshot_id",
    )
    decision = CharField(max_length=12)
    text_read_at = models.DateTimeField()
    actor = CharField(max_length=200)
    reason = models.TextField(blank=True, default="")
    accepted_at = models.DateTimeField()

    class Meta:
        db_table = "acceptance_events"
        indexes = [index("acceptance_event_by_key", "note gate model_partition")]
        constraints = [
            check("acceptance_event_kind_known", Q(kind__in=AcceptanceKind.values)),
            check("acceptance_event_decision_accepts", Q(decision__in=ACCEPTING_DECISIONS)),
            check(
                "acceptance_event_has_evidence",
                Q(review_pair__isnull=False) | Q(kind=AcceptanceKind.OVERRIDE),
            ),
            check(
                "acceptance_event_override_says_who_and_why",
                ~Q(kind=AcceptanceKind.OVERRIDE) | (~Q(reason="") & ~Q(actor="")),
            ),
            check("acceptance_event_has_actor", ~Q(actor="")),
        ]

    def __str__(self) -> str:
        return f"acceptance {self.pk} ({self.kind})"


class CurrentAcceptanceQuerySet(models.QuerySet["CurrentAcceptance"]):
    def of_partition(self, name: str) -> CurrentAcceptanceQuerySet:
        return self.filter(model_partition__name=name)

    def queued(self) -> CurrentAcceptanceQuerySet:
        """Baselines that warn or fail; name no partition too: databases then read all of it."""
        return self.filter(decision__in=QUEUED_DECISIONS)

    def point_at(self, events: Sequence[Acceptance]) -> None:
        """Move the keys of `events` (saved, one a key) to them; call after `move_acceptances`."""
        with connections[self.db].cursor() as cursor:
            keys = ",".join(str(event.pk) for event in events)
            cursor.execute(_POINT_AT.format(keys or "NULL"))


class CurrentAcceptance(models.Model):
    """One row a key: the acceptance that counts; derived, and rebuildable from the events."""

    model_partition = ForeignKey(ModelPartition, PROTECT, db_index=False, related_name="+")
    note = ForeignKey(KbPath, PROTECT, db_index=False, related_name="+")
    gate = ForeignKey(KbPath, PROTECT, db_index=False, related_name="+")
    event = ForeignKey(Acceptance, PROTECT, db_index=False, related_name="current")
    note_snapshot = ForeignKey(FileSnapshot, PROTECT, db_index=False, related_name="+")
    gate_snapshot = ForeignKey(FileSnapshot, PROTECT, db_index=False, related_name="+")
    decision = CharField(max_length=12)

    objects: ClassVar[CurrentAcceptanceQuerySet] = CurrentAcceptanceQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        db_table = "review_current_acceptances"
        indexes = [
            index(
                "current_acceptance_freshness", "model_partition note note_snapshot gate_snapshot"
            ),
            index("current_acceptance_decision", "decision"),
        ]
        constraints = [
            unique("current_acceptance_once_per_key", "model_partition note gate"),
            check("current_acceptance_decision_accepts", Q(decision__in=ACCEPTING_DECISIONS)),
        ]


class Finding(models.Model):
    """One point a review makes; `fingerprint` is the same when another review reports it again."""

    pair = ForeignKey(ReviewPair, PROTECT, db_index=False, related_name="findings")
    ordinal = models.PositiveIntegerField()
    severity = CharField(max_length=8, choices=Severity)
    text = models.TextField()
    quote = models.TextField(blank=True, default="")
    note_line = models.PositiveIntegerField(null=True)
    fingerprint = CharField(max_length=16, db_index=True)

    class Meta:
        db_table = "review_findings"
        constraints = [
            unique("review_finding_ordinal_once_per_pair", "pair ordinal"),
            check("review_finding_severity_known", Q(severity__in=Severity.values)),
            check("review_finding_has_fingerprint", ~Q(fingerprint="")),
        ]


class Disposition(models.Model):
    """A person's decision about a finding; `deferred` holds until the note has another digest."""

    fingerprint = CharField(max_length=16)
    state = CharField(max_length=12, choices=DispositionState)
    reason = models.TextField(blank=True, default="")
    actor = CharField(max_length=200)
    note_sha256 = CharField(max_length=64, blank=True, default="")
    at = models.DateTimeField()

    class Meta:
        db_table = "review_dispositions"
        indexes = [index("review_disposition_latest", "fingerprint id")]
        constraints = [
            check("review_disposition_state_known", Q(state__in=DispositionState.values)),
            check("review_disposition_has_actor", ~Q(actor="")),
        ]


def latest_of(fingerprints: Iterable[str], rows: Any = Disposition.objects) -> dict[str, Any]:
    """Return the last of the rows, dispositions where none are given, of each fingerprint."""
    found: dict[str, Any] = {}
    for chunk in batched(sorted(set(fingerprints)), 500):
        some = rows.filter(fingerprint__in=chunk).values("fingerprint").order_by()
        last = rows.filter(pk__in=some.annotate(last=Max("pk")).values("last"))
        found.update((row.fingerprint, row) for row in last)
    return found


class FindingState(models.Model):
    """Derived, and rebuildable: what the queue filters, counts and sorts by, without joins.

    A review none of whose findings is as severe as its decision has a row of its own, with ordinal
    0 and no finding. `read_snapshot` is the text that the reviewer read; `gate_snapshot` is the
    accepted one. `later_objections` of other partitions rest on the same gate text. `seen_before` is
    new or persisting; `seen` may be regressed instead, by a disposition.
    `passed_in` are the keys of the partitions that passed the pair later, joined by commas.
    `decided_sha256` is the digest of the note when the finding was deferred.
    """

    event = ForeignKey(Acceptance, PROTECT, db_index=False, related_name="+")
    note = ForeignKey(KbPath, PROTECT, db_index=False, related_name="+")
    gate = ForeignKey(KbPath, PROTECT, db_index=False, related_name="+")
    model_partition = ForeignKey(ModelPartition, PROTECT, db_index=False, related_name="+")
    pair = ForeignKey(ReviewPair, PROTECT, db_index=False, related_name="+")
    finding = ForeignKey(Finding, PROTECT, null=True, db_index=False, related_name="+")
    read_snapshot = ForeignKey(FileSnapshot, PROTECT, db_index=False, related_name="+")
    gate_snapshot = ForeignKey(FileSnapshot, PROTECT, db_index=False, related_name="+")
    note_path = models.TextField()
    gate_path = models.TextField()
    folder = models.TextField(blank=True)
    ordinal = models.PositiveIntegerField()
    decision = CharField(max_length=12)
    severity = CharField(max_length=8)
    fingerprint = CharField(max_length=16, db_index=True)
    later_objections = models.PositiveIntegerField()
    passed_in = models.TextField(blank=True, default="")
    text_read_at = models.DateTimeField()
    first_at = models.DateTimeField()
    seen_before = CharField(max_length=12)
    seen = CharField(max_length=12)
    state = CharField(max_length=12)
    decided_sha256 = CharField(max_length=64, blank=True, default="")
    # Set by the queue; a review's own row has no text.
    state_now: str
    since: str
    rank: int
    text: str | None
    quote: str | None
    line: int | None
    accepted_at: datetime

    class Meta:
        db_table = "review_finding_states"
        indexes = [
            index("finding_state_by_pair", "note gate"),
            index("finding_state_order", "note_path gate_path ordinal"),
            index(
                "finding_state_facets",
                "gate gate_snapshot later_objections state severity decision seen model_partition"
                " folder first_at note read_snapshot",
            ),
            index("finding_state_deferred", "note", where=Q(state=DispositionState.DEFERRED)),
        ]
        constraints = [unique("finding_state_once", "event ordinal")]

    @property
    def cursor(self) -> tuple[int, str, str, int]:
        return self.rank, self.note_path, self.gate_path, self.ordinal

    @property
    def row_id(self) -> str:
        return f"finding-{self.finding_id}" if self.finding_id else f"review-{self.pair_id}"
