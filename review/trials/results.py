"""Results of gates on their cases, from the trials of each model partition with today's texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from review.documents.base import from_row
from review.documents.problems import problem_json
from review.domain.problems import Problem
from review.knowledge_base import Corpus, Gate, GateCase
from review.models import ReviewPair
from review.protocol.prompt import VERSION
from review.runners.rules.judge import RULES, judge
from review.settings.config import RULES_PARTITION
from review.sweeps.executors import rule_input
from review.trials.documents import CaseResultJson, GateResultJson, PortionJson
from review.vocabulary import (
    OPEN_JOB_STATUSES,
    QUEUED_DECISIONS,
    Decision,
    Expectation,
    JobPurpose,
)


class _Run(NamedTuple):
    pair: ReviewPair
    is_of_today: bool


class CaseState(StrEnum):
    """The state of a case: the first that applies."""

    MEASURED = "measured"
    QUEUED = "queued"
    STALE = "stale"
    NOT_MEASURED = "not-measured"


@dataclass(frozen=True)
class CaseResult:
    """The answers of one model partition to one case, with today's case, gate and prompt.

    :param decisions: of each run, oldest first; a run that was lost has none.
    :param pair_ids: of the same runs, for `render_review`; none for rules.
    :param open_job_ids: jobs that will bring another run.
    """

    case: GateCase
    state: CaseState
    decisions: tuple[Decision, ...] = ()
    pair_ids: tuple[int, ...] = ()
    open_job_ids: tuple[int, ...] = ()

    @property
    def flagged(self) -> int:
        return sum(decision in QUEUED_DECISIONS for decision in self.decisions)

    @property
    def passed(self) -> int:
        return self.decisions.count(Decision.PASS)

    @property
    def right(self) -> int:
        """Runs that answered as expected; `severity` does not matter here."""
        return self.flagged if self.case.expect is Expectation.FLAG else self.passed

    @property
    def is_missed(self) -> bool:
        """True if a run did not answer as expected, or there is none."""
        return not self.decisions or self.right < len(self.decisions)

    @property
    def other_severity(self) -> int:
        """Runs that flagged the case, and more or less gravely than it says."""
        if self.case.severity is None:
            return 0
        return self.flagged - self.decisions.count(Decision(self.case.severity.value))

    def document(self) -> CaseResultJson:
        case = self.case
        return from_row(
            CaseResultJson,
            case,
            case_path=case.path,
            draft=case.is_draft,
            state=self.state,
            decisions=[decision.value for decision in self.decisions],
            right=self.right,
            other_severity=self.other_severity,
            missed=self.is_missed,
            review_pair_ids=list(self.pair_ids),
            open_job_ids=list(self.open_job_ids),
        )


@dataclass(frozen=True)
class GateResult:
    """The cases of a gate as one model partition answered them; drafts do not count.

    :param prompt_version: of the prompts that count; None for rules, which read none.
    :param problems: of files that make no case.
    """

    gate: Gate
    model_partition: str
    prompt_version: int | None
    results: tuple[CaseResult, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def counted(self) -> tuple[CaseResult, ...]:
        return tuple(result for result in self.results if not result.case.is_draft)

    @property
    def hits(self) -> PortionJson:
        """Runs that flagged a case to be flagged; the recall of the gate."""
        return self._flagged(Expectation.FLAG)

    @property
    def false_alarms(self) -> PortionJson:
        """Runs that flagged a case to be passed."""
        return self._flagged(Expectation.PASS)

    @property
    def flips(self) -> PortionJson:
        """Cases flagged by one run and passed by another, of those that ran more than once."""
        again = [result for result in self.counted if result.flagged + result.passed > 1]
        flipped = sum(bool(item.flagged and item.passed) for item in again)
        return PortionJson(count=flipped, of=len(again))

    def document(self) -> GateResultJson:
        gate = self.gate
        return from_row(
            GateResultJson,
            self,
            gate_id=gate.gate_id,
            gate_path=gate.path,
            gate_sha256=gate.sha256,
            missed=sum(result.is_missed for result in self.counted),
            cases=[result.document() for result in self.results],
            problems=[problem_json(problem) for problem in self.problems],
        )

    def _flagged(self, expect: Expectation) -> PortionJson:
        asked = [result for result in self.counted if result.case.expect is expect]
        return PortionJson(
            count=sum(result.flagged for result in asked),
            of=sum(result.flagged + result.passed for result in asked),
        )


def read_gate_results(
    corpus: Corpus, gates: Iterable[Gate], *, partitions: Sequence[str] = ()
) -> list[GateResult]:
    """Return the results by gate and partition; gates without cases are omitted.

    What a gate, a case or the prompt has changed since counts no more. Rules judge at once.

    :param partitions: the ones to read; none reads each that has tried the gate, and the rules.
    """
    found = []
    for gate in gates:
        read = corpus.cases(gate)
        if not (read.cases or read.problems):
            continue
        runs = {} if list(partitions) == [RULES_PARTITION] else _runs(gate, read.cases)
        tried = {name for _sha256, name in runs}
        if gate.rule in RULES:
            tried.add(RULES_PARTITION)
        for name in partitions or sorted(tried):
            if name == RULES_PARTITION:
                results = _judged(corpus, gate, read.cases)
            else:
                results = tuple(
                    _result(case, runs.get((case.sha256, name), [])) for case in read.cases
                )
            version = None if name == RULES_PARTITION else VERSION
            found.append(GateResult(gate, name, version, results, read.problems))
    return found


def _runs(gate: Gate, cases: Iterable[GateCase]) -> Mapping[tuple[str, str], list[_Run]]:
    """The runs of a gate by the digest of the case and partition, oldest first."""
    rows = ReviewPair.objects.filter(
        job__purpose=JobPurpose.TRIAL,
        note__path__in={case.note_path for case in cases},
        gate__path=gate.path,
    ).select_related("job__model_partition", "note_snapshot", "gate_snapshot")
    runs: dict[tuple[str, str], list[_Run]] = defaultdict(list)
    for pair in rows.defer("note_snapshot__text", "gate_snapshot__text").order_by("pk"):
        texts = (pair.gate_snapshot.content_sha256, pair.job.prompt_version)
        key = (pair.note_snapshot.content_sha256, pair.job.model_partition.name)
        runs[key].append(_Run(pair, texts == (gate.sha256, VERSION)))
    return runs


def _result(case: GateCase, runs: Sequence[_Run]) -> CaseResult:
    today = [run.pair for run in runs if run.is_of_today]
    done = [pair for pair in today if pair.decision]
    waiting = tuple(pair.job_id for pair in today if pair.job.status in OPEN_JOB_STATUSES)
    is_stale = any(not run.is_of_today for run in runs)
    state = CaseState.STALE if is_stale else CaseState.NOT_MEASURED
    if done or waiting:
        state = CaseState.MEASURED if done else CaseState.QUEUED
    decisions = tuple(Decision(pair.decision) for pair in done)
    return CaseResult(case, state, decisions, tuple(pair.pk for pair in done), waiting)


def _judged(corpus: Corpus, gate: Gate, cases: Iterable[GateCase]) -> tuple[CaseResult, ...]:
    return tuple(
        CaseResult(case, CaseState.MEASURED, (judge_case(corpus, gate, case.text, case.note_path),))
        for case in cases
    )


def judge_case(corpus: Corpus, gate: Gate, text: str, note_path: str) -> Decision:
    """Judge a text by the rule of a gate."""
    given = rule_input(text, note_path=note_path, linker=corpus.linker)
    return judge(gate.rule, given).decision
