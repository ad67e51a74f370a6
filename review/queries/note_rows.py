"""One gate in one model partition, as the page of a note shows it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from review.contracts.base import timestamp
from review.contracts.note_pages import NotePairJson
from review.contracts.selection import ChangeJson
from review.domain.identity import lens_of
from review.vocabulary import Decision, Staleness

SOMETHING, REVIEW, NOTHING = "something", "review", "nothing"
FRESH, GATE_GONE, NOT_APPLICABLE = "fresh", "gate-gone", "not-applicable"


@dataclass(frozen=True)
class PairRow:
    """One gate in one partition; what the acceptance says is empty where there is none."""

    gate_id: str
    gate_path: str
    model_partition: str
    reasons: tuple[Staleness, ...]
    gone: str = ""
    decision: str = ""
    kind: str = ""
    accepted_at: datetime | None = None
    actor: str = ""
    reason: str = ""
    review_pair_id: int | None = None
    note_snapshot_id: int | None = None
    accepted_note_sha256: str | None = None
    undecided_pair_id: int | None = None
    open_job_id: int | None = None
    gate_sha256: str | None = None
    change: ChangeJson | None = None

    @property
    def lens(self) -> str:
        """The gate's lens."""
        return lens_of(self.gate_id)

    @property
    def state(self) -> str:
        """Fresh, why not, or why nothing asks any more."""
        return self.gone or (self.reasons[0].value if self.reasons else FRESH)

    @property
    def wants(self) -> str:
        """`something` of a person, a first `review`, or `nothing`: fresh and passed, or not asked."""
        if self.undecided_pair_id:
            return SOMETHING
        if self.gone or (not self.reasons and self.decision == Decision.PASS):
            return NOTHING
        return SOMETHING if self.accepted_at else REVIEW

    @property
    def is_trivial(self) -> bool:
        """Whether it is stale for nothing but a change that the gate calls trivial."""
        only_changed = self.reasons == (Staleness.NOTE_CHANGED,) and self.review_pair_id is not None
        return only_changed and self.change is not None and self.change.trivial

    def as_json(self) -> NotePairJson:
        """For the document of the page."""
        return NotePairJson(
            gate_id=self.gate_id,
            gate_path=self.gate_path,
            lens=self.lens,
            model_partition=self.model_partition,
            state=self.state,
            reasons=[reason.value for reason in self.reasons],
            decision=self.decision or None,
            kind=self.kind or None,
            accepted_at=timestamp(self.accepted_at),
            accepted_note_sha256=self.accepted_note_sha256,
            actor=self.actor or None,
            reason=self.reason or None,
            review_pair_id=self.review_pair_id,
            undecided_pair_id=self.undecided_pair_id,
            open_review_job_id=self.open_job_id,
            change=self.change,
        )
