"""The documents of findings: `warn-selector/1`, its pages, `finding/1` and `fix-prompt/1`."""

from __future__ import annotations

import msgspec

from review.documents.base import Document, ProblemJson

WARN_SCHEMA = "warn-selector/1"


class QueueFindingJson(Document, kw_only=True):
    """A finding in the queue.

    `line` is 1-based in the text that was reviewed, `line_now` in today's; null: not found there.
    `quote_gone`: it was found in the first, and is not in the other. `of_whole_review`: the review
    decided so and lists no such finding; this entry represents its decision.
    """

    fingerprint: str
    severity: str
    text: str
    quote: str
    line: int | None
    line_now: int | None
    status: str
    regressed: bool
    quote_gone: bool = False
    of_whole_review: bool = False


class QueueEntryJson(Document, kw_only=True):
    """A pair that wants an edit; `noisy` says why it comes last in the order of priority."""

    note_path: str
    gate_path: str
    gate_id: str
    lens: str
    model_partition: str
    decision: str
    review_pair_id: int
    accepted_at: str | None
    note_changed_since: bool
    later_pass_in: tuple[str, ...]
    findings: list[QueueFindingJson]
    rationale: str | None
    noisy: str | None = None


class DispositionJson(Document, kw_only=True):
    """A person's decision about the finding."""

    disposition: str
    actor: str
    reason: str
    at: str


class OccurrenceJson(Document, kw_only=True):
    """A review that reported the finding."""

    review_pair_id: int
    model_partition: str
    decision: str
    severity: str
    text: str
    reviewed_at: str | None


class FindingPageJson(Document, kw_only=True):
    """A finding as its latest review reports it; dispositions and occurrences, the last first."""

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


class LookJson(Document, kw_only=True):
    """A review that wants a person's eye; `why` is a `LookReason`."""

    note_path: str
    gate_path: str
    gate_id: str
    lens: str
    model_partition: str
    decision: str
    review_pair_id: int
    why: str
    problem: str | None
    findings: list[QueueFindingJson]
    rationale: str | None


class QueueJson(Document, kw_only=True):
    """The answer of `warn_selector`; findings of notes that are gone are listed separately.

    `next` is the cursor of the part behind this one, and on a page the address of the part after it,
    absent at the end; `summary` counts entries if requested.
    `waiting_findings` are not among them: their gate changed, and they wait for a new review. Nor are
    `muted_findings`, of gates that `kb/review.toml` mutes.
    """

    schema: str = WARN_SCHEMA
    entries: list[QueueEntryJson]
    deleted_notes: list[QueueEntryJson]
    problems: list[ProblemJson]
    waiting_findings: int = 0
    muted_findings: int = 0
    next: str | msgspec.UnsetType | None = None
    summary: dict[str, dict[str, int]] = {}


class LooksJson(Document, kw_only=True):
    """The answer of `warn_selector --needs-a-look`."""

    schema: str = WARN_SCHEMA
    needs_a_look: list[LookJson]
    problems: list[ProblemJson]
    next: str | msgspec.UnsetType | None = None
    summary: dict[str, dict[str, int]] = {}


class FixPromptJson(Document, kw_only=True):
    """The answer of `fix_prompt`; `prompt` is null where it was written to `output`."""

    schema: str = "fix-prompt/1"
    note_path: str
    note_sha256: str
    fingerprints: list[str]
    output: str | None = None
    prompt: str | None
