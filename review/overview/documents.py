"""JSON documents of `review_status` and of the overview pages."""

from __future__ import annotations

from review.calibration.documents import AgreementJson, GateRecordJson
from review.documents.base import Document, ProblemJson
from review.findings.documents import QueueFindingJson
from review.jobs.costs import CostsJson
from review.selection.documents import ChangeJson, GateJson, RenameJson
from review.vocabulary import Decision, Staleness

ACT, REVIEW, NOTHING = "something", "review", "nothing"  # what a pair wants
GATE_GONE, NOT_APPLICABLE = "gate-gone", "not-applicable"


class GateStatusJson(Document, kw_only=True):
    """One gate in one partition; `decisions` count current acceptances of notes there are, on any text."""

    gate_id: str
    applicable: int
    fresh: int
    missing_review: int
    gate_changed: int
    note_changed: int
    decisions: dict[str, int]


class PartitionStatusJson(Document, kw_only=True):
    model_partition: str
    applicable: int
    fresh: int
    in_flight: int
    gates: list[GateStatusJson]


class OrphanJson(Document, kw_only=True):
    """A path with current acceptances that is no note or gate any more."""

    path: str
    kind: str
    acceptances: int


class SkipJson(Document, kw_only=True):
    """A pair that a note takes itself out of, with `review_skip` in its frontmatter."""

    note_path: str
    gate_id: str
    reason: str


class StepJson(Document, kw_only=True):
    """Something to do, and the command for it; a word in capitals is for the caller to fill in."""

    what: str
    count: int
    command: str


class StatusJson(Document, kw_only=True):
    """The answer of `review_status`.

    `uncovered` counts applicable pairs that are fresh in no partition; `queue` the entries of the
    warn queue by decision; `needs_a_look` how many `warn_selector --needs-a-look` lists; `tripped` is what
    `--fail-on` found, or null; `costs` is null unless it is asked for; `notices` are sentences, of what
    the numbers do not tell; `renames` are orphans of which there is a file under another path;
    `next_steps` are what to do, in order.
    """

    schema: str = "review-status/1"
    notes: int
    gates: int
    uncovered: int
    partitions: list[PartitionStatusJson]
    jobs: dict[str, int]
    abandoned_jobs: list[int]
    queue: dict[str, int]
    needs_a_look: int
    orphans: list[OrphanJson]
    problems: list[ProblemJson]
    tripped: str | None
    costs: CostsJson | None = None
    notices: list[str] = []
    renames: list[RenameJson] = []
    waiting_findings: int = 0
    skips: list[SkipJson] = []
    next_steps: list[StepJson] = []


class NotePairJson(Document, kw_only=True):
    """The state of a note with one gate in one model partition.

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

    @property
    def is_gone(self) -> bool:
        return self.state in (GATE_GONE, NOT_APPLICABLE)

    @property
    def is_note_changed(self) -> bool:
        return Staleness.NOTE_CHANGED in self.reasons and not self.is_gone

    @property
    def is_changed(self) -> bool:
        return bool(self.accepted_at and self.reasons) and not self.is_gone

    @property
    def wants(self) -> str:
        """An act of a person, a first review, or nothing: fresh and passed, or no longer applicable."""
        if self.undecided_pair_id:
            return ACT
        if self.is_gone or (not self.reasons and self.decision == Decision.PASS):
            return NOTHING
        return ACT if self.accepted_at else REVIEW

    @property
    def can_ack(self) -> bool:
        """True if an ack of the note's change alone makes the pair fresh."""
        return self.reasons == [Staleness.NOTE_CHANGED] and self.review_pair_id is not None

    @property
    def is_trivial(self) -> bool:
        """True if the only reason for staleness is a change that the gate calls trivial."""
        return self.can_ack and self.change is not None and self.change.trivial

    @property
    def percent(self) -> str:
        """The share of the body's words that changed; "<1" for a change that rounds to none."""
        if self.change is None or self.change.body_ratio is None:
            return ""
        percent = 100 * self.change.body_ratio
        return "<1" if 0 < percent < 1 else f"{percent:.0f}"


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


class GateCoverJson(Document, kw_only=True):
    """A gate in one model partition: pairs by state; `fresh` is passed, `warn` and `fail` are fresh
    too. `would_go_stale` are those that an edit of the gate makes stale."""

    model_partition: str
    counts: dict[str, int]
    would_go_stale: int

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class GateTextJson(Document, kw_only=True):
    """A stored text of the gate; `is_now` where the file still holds it."""

    snapshot_id: int
    sha256: str
    captured_at: str | None
    byte_size: int
    is_now: bool


class ExampleJson(Document, kw_only=True):
    """An example of the gate; `holds` is null where there is no rule to try it with."""

    kind: str
    expected: str
    found: str | None
    holds: bool | None


class GatePageJson(Document, kw_only=True):
    """The answer of a gate's page; `gate` is null when its file is gone or cannot be used.

    `records` are those of `review_calibration`, with `agreement` where it was asked for.
    """

    schema: str = "gate/1"
    gate_id: str
    gate: GateJson | None
    partitions: list[GateCoverJson]
    dispositions: dict[str, int]
    texts: list[GateTextJson]
    examples: list[ExampleJson]
    problems: list[ProblemJson]
    records: list[GateRecordJson] = []
    agreement: list[AgreementJson] | None = None


class FolderJson(Document, kw_only=True):
    """Pairs below a folder, counted by state over all columns; models disagree about `disputed` ones."""

    path: str
    notes: int
    counts: dict[str, int]
    disputed: int


class MatrixRowJson(Document, kw_only=True):
    """A note; `states` has one word a column, null where no review is required."""

    note_path: str
    states: list[str | None]


class MatrixJson(Document, kw_only=True):
    """The answer of the matrix; `columns` are gate ids, `next` is null on the last page.

    `model_partition` is empty for the best state that any partition gives a pair.
    """

    schema: str = "matrix/1"
    model_partition: str
    mode: str
    folder: str
    columns: list[str]
    counts: dict[str, int]
    folders: list[FolderJson]
    rows: list[MatrixRowJson]
    next: str | None
    counted_at: str | None


class NoteRowJson(Document, kw_only=True):
    """A note of the list; `counts` by model partition, then by state."""

    note_path: str
    title: str
    status: str
    type: str
    counts: dict[str, dict[str, int]]


class NotesJson(Document, kw_only=True):
    """The answer of the list of notes; `next` is null on the last page."""

    schema: str = "notes/1"
    total: int
    notes: list[NoteRowJson]
    next: str | None
    problems: list[ProblemJson]
    counted_at: str | None


class FoundNoteJson(Document, kw_only=True):
    note_path: str
    excerpt: str


class FoundFindingJson(Document, kw_only=True):
    fingerprint: str
    note_path: str
    gate_id: str
    severity: str
    text: str


class FoundReviewJson(Document, kw_only=True):
    review_pair_id: int
    note_path: str
    gate_id: str
    decision: str
    excerpt: str


class JumpJson(Document, kw_only=True):
    """A job, review or finding that the query names; `key` is its number or fingerprint."""

    kind: str
    key: str
    text: str = ""


class SearchJson(Document, kw_only=True):
    """The answer of a search, the best first.

    `complete` is false while texts are still being indexed; `counts` are of all that was found, by
    kind, and `next` is null on the last page.
    """

    schema: str = "search/1"
    query: str
    complete: bool
    counts: dict[str, int]
    next: str | None
    jumps: list[JumpJson]
    notes: list[FoundNoteJson]
    findings: list[FoundFindingJson]
    reviews: list[FoundReviewJson]
