"""`review-gate-test/1` and `review-gate-seed/1`."""

from __future__ import annotations

from review.documents.base import Document, ProblemJson


class PortionJson(Document, kw_only=True):
    """`count` of the `of` runs, or cases, that could be so.

    `bound` is null unless `count` is 0 or `of`: the most, or the least, that the share can be with
    95 % confidence, by the number of cases.
    """

    count: int
    of: int
    bound: float | None


class CaseResultJson(Document, kw_only=True):
    """A case; `decisions` are those of its runs at today's texts, oldest first.

    `state` is the first that applies of `measured`, `queued`, `stale` and `not-measured`. `right` are
    the runs that answered as expected, `other_severity` those that flagged it more or less gravely.
    """

    name: str
    case_path: str
    note_path: str
    expect: str
    severity: str | None
    origin: str
    draft: bool
    state: str
    decisions: list[str]
    right: int
    other_severity: int
    missed: bool
    review_pair_ids: list[int]
    open_job_ids: list[int]


class GateResultJson(Document, kw_only=True):
    """A gate and a partition; drafts are among `cases` and not counted above them.

    `hits` and `false_alarms`: the runs that flagged a case to be flagged, or to be passed. `flips`:
    the cases that one run flagged and another passed. `prompt_version` is null for rules.
    """

    gate_id: str
    gate_path: str
    gate_sha256: str
    model_partition: str
    prompt_version: int | None
    hits: PortionJson
    false_alarms: PortionJson
    flips: PortionJson
    missed: int
    cases: list[CaseResultJson]
    problems: list[ProblemJson]


class GateTestJson(Document, kw_only=True):
    """The answer of `review_gate_test`; `failed_job_ids` are of jobs that it ran.

    `planned` are the cases of each job that a dry run did not make; null for others.
    """

    schema: str = "review-gate-test/1"
    gates: list[GateResultJson]
    open_job_ids: list[int] = []
    failed_job_ids: list[int] = []
    stopped_because: str | None = None
    planned: list[list[str]] | None = None


class GateSeedJson(Document, kw_only=True):
    """The answer of `review_gate_seed`: a prompt for a model, or the text of a case."""

    schema: str = "review-gate-seed/1"
    gate_id: str
    note_path: str
    prompt: str | None = None
    case: str | None = None
