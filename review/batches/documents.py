"""`review-batches/1`: the batches that providers hold, and what was collected of them."""

from __future__ import annotations

from review.documents.base import Document


class BatchJson(Document, kw_only=True):
    """A batch: `jobs` counts its jobs that were open, `closed` those that were collected, by status.

    `state` is `sent`, `unrecorded` (whether it arrived is not known), `under-way`, `cancelling`,
    `collected` or `out-of-reach`.
    """

    batch_id: str | None
    runner: str
    model_partition: str
    sent_at: str | None
    until: str | None
    jobs: int
    state: str
    closed: dict[str, int] = {}
    cost_usd: float | None = None
    jobs_without_cost: int = 0
    problem: str | None = None


class BatchesJson(Document, kw_only=True):
    schema: str = "review-batches/1"
    batches: list[BatchJson]
