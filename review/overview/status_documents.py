"""`review-status/1`: where the whole review stands."""

from __future__ import annotations

from review.documents.base import Document
from review.documents.problems import ProblemJson
from review.jobs.costs_documents import CostsJson
from review.selection.rename_documents import RenameJson


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
    """One model partition, all gates together and each."""

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


class StatusJson(Document, kw_only=True):
    """The answer of `review_status`.

    `uncovered` counts applicable pairs that are fresh in no partition; `queue` the entries of the
    warn queue by decision; `needs_a_look` how many `warn_selector --needs-a-look` lists; `tripped` is what
    `--fail-on` found, or null; `costs` is null unless it is asked for; `notices` are sentences, of what
    the numbers do not tell; `renames` are orphans of which there is a note under another path.
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
