"""`render-review/1` and `export-reviews/1`: reviews, their texts, and what became of them."""

from __future__ import annotations

from review.documents.base import Document
from review.findings.states import QueueFindingJson


class PersonDecisionJson(Document, kw_only=True):
    """A person's decision about a review, made after parsing; the last one counts."""

    decision: str
    actor: str
    reason: str
    at: str | None


class FileStateJson(Document, kw_only=True):
    """A file as it was reviewed; `now` is `same`, `changed` or `gone`."""

    path: str
    sha256: str
    now: str


class ProvenanceJson(Document, kw_only=True):
    """The parent's statement; `claim_problem`: the output names a model of another partition."""

    runner: str | None
    runner_model: str | None
    runner_effort: str | None
    claimed_by: str | None
    claimed_at: str | None
    self_reported_model: str | None
    claim_problem: str | None
    telemetry_models: list[str]
    telemetry_contradicts: bool = False


class AcceptanceJson(Document, kw_only=True):
    """A current acceptance; `review_pair_id` is null for an override."""

    note_path: str
    gate_id: str
    model_partition: str
    kind: str
    decision: str
    review_pair_id: int | None
    actor: str
    reason: str
    accepted_at: str | None
    note_sha256: str
    gate_sha256: str


class ReviewJson(Document, kw_only=True):
    """One completed review.

    `decision` is the one that counts, `parsed_decision` what the text was read as. `acceptance` is
    the current one of the key, whether or not this review is its evidence (`is_current`).
    `note` and `gate` say how the reviewed text relates to today's files.
    """

    review_pair_id: int
    review_job_id: int
    note_path: str
    gate_path: str
    gate_id: str
    lens: str
    model_partition: str
    decision: str
    parsed_decision: str
    decision_source: str | None
    problem: str | None
    person_decisions: list[PersonDecisionJson]
    reviewed_at: str | None
    not_accepted_because: str | None
    is_current: bool
    later_review_pair_id: int | None
    acceptance: AcceptanceJson | None
    note: FileStateJson
    gate: FileStateJson
    provenance: ProvenanceJson
    findings: list[QueueFindingJson]
    result_path: str | None
    text: str


class RenderedJson(Document, kw_only=True):
    """The answer of `render_review`; `unreviewed` are acceptances without a review as evidence."""

    schema: str = "render-review/1"
    reviews: list[ReviewJson]
    unreviewed: list[AcceptanceJson]


class ExportedJson(Document, kw_only=True):
    """The answer of `export_reviews`; `left` are files of an earlier export, of no acceptance now."""

    schema: str = "export-reviews/1"
    format: str
    output: str
    reviews: int = 0
    written: int = 0
    unchanged: int = 0
    left: list[str] = []
