"""`recover-review-jobs/1`: what wants recovering, and what became of it."""

from __future__ import annotations

from review.documents.base import Document
from review.jobs.job_documents import IngestedJobJson, RefusalJson


class RecoverableJson(Document, kw_only=True):
    """A job that may need recovery, and why.

    `output` is `none`, `unreadable`, `foreign` (no block of this job), `partial` or `complete`;
    `output_detail` says of a partial one what an ingest would keep, and why the rest is missing.
    """

    review_job_id: int
    status: str
    model_partition: str
    lens: str
    pair_count: int
    pairs_without_review: int
    claimed_by: str | None
    runner: str | None
    started_at: str | None
    because: str
    output: str
    output_detail: str = ""
    bundle_output_path: str


class RecoveryListJson(Document, kw_only=True):
    """The answer of `recover_review_jobs --action list`; a job can be in two lists."""

    schema: str = "recover-review-jobs/1"
    action: str = "list"
    abandoned: list[RecoverableJson]
    ready: list[RecoverableJson]
    failed: list[RecoverableJson]
    next: str | None = None
    summary: dict[str, dict[str, int]] = {}


class LeftOutJson(Document):
    """A pair of a replaced job that its replacement leaves out."""

    note_path: str
    gate_path: str
    reason: str


class RecoveredJson(Document):
    """A job that was recovered (or would be); `ingested` is set after an ingest only."""

    review_job_id: int
    status: str
    replaced_by: int | None = None
    left_out: list[LeftOutJson] = []
    problems: list[str] = []
    ingested: IngestedJobJson | None = None


class RecoveryJson(Document, kw_only=True):
    """The answer of the other actions; after `dry_run` nothing moved."""

    schema: str = "recover-review-jobs/1"
    action: str
    dry_run: bool
    done: list[RecoveredJson]
    refused: list[RefusalJson]
