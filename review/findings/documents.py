"""`warn-selector/1`: what a person or a fixing agent must do next."""

from __future__ import annotations

import msgspec

from review.documents.base import Document
from review.documents.problems import ProblemJson

WARN_SCHEMA = "warn-selector/1"


class QueueFindingJson(Document, kw_only=True):
    """A finding in the queue.

    `line` is 1-based in the text that was reviewed, `line_now` in today's; null: not found there.
    `quote_gone`: it was found in the first, and is not in the other. `of_whole_review`: the review
    decided so and lists no such finding; this stands for its decision.
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
    """A (note, gate) pair that wants an edit, as its latest accepted review says."""

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


class LookJson(Document, kw_only=True):
    """A review that wants a person's eye; `why` is `decision-unknown`, `decision-error` or
    `findings-disagree`."""

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
    """The answer of `warn_selector`; findings of notes that are gone stand apart.

    `waiting_findings` are not among them: their gate changed, and they wait for a new review.
    """

    schema: str = WARN_SCHEMA
    entries: list[QueueEntryJson]
    deleted_notes: list[QueueEntryJson]
    problems: list[ProblemJson]
    waiting_findings: int = 0


class QueuePageJson(QueueJson, kw_only=True):
    """A part of that answer; `next` is the address of the part after it, absent at the end."""

    next: str | msgspec.UnsetType = msgspec.UNSET


class LooksJson(Document, kw_only=True):
    """The answer of `warn_selector --needs-a-look`."""

    schema: str = WARN_SCHEMA
    needs_a_look: list[LookJson]
    problems: list[ProblemJson]


class LooksPageJson(LooksJson, kw_only=True):
    """A part of that answer; `next` is the address of the part after it, absent at the end."""

    next: str | msgspec.UnsetType = msgspec.UNSET
