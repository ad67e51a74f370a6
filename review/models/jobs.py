"""Review jobs: one prompt, one output, one status, and every move they made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, NamedTuple

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from review.models.snapshots import DatabaseClock, ModelPartition, check, index, unique
from review.protocol.telemetry import kept_telemetry
from review.vocabulary import OPEN_JOB_STATUSES, FailureCode, Grouping, JobPurpose, JobStatus


@dataclass(frozen=True)
class Provenance:
    """The runner, model and effort that a parent stated at its claim; None is "not exposed"."""

    runner: str | None = None
    runner_model: str | None = None
    runner_effort: str | None = None


@dataclass(frozen=True)
class Parent:
    """A process that takes jobs; `started_at` is None where its host does not say."""

    host: str
    pid: int
    started_at: datetime | None


@dataclass(frozen=True)
class Lease:
    """Time for which a claim, known by its own token, holds a job; its worker extends it."""

    token: str
    length: timedelta = timedelta(minutes=1)


@dataclass(frozen=True)
class Ending:
    """The closed state a job is left in; a failed one says why."""

    status: JobStatus
    code: FailureCode | None = None
    reason: str = ""


class ReviewJobQuerySet(models.QuerySet["ReviewJob"]):
    """Filters and guarded transitions; each answers how many rows it moved."""

    def open(self) -> ReviewJobQuerySet:
        return self.filter(status__in=OPEN_JOB_STATUSES)

    def reviews(self) -> ReviewJobQuerySet:
        """Jobs that review notes; trials of gates are none."""
        return self.filter(purpose=JobPurpose.REVIEW)

    def of_partition(self, name: str) -> ReviewJobQuerySet:
        return self.filter(model_partition__name=name)

    def with_names(self) -> ReviewJobQuerySet:
        """With the partition, and what `ReviewJob.replacement_id` gives, in one query."""
        return self.select_related("model_partition").annotate(found_replacement=F("replaced_by"))

    def claim(
        self,
        job_id: int,
        *,
        provenance: Provenance,
        claimed_by: str,
        parent: Parent | None = None,
        lease: Lease | None = None,
        now: datetime,
    ) -> int:
        """Move the job from `queued` to `running`; return 0 if another parent was first.

        :param parent: the process that stays until the job is closed, if one does.
        """
        return self.filter(pk=job_id, status=JobStatus.QUEUED).update(
            status=JobStatus.RUNNING,
            started_at=now,
            **asdict(provenance),
            **_holder(claimed_by, parent, lease),
        )

    def take_over(
        self, job: ReviewJob, *, claimed_by: str, parent: Parent, lease: Lease, now: datetime
    ) -> int:
        """Give a running job to another worker; 0 when it was moved since it was read."""
        return self.filter(pk=job.pk, status=JobStatus.RUNNING, claim_token=job.claim_token).update(
            started_at=now, **_holder(claimed_by, parent, lease)
        )

    def lapsed(self) -> ReviewJobQuerySet:
        return self.filter(status=JobStatus.RUNNING, leased_until__lt=DatabaseClock())

    def held_by(self, lease: Lease | None) -> ReviewJobQuerySet:
        """Jobs of the claim that has this lease; without a lease, all."""
        return self if lease is None else self.filter(claim_token=lease.token)

    def extend(self, job_ids: Mapping[str, int], length: timedelta) -> set[str]:
        """Extend leases, by their tokens; return those that are held still, and not asked to end."""
        held = self.filter(
            pk__in=job_ids.values(), claim_token__in=job_ids, leased_until__isnull=False
        )
        if held.update(leased_until=DatabaseClock() + length) == len(job_ids):
            return set(job_ids)
        return set(held.values_list("claim_token", flat=True))

    def close(
        self,
        jobs: Sequence[ReviewJob],
        *,
        leaving: JobStatus,
        ending: Ending,
        telemetry: Mapping[str, Any] | None = None,
        also: Mapping[str, Any] | None = None,
        now: datetime,
    ) -> bool:
        """`leaving` to the ending, on rows and `jobs`; False: one was moved, roll back."""
        fields: dict[str, Any] = {
            "status": ending.status,
            "completed_at": now,
            "failure_code": ending.code or "",
            "failure_reason": ending.reason,
            "leased_until": None,
            **(also or {}),
        }
        if telemetry is not None:
            fields["telemetry"] = kept_telemetry(telemetry)
        # No join: an UPDATE over a join finds its rows in a subquery, and a server that waited for
        # such a row does not look again whether it still is in the state that is left.
        is_replaced = Exists(ReviewJob.objects.filter(replaces=OuterRef("pk")))
        held = self.filter(~is_replaced, pk__in=[job.pk for job in jobs], status=leaving)
        if held.update(**fields) != len(jobs):
            return False
        for job in jobs:
            for name, value in fields.items():
                setattr(job, name, value)
        return True


def _holder(claimed_by: str, parent: Parent | None, lease: Lease | None) -> dict[str, Any]:
    return {
        "claimed_by": claimed_by,
        "parent_host": parent.host if parent else "",
        "parent_pid": parent.pid if parent else None,
        "parent_started_at": parent.started_at if parent else None,
        "claim_token": lease.token if lease else "",
        "leased_until": DatabaseClock() + lease.length if lease else None,
    }


class ReviewJob(models.Model):
    """One invocation: the pairs of one prompt, and their outcome.

    `runner`, `runner_model` and `runner_effort` are dispatch-time provenance: what the parent
    said when it claimed the job. NULL means that its harness does not expose it.

    `claim_token` is that of the last claim with a lease. `leased_until`, by the database's clock,
    is NULL where nobody extends it: a claim without a lease, or one that is asked to end.
    """

    model_partition = models.ForeignKey(ModelPartition, models.PROTECT, related_name="+")
    status = models.CharField(max_length=12, choices=JobStatus, default=JobStatus.QUEUED)
    purpose = models.CharField(
        max_length=8, choices=JobPurpose, default=JobPurpose.REVIEW, db_default=JobPurpose.REVIEW
    )
    grouping = models.CharField(max_length=8, choices=Grouping)
    lens = models.CharField(max_length=200)
    sentinel_token = models.CharField(max_length=8)
    prompt_path = models.TextField()
    bundle_output_path = models.TextField()
    prompt_sha256 = models.CharField(max_length=64)
    prompt_version = models.PositiveSmallIntegerField(db_default=1)
    estimated_prompt_tokens = models.PositiveIntegerField()
    pair_count = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    claimed_by = models.CharField(max_length=200, blank=True, default="")
    parent_host = models.CharField(max_length=255, blank=True, default="")
    parent_pid = models.PositiveBigIntegerField(null=True)
    parent_started_at = models.DateTimeField(null=True)
    claim_token = models.CharField(max_length=32, blank=True, default="", db_default="")
    leased_until = models.DateTimeField(null=True)
    runner = models.CharField(max_length=200, null=True)  # noqa: DJ001
    runner_model = models.CharField(max_length=200, null=True)  # noqa: DJ001
    runner_effort = models.CharField(max_length=200, null=True)  # noqa: DJ001
    telemetry = models.JSONField(null=True)
    self_reported_model = models.CharField(max_length=200, blank=True, default="")
    failure_code = models.CharField(max_length=24, choices=FailureCode, blank=True, default="")
    failure_reason = models.TextField(blank=True, default="")
    # Of a job in a provider's batch: its id there once it is known, and the end of its time.
    batch_id = models.CharField(max_length=200, blank=True, default="", db_default="")
    batch_until = models.DateTimeField(null=True)
    replaces = models.OneToOneField("self", models.PROTECT, null=True, related_name="replaced_by")

    objects: ClassVar[ReviewJobQuerySet] = ReviewJobQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        db_table = "review_jobs"
        indexes = [index("review_job_by_status", "status model_partition")]
        constraints = [
            check("review_job_status_known", Q(status__in=JobStatus.values)),
            check("review_job_grouping_known", Q(grouping__in=Grouping.values)),
            check(
                "review_job_failure_code_known",
                Q(failure_code="") | Q(failure_code__in=FailureCode.values),
            ),
            check(
                "review_job_failed_says_why",
                ~Q(status=JobStatus.FAILED) | (~Q(failure_reason="") & ~Q(failure_code="")),
            ),
            check(
                "review_job_only_failed_has_failure",
                Q(status=JobStatus.FAILED) | Q(failure_code="", failure_reason=""),
            ),
            check(
                "review_job_running_has_started_at",
                ~Q(status=JobStatus.RUNNING) | Q(started_at__isnull=False),
            ),
            check(
                "review_job_closed_has_completed_at",
                Q(status__in=OPEN_JOB_STATUSES) | Q(completed_at__isnull=False),
            ),
            check(
                "review_job_open_has_no_completed_at",
                ~Q(status__in=OPEN_JOB_STATUSES) | Q(completed_at=None),
            ),
            check(
                "review_job_lease_of_a_running_claim",
                Q(leased_until=None) | (Q(status=JobStatus.RUNNING) & ~Q(claim_token="")),
            ),
            check("review_job_batch_has_an_end", Q(batch_id="") | Q(batch_until__isnull=False)),
            check("review_job_not_its_own_replacement", ~Q(replaces=F("pk"))),
        ]

    def __str__(self) -> str:
        return f"job {self.pk} ({self.status})"

    @property
    def replacement_id(self) -> int | None:
        """The job that replaced this one; loaded by `with_names`."""
        found: int | None = self.__dict__["found_replacement"]
        return found


class JobMove(NamedTuple):
    job_id: int
    from_status: str
    to_status: str
    note: str


class JobEventQuerySet(models.QuerySet["JobEvent"]):
    def record(self, moves: Iterable[JobMove], *, actor: str, now: datetime) -> None:
        self.bulk_create(
            (JobEvent(**move._asdict(), actor=actor, at=now) for move in moves), batch_size=200
        )


class JobEvent(models.Model):
    """Append-only: who moved a job, from where to where; `from_status` is empty at creation."""

    job = models.ForeignKey(ReviewJob, models.PROTECT, related_name="events")
    from_status = models.CharField(max_length=12, choices=JobStatus, blank=True)
    to_status = models.CharField(max_length=12, choices=JobStatus)
    actor = models.CharField(max_length=200)
    note = models.TextField(blank=True, default="")
    at = models.DateTimeField()

    objects: ClassVar[JobEventQuerySet] = JobEventQuerySet.as_manager()  # type: ignore[assignment]

    class Meta:
        db_table = "review_job_events"
        constraints = [
            check("review_job_event_to_known", Q(to_status__in=JobStatus.values)),
            check("review_job_event_has_actor", ~Q(actor="")),
        ]

    def __str__(self) -> str:
        return f"{self.job_id}: {self.from_status or 'new'} to {self.to_status}"


class JobOutput(models.Model):
    """The raw output of a job with a missing pair, byte-identical: paid work is never thrown away."""

    job = models.ForeignKey(ReviewJob, models.PROTECT, related_name="outputs")
    content_sha256 = models.CharField(max_length=64)
    raw = models.BinaryField()
    at = models.DateTimeField()

    class Meta:
        db_table = "review_job_outputs"
        constraints = [unique("review_job_output_once_per_text", "job content_sha256")]
