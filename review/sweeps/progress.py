"""The progress of a sweep: updates of each job, the events made of them, and the numbers so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from review.documents.base import Document, Problems
from review.jobs.costs import PricedEstimateJson
from review.jobs.job_documents import IngestedJobJson, LeftQueuedJson, RefusedJob, SkippedJson
from review.jobs.leases import JobNotClaimable, LeaseLost
from review.models import ReviewJob
from review.protocol.telemetry import Usage
from review.runners.outcome import RunnerFailure
from review.selection.documents import RenameJson
from review.vocabulary import Decision, JobStatus, PairStatus


class SalvagedJson(Document, kw_only=True):
    """A job of a parent that is gone, as it was closed: with the reviews that its run had left."""

    review_job_id: int
    status: str
    failure_code: str | None
    pairs_kept: int


class PlanJson(Document, kw_only=True):
    """Jobs that a sweep would run: new ones, and queued ones that hold pairs of its scope.

    The cost is by past jobs, null without any; `estimates` are for new jobs, by API with prices.
    """

    new_jobs: int
    new_pairs: int
    queued_jobs: int
    queued_pairs: int
    estimated_prompt_tokens: int
    estimated_cost_usd: float | None
    estimated_from_jobs: int
    estimates: list[PricedEstimateJson] = []


class FailureGroupJson(Document, kw_only=True):
    """Jobs that failed for one reason; the first ids of them."""

    failure_code: str
    reason: str
    jobs: int = 0
    pairs_missing: int = 0
    review_job_ids: list[int] = []


class SweepCostJson(Document, kw_only=True):
    """Cost that the runs of a sweep report; null is unknown, and never zero."""

    usd: float | None = None
    jobs_without_cost: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None

    def add(self, usage: Usage) -> None:
        self.jobs_without_cost += usage.cost_usd is None or not usage.whole
        if usage.cost_usd is not None:
            self.usd = round((self.usd or 0.0) + usage.cost_usd, 6)
        for name in ("input_tokens", "output_tokens"):
            if (value := getattr(usage, name)) is not None:
                setattr(self, name, (getattr(self, name) or 0) + value)


class FixJson(Document, kw_only=True):
    """A note that was handed to a runner to be mended; `said` are its last words: claims.

    `outcome` is `planned`, `changed` (not applied), `applied`, `unchanged`, `failed` or `refused`.
    """

    note_path: str
    outcome: str
    reason: str | None = None
    fingerprints: list[str] = []
    diff: str = ""
    truncated: bool = False
    said: str = ""
    cost_usd: float | None = None


class SweepJson(Document, kw_only=True):
    """The answer of a sweep.

    `stopped` says why the sweep ended before its work was done, or is null: `interrupted`,
    `account-exhausted`, `runner-unusable`, `partition-mismatch`, `failing`, `max-cost`,
    `cost-unknown`, `max-jobs`. `counts` are the selector's for the whole scope, before the sweep, and so is `left_out`. `jobs` counts
    `completed`, `failed`, `left-queued`, `refused`, `taken` (by another parent), `not-started` and
    `in-part`: failed with some reviews, and the rest was run again in another job. `resets_at` is
    when the account may be used again, if the runner reported it.
    `pairs` counts decisions, `missing` and `not-accepted`. `skipped` counts targets by reason, and
    `skipped_pairs` gives the first of them. `fixes` has the notes of `--fix`, and `fix_record` is the
    file, one JSON object a line, that records the fixes; null if no note was given to a runner.
    """

    schema: str = "review-sweep/1"
    dry_run: bool
    model_partition: str
    runner: str
    runner_model: str | None
    runner_effort: str | None
    grouping: str
    counts: dict[str, int] = {}
    left_out: dict[str, int] = {}
    targets: int
    salvaged: list[SalvagedJson] = []
    plan: PlanJson | None = None
    stopped: str | None = None
    stopped_because: str | None = None
    jobs: dict[str, int]
    pairs: dict[str, int] = {}
    failures: list[FailureGroupJson] = []
    skipped: dict[str, int] = {}
    skipped_pairs: list[SkippedJson] = []
    cost: SweepCostJson
    seconds: float
    problems: Problems = []
    renames: list[RenameJson] = []
    resets_at: str | None = None
    fixes: list[FixJson] = []
    fix_record: str | None = None


NOT_STARTED, TAKEN, IN_PART, SENT = "not-started", "taken", "in-part", "sent"
GIVEN_UP = "too-many-attempts"
CANNOT_JUDGE = "rule-cannot-judge"
_JOB_WORDS = ("completed", "failed", "left-queued", "refused", TAKEN, NOT_STARTED)
_PAIR_WORDS = (*(word.value for word in Decision), "missing", "not-accepted")
_SHOWN_IDS = 20
_SHOWN_SKIPPED = 200
_MAX_REASON = 300


@dataclass(frozen=True)
class SweepEvent:
    """An event of a sweep, for observers; `fields` can be written as JSON."""

    name: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class JobSent:
    review_job_id: int
    batch_id: str
    pair_count: int


@dataclass(frozen=True)
class JobRun:
    """A job that was run and is closed; `failure` is of its last run."""

    document: IngestedJobJson
    usage: Usage
    runs: int
    seconds: float
    failure: RunnerFailure | None = None

    @property
    def review_job_id(self) -> int:
        return self.document.review_job_id

    @property
    def missing(self) -> list[tuple[str, str]]:
        """Note and gate of the pairs that have no review after it."""
        pairs = self.document.pairs
        return [(it.note_path, it.gate_id) for it in pairs if it.pair_status == PairStatus.MISSING]

    @property
    def runs_rest_again(self) -> bool:
        """True if only a part was reviewed, and the rest may succeed in another job."""
        failure = self.failure
        passing = failure is not None and failure.retryable and not failure.concerns_all
        return passing and 0 < len(self.missing) < len(self.document.pairs)


JobOutcome = JobRun | LeftQueuedJson | RefusedJob
JobUpdate = SweepEvent | JobSent | JobOutcome


def started(job: ReviewJob) -> SweepEvent:
    return SweepEvent(
        "job-started", {"review_job_id": job.pk, "lens": job.lens, "pair_count": job.pair_count}
    )


def event_of(update: JobUpdate) -> SweepEvent:
    fields: dict[str, Any]
    if isinstance(update, SweepEvent):
        return update
    match update:
        case JobSent():
            name, fields = "job-sent", {"batch_id": update.batch_id}
        case JobRun():
            name, document, usage = "job-finished", update.document, update.usage
            decisions = Counter(pair.decision or pair.pair_status for pair in document.pairs)
            fields = {
                "status": document.status,
                "failure_code": document.failure_code,
                "failure_reason": document.failure_reason,
                "pairs": dict(sorted(decisions.items())),
                "runs": update.runs,
                "run_seconds": round(update.seconds, 3),
                "cost_usd": usage.cost_usd,
                "input_tokens": usage.input_tokens,
                "output_tokens": usage.output_tokens,
            }
        case LeftQueuedJson():
            name, fields = "left-queued", {"reason": update.reason}
        case _:
            error = update.error
            name, fields = "job-refused", {"code": error.code, "message": error.message}
    return SweepEvent(name, {"review_job_id": update.review_job_id, **fields})


@dataclass
class Tally:
    """The numbers of a sweep so far; `skipped` are targets that became no job, by reason."""

    pairs_in_all: int = 0
    pairs_done: int = 0
    running: set[int] = field(default_factory=set)
    jobs: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_JOB_WORDS, 0)))
    pairs: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_PAIR_WORDS, 0)))
    cost: SweepCostJson = field(default_factory=SweepCostJson)
    counts: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    renames: list[RenameJson] = field(default_factory=list)
    salvaged: list[SalvagedJson] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    skipped_pairs: list[SkippedJson] = field(default_factory=list)
    problems: Problems = ()
    _failures: dict[tuple[str, str], FailureGroupJson] = field(default_factory=dict)

    def add(self, update: JobUpdate) -> None:
        if isinstance(update, JobOutcome):
            self.running.discard(update.review_job_id)
        match update:
            case SweepEvent(name="job-started", fields=fields):
                self.running.add(fields["review_job_id"])
            case JobSent():
                self.jobs[SENT] += 1
                self.pairs_done += update.pair_count
            case JobRun():
                self._count_run(update)
            case LeftQueuedJson():
                self.jobs["left-queued"] += 1
            case RefusedJob(error=JobNotClaimable() | LeaseLost()):
                self.jobs[TAKEN] += 1
            case RefusedJob(job_id, error):
                self.jobs["refused"] += 1
                self._count_failure(error.code, error.message, job_id)

    def skip(self, item: SkippedJson) -> None:
        self.skipped[item.reason] += 1
        if len(self.skipped_pairs) < _SHOWN_SKIPPED:
            self.skipped_pairs.append(item)

    @property
    def failures(self) -> list[FailureGroupJson]:
        """Failed jobs by reason, the most frequent first."""
        groups = self._failures.values()
        return sorted(groups, key=lambda group: (-group.jobs, group.failure_code, group.reason))

    def _count_run(self, run: JobRun) -> None:
        document, missing = run.document, len(run.missing)
        self.pairs.update(pair.decision or "missing" for pair in document.pairs)
        self.pairs["not-accepted"] += sum(
            pair.decision is not None and not pair.accepted for pair in document.pairs
        )
        self.pairs_done += len(document.pairs)
        self.cost.add(run.usage)
        if run.runs_rest_again:
            self.jobs[IN_PART] += 1
            self.pairs_done -= missing
            self.pairs["missing"] -= missing
            return
        self.jobs[document.status] += 1
        if document.status == JobStatus.FAILED:
            code, reason = document.failure_code or "", document.failure_reason or ""
            self._count_failure(code, reason, document.review_job_id, missing=missing)

    def _count_failure(self, code: str, reason: str, job_id: int, *, missing: int = 0) -> None:
        reason = reason[:_MAX_REASON]
        group = self._failures.setdefault(
            (code, reason), FailureGroupJson(failure_code=code, reason=reason)
        )
        group.jobs += 1
        group.pairs_missing += missing
        if len(group.review_job_ids) < _SHOWN_IDS:
            group.review_job_ids.append(job_id)


# Receives each event with the numbers after it, in the sweep's own thread.
OnEvent = Callable[[SweepEvent, Tally], None]
