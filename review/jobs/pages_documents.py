"""`review-job/1` and `review-events/1`: one job with all that happened to it, and the log of all."""

from __future__ import annotations

from review.documents.base import Document
from review.jobs.job_documents import JobJson


class JobEventJson(Document, kw_only=True):
    """A move of a job; `from_status` is null at its creation."""

    review_job_event_id: int
    review_job_id: int
    from_status: str | None
    to_status: str
    actor: str
    note: str
    at: str | None


class JobFileJson(Document):
    """A file of a job; `state` is `there`, `none`, `unreadable` or `outside`."""

    path: str
    state: str
    byte_size: int | None


class JobCommandJson(Document):
    """Something to type; `why` says what it does to this job."""

    why: str
    command: str


class JobDetailsJson(Document, kw_only=True):
    """The answer of the page of a job.

    `output_state` is `none`, `unreadable`, `foreign`, `partial` or `complete`. `recovery` says why
    somebody may have to see to it, by kind: `abandoned`, `ready`, `missing`.
    """

    schema: str = "review-job/1"
    job: JobJson
    events: list[JobEventJson]
    prompt: JobFileJson
    output: JobFileJson
    manifest: JobFileJson
    output_state: str
    recovery: dict[str, str]
    self_reported_model: str | None
    telemetry: dict[str, object] | None
    commands: list[JobCommandJson]


class DispositionEventJson(Document, kw_only=True):
    """A person's decision about a finding; `text` is null when no review reports it."""

    fingerprint: str
    state: str
    actor: str
    reason: str
    at: str | None
    text: str | None
    note_path: str | None
    gate_id: str | None


class DecisionEventJson(Document, kw_only=True):
    """A decision that a person set on a review."""

    review_pair_id: int
    decision: str
    actor: str
    reason: str
    at: str | None
    note_path: str
    gate_id: str


class AcceptanceEventJson(Document, kw_only=True):
    """An acceptance that is no review's own: `ack`, `auto-ack`, `override` or `carry-over`.

    `review_pair_id` is the evidence; an override may have none.
    """

    kind: str
    note_path: str
    gate_id: str
    model_partition: str
    review_pair_id: int | None
    actor: str
    reason: str
    at: str | None


class EventListJson(Document, kw_only=True):
    """The answer of the page of events, each list newest first; `events` are the moves of jobs.

    A page of a narrowed list may hold few or none and still have a `next`, which looks further back.
    """

    schema: str = "review-events/1"
    events: list[JobEventJson]
    dispositions: list[DispositionEventJson]
    decisions: list[DecisionEventJson]
    acceptances: list[AcceptanceEventJson]
    next: str | None
