"""`review-gate-test/1` and `review-gate-seed/1`."""

from __future__ import annotations

from collections.abc import Iterable

from review.documents.base import Document
from review.documents.problems import ProblemJson, problem_json
from review.trials.results import CaseResult, GateResult, Portion


class PortionJson(Document, kw_only=True):
    count: int
    of: int


class CaseResultJson(Document, kw_only=True):
    """A case; `decisions` are those of its runs at today's texts, oldest first."""

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
    """A gate and a partition; drafts are among `cases` and not counted above them."""

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
    """The answer of `review_gate_test`; `failed_job_ids` are of jobs that it ran."""

    schema: str = "review-gate-test/1"
    gates: list[GateResultJson]
    open_job_ids: list[int] = []
    failed_job_ids: list[int] = []
    stopped_because: str | None = None


class GateSeedJson(Document, kw_only=True):
    """The answer of `review_gate_seed`: a prompt for a model, or the text of a case."""

    schema: str = "review-gate-seed/1"
    gate_id: str
    note_path: str
    prompt: str | None = None
    case: str | None = None


def gate_test_json(results: Iterable[GateResult]) -> GateTestJson:
    gates = [_gate(result) for result in results]
    open_jobs = {job for gate in gates for case in gate.cases for job in case.open_job_ids}
    return GateTestJson(gates=gates, open_job_ids=sorted(open_jobs))


def _gate(result: GateResult) -> GateResultJson:
    gate = result.gate
    return GateResultJson(
        gate_id=gate.gate_id,
        gate_path=gate.path,
        gate_sha256=gate.sha256,
        model_partition=result.model_partition,
        prompt_version=result.prompt_version,
        hits=portion_json(result.hits),
        false_alarms=portion_json(result.false_alarms),
        flips=portion_json(result.flips),
        missed=len(result.missed),
        cases=[_case(item) for item in result.results],
        problems=[problem_json(problem) for problem in result.problems],
    )


def portion_json(portion: Portion) -> PortionJson:
    return PortionJson(count=portion.count, of=portion.of)


def _case(result: CaseResult) -> CaseResultJson:
    case = result.case
    return CaseResultJson(
        name=case.name,
        case_path=case.path,
        note_path=case.note_path,
        expect=case.expect,
        severity=case.severity,
        origin=case.origin,
        draft=case.is_draft,
        state=result.state,
        decisions=[decision.value for decision in result.decisions],
        right=result.right,
        other_severity=result.other_severity,
        missed=result.is_missed,
        review_pair_ids=list(result.pair_ids),
        open_job_ids=list(result.open_job_ids),
    )
