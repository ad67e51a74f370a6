"""`create-review-jobs/1`, `claim-review-job/1`, `review-job-list/1`, `ingest-bundle-output/1`."""

from __future__ import annotations

from dataclasses import dataclass

from review.documents.base import AcceptedJson, Document, ListJson, Problems, SaidJson
from review.errors import ReviewError
from review.selection.documents import KeyJson, PairReasonJson


class PlannedPairJson(KeyJson):
    ordinal: int


class PairJson(PlannedPairJson):
    """A pair of a job; `decision` is null until it is completed."""

    review_pair_id: int
    pair_status: str
    decision: str | None


class _JobShape(Document, kw_only=True):
    model_partition: str
    lens: str
    estimated_prompt_tokens: int
    pair_count: int


class JobJson(_JobShape, kw_only=True):
    """A job as create, claim and list show it; paths are root-relative where they are below it."""

    review_job_id: int
    status: str
    grouping: str
    prompt_path: str
    bundle_output_path: str
    manifest_path: str
    pairs: list[PairJson]
    claimed_by: str | None = None
    runner: str | None = None
    runner_model: str | None = None
    runner_effort: str | None = None
    created_at: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    failure_code: str | None = None
    failure_reason: str | None = None
    replaces: int | None = None
    replaced_by: int | None = None
    purpose: str = "review"


class PlannedJobJson(_JobShape, kw_only=True):
    grouping: str
    pairs: list[PlannedPairJson]


class SkippedJson(PairReasonJson):
    """A target that became no pair, and why; `review_job_id` names the open job that has it."""

    review_job_id: int | None = None


class TotalsJson(Document, kw_only=True):
    jobs: int
    pairs: int
    estimated_prompt_tokens: int


class CreatedJson(Document, kw_only=True, tag_field="schema", tag="create-review-jobs/1"):
    dry_run: bool = False
    jobs: list[JobJson | PlannedJobJson]
    skipped: list[SkippedJson]
    problems: Problems
    totals: TotalsJson


class ClaimedJson(Document, kw_only=True, tag_field="schema", tag="claim-review-job/1"):
    """The answer of `claim_review_job`; `validated` is `full`, `model` or `none`."""

    claimed: bool
    validated: str
    jobs: list[JobJson]


class TakenJobJson(_JobShape, kw_only=True):
    """A job that was taken, with its prompt: less the beginning that is that of `shares_with`."""

    review_job_id: int
    prompt_path: str
    bundle_output_path: str
    prompt: str
    shares_with: int | None = None


class TakenJson(Document, kw_only=True, tag_field="schema", tag="next-review-job/1"):
    """The answer of `next_review_job`: jobs, how many were made for it, and what is left."""

    answer: str = ""
    jobs: list[TakenJobJson]
    created: int
    skipped: list[SkippedJson]
    queued: int
    left: int = 0


class JobListJson(ListJson, kw_only=True, tag_field="schema", tag="review-job-list/1"):
    """The answer of `review_job_list`; a page has the newest jobs of it."""

    jobs: list[JobJson]


class FindingJson(Document, kw_only=True):
    """A finding as ingest reports it; `line` is 1-based in the reviewed note, null if not found."""

    fingerprint: str
    severity: str
    text: str
    quote: str
    line: int | None


class IngestedPairJson(PairJson, kw_only=True):
    decision_source: str | None = None
    result_path: str | None = None
    problem: str | None = None
    accepted: bool = False
    not_accepted_because: str | None = None
    findings: list[FindingJson] = []


class IngestedJobJson(Document, kw_only=True):
    review_job_id: int
    status: str
    failure_code: str | None
    failure_reason: str | None
    pairs: list[IngestedPairJson]
    self_reported_model: str | None
    problems: list[str]


@dataclass(frozen=True)
class RefusedJob:
    review_job_id: int
    error: ReviewError


class RefusalJson(Document):
    """One item of a batch that was refused while the others went on."""

    review_job_id: int
    code: str
    message: str
    exit: int

    @classmethod
    def of(cls, job_id: int, error: ReviewError) -> RefusalJson:
        return cls(job_id, error.code, error.message, int(error.exit_code))


class IngestedJson(Document, kw_only=True, tag_field="schema", tag="ingest-bundle-output/1"):
    jobs: list[IngestedJobJson]
    refused: list[RefusalJson] = []


class LeftQueuedJson(Document, kw_only=True):
    review_job_id: int
    reason: str


class RanJson(Document, kw_only=True, tag_field="schema", tag="run-review-jobs/1"):
    """The answer of `run_review_jobs`; `watched` counts the jobs of `--watch` by their ending."""

    jobs: list[IngestedJobJson] = []
    left_queued: list[LeftQueuedJson] = []
    refused: list[RefusalJson] = []
    stopped_because: str | None = None
    watched: dict[str, int] | None = None


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


class JobDetailsJson(Document, kw_only=True, tag_field="schema", tag="review-job/1"):
    """The answer of the page of a job; `recovery` says why to see to it: `abandoned`, `ready`…"""

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


class DispositionEventJson(SaidJson, kw_only=True):
    """A person's decision about a finding; `text` is null when no review reports it."""

    fingerprint: str
    state: str
    text: str | None
    note_path: str | None
    gate_id: str | None


class DecisionEventJson(SaidJson, kw_only=True):
    review_pair_id: int
    decision: str
    note_path: str
    gate_id: str


class AcceptanceEventJson(AcceptedJson, kw_only=True):
    """An acceptance that is no review's own."""

    note_path: str


class EventListJson(Document, kw_only=True, tag_field="schema", tag="review-events/1"):
    """The answer of the page of events, newest first; a narrowed part may hold none."""

    events: list[JobEventJson]
    dispositions: list[DispositionEventJson]
    decisions: list[DecisionEventJson]
    acceptances: list[AcceptanceEventJson]
    next: str | None
