"""`note/1` and `notes/1`: what the pages of notes say; no command prints them."""

from __future__ import annotations

from review.documents.base import Document
from review.documents.problems import ProblemJson
from review.findings.documents import QueueFindingJson
from review.selection.documents import ChangeJson


class NotePairJson(Document, kw_only=True):
    """Where a note stands with one gate in one model partition.

    `state` is `fresh`, a staleness reason, or `gate-gone` or `not-applicable` where the gate no longer
    applies. Pairs with one `accepted_note_sha256` are stale for the same change of the note.
    `change` is null where nothing changed, or where it was not measured. `undecided` is a later
    review without a readable decision.
    """

    gate_id: str
    gate_path: str
    gate_sha256: str | None
    lens: str
    model_partition: str
    state: str
    reasons: list[str]
    decision: str | None = None
    kind: str | None = None
    accepted_at: str | None = None
    accepted_note_sha256: str | None = None
    accepted_note_snapshot_id: int | None = None
    actor: str | None = None
    reason: str | None = None
    review_pair_id: int | None
    undecided_pair_id: int | None
    open_review_job_id: int | None
    change: ChangeJson | None = None


class NoteEventJson(Document, kw_only=True):
    """One acceptance of the note's past; `review_pair_id` is null for an override."""

    acceptance_event_id: int
    gate_id: str
    model_partition: str
    kind: str
    decision: str
    review_pair_id: int | None
    actor: str
    reason: str
    at: str | None
    note_sha256: str
    note_snapshot_id: int


class NoteFindingJson(Document, kw_only=True):
    """An open finding, with the review that reported it."""

    gate_id: str
    model_partition: str
    review_pair_id: int
    finding: QueueFindingJson


class NoteJson(Document, kw_only=True):
    """The answer of a note's page; `sha256` is null when the file is gone or cannot be read.

    `unjudged_gates` apply to the note, and no model partition has judged any note by them yet.
    """

    schema: str = "note/1"
    note_path: str
    sha256: str | None
    title: str
    status: str
    type: str
    traits: list[str]
    pairs: list[NotePairJson]
    unjudged_gates: list[str]
    findings: list[NoteFindingJson]
    history: list[NoteEventJson]
    problems: list[ProblemJson]
