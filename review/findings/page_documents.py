"""`finding/1`: one finding with all that people and reviews said about it."""

from __future__ import annotations

from review.documents.base import Document
from review.findings.documents import QueueFindingJson


class DispositionJson(Document, kw_only=True):
    """What a person decided about the finding."""

    disposition: str
    actor: str
    reason: str
    at: str


class OccurrenceJson(Document, kw_only=True):
    """A review that reported the finding, in its own words."""

    review_pair_id: int
    model_partition: str
    decision: str
    severity: str
    text: str
    reviewed_at: str | None


class FindingJson(Document, kw_only=True):
    """A finding as its latest review reports it.

    `in_queue` is whether it is part of the queue, in any status; `out_because` says why it is not.
    `dispositions` are all that were recorded, the last one first; `occurrences` likewise.
    """

    schema: str = "finding/1"
    note_path: str
    gate_path: str
    gate_id: str
    lens: str
    model_partition: str
    decision: str
    review_pair_id: int
    note_now: str
    seen: str
    in_queue: bool
    out_because: str
    later_pass_in: list[str]
    finding: QueueFindingJson
    dispositions: list[DispositionJson]
    occurrences: list[OccurrenceJson]
