"""`review-sweep/1` and `run-gate-sweep/1`: what a sweep did, or would do."""

from __future__ import annotations

from review.documents.base import Document, ProblemJson
from review.jobs.costs import PricedEstimateJson
from review.jobs.job_documents import SkippedJson


class SalvagedJson(Document, kw_only=True):
    """A job of a parent that is gone, as it was closed: with the reviews that its run had left."""

    review_job_id: int
    status: str
    failure_code: str | None
    pairs_kept: int


class PlanJson(Document, kw_only=True):
    """Jobs that a sweep would run: new ones, and queued ones that hold pairs of its scope.

    `estimated_cost_usd` is by `estimated_from_jobs` past jobs of the runner and partition; null
    when none of them reported its cost. `estimates` are for new jobs, by model API with prices.
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
    jobs: int
    pairs_missing: int
    review_job_ids: list[int]


class SweepCostJson(Document, kw_only=True):
    """Cost that the runs of a sweep report; null is unknown, and never zero."""

    usd: float | None
    jobs_without_cost: int
    input_tokens: int | None
    output_tokens: int | None


class FixJson(Document, kw_only=True):
    """A note that was handed to a runner to be mended.

    `outcome` is `planned` (a dry run), `changed` (a diff, and nothing applied), `applied`,
    `unchanged`, `failed` or `refused`. `said` are the runner's last words: claims. The findings stay open until a review of
    the new text.
    """

    note_path: str
    outcome: str
    reason: str | None
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
    problems: list[ProblemJson] = []
    resets_at: str | None = None
    fixes: list[FixJson] = []
    fix_record: str | None = None
