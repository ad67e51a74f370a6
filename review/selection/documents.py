"""`review-target-selector/1`: printed by the selector, read by job creation and by acks."""

from __future__ import annotations

import msgspec

from review.documents.base import Document, Problems


class RenameJson(Document):
    """A note or folder that moved, 0..1 alike, and the command that takes its reviews along."""

    old_path: str
    new_path: str
    similarity: float
    command: str

    @property
    def line(self) -> str:
        edited = "" if self.similarity == 1 else f" and edited ({self.similarity:.0%} alike)"
        return f"probably renamed{edited}: {self.command}"


SELECTION_SCHEMA = "review-target-selector/1"


class ChangeJson(Document):
    """The change since the reviewed text, as the gate sees it; `body_ratio` may exceed 1."""

    watched: list[str]
    body_ratio: float | None
    trivial: bool


class KeyJson(Document):
    note_path: str
    gate_path: str
    gate_id: str


class PairReasonJson(Document):
    """A pair that is left out, or stale: `reason` is one of staleness, or `decision-error`."""

    note_path: str
    gate_id: str
    reason: str


class TargetJson(KeyJson, kw_only=True):
    lens: str
    reason: str
    reasons: list[str]
    note_sha256: str
    gate_sha256: str
    accepted_note_sha256: str | None = None
    accepted_gate_sha256: str | None = None
    accepted_at: str | None = None
    accepted_review_pair_id: int | None = None
    open_review_job_id: int | None = None
    change: ChangeJson | None = None


class DiffJson(Document):
    """A diff from an accepted text to today's, unified, and by words: `[-removed-]{+added+}`."""

    path: str
    accepted_sha256: str
    sha256: str
    diff: str
    words: str
    truncated: bool


class TargetInput(msgspec.Struct, kw_only=True):
    """The fields of a target that job creation and acks need; other keys are ignored."""

    note_path: str
    gate_path: str
    gate_id: str
    reason: str = ""
    note_sha256: str | None = None
    gate_sha256: str | None = None


class SelectionInput(msgspec.Struct, kw_only=True):
    """A selection as input; `targets` are decoded one by one, so that an error has an index."""

    schema: str
    model_partition: str | None
    targets: list[msgspec.Raw]


class SelectionJson(Document, kw_only=True, tag_field="schema", tag=SELECTION_SCHEMA):
    """The answer of `review_target_selector`; the command streams it."""

    mode: str
    model_partition: str | None
    targets: list[TargetJson]
    diffs: list[DiffJson]
    counts: dict[str, int]
    problems: Problems
    renames: list[RenameJson] = []
    left_out: dict[str, int] = {}
    next: str | None = None
    summary: dict[str, dict[str, int]] = {}
