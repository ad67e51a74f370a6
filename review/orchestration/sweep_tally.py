"""Counts what a sweep does: bounded however long it runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from review.contracts.jobs import IngestedJobJson
from review.contracts.sweeps import FailureGroupJson, SweepCostJson
from review.orchestration.claiming import JobNotClaimable
from review.orchestration.ingesting import RefusedJob
from review.orchestration.news import Final, JobRun, JobStarted, LeftQueued, News
from review.protocol.telemetry import Usage
from review.vocabulary import Decision, JobStatus, PairStatus

NOT_STARTED = "not-started"
TAKEN = "taken"
_JOB_WORDS = ("completed", "failed", "left-queued", "refused", TAKEN, NOT_STARTED)
_PAIR_WORDS = (*(word.value for word in Decision), "missing", "not-accepted")
_SHOWN_IDS = 20
_MAX_GROUPS = 100
_MAX_REASON = 300


@dataclass
class _FailureGroup:
    jobs: int = 0
    pairs_missing: int = 0
    job_ids: list[int] = field(default_factory=list)


@dataclass
class Tally:
    """The numbers so far.

    :param pairs_in_all: what there is to do; some of it is left out on the way.
    """

    pairs_in_all: int = 0
    pairs_done: int = 0
    pairs_left_out: int = 0
    running: set[int] = field(default_factory=set)
    jobs: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_JOB_WORDS, 0)))
    pairs: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_PAIR_WORDS, 0)))
    jobs_without_cost: int = 0
    _known: dict[str, float] = field(default_factory=dict)
    _failures: dict[tuple[str, str], _FailureGroup] = field(default_factory=dict)

    def hear(self, news: News) -> None:
        """Count what happened."""
        if isinstance(news, JobStarted):
            self.running.add(news.review_job_id)
        elif isinstance(news, Final):
            self.running.discard(news.review_job_id)
        if isinstance(news, JobRun):
            self._count_run(news)
        elif isinstance(news, LeftQueued):
            self.jobs["left-queued"] += 1
        elif isinstance(news, RefusedJob):
            self._count_refusal(news)

    @property
    def cost_usd(self) -> float | None:
        """What is known to be spent; None when nothing is."""
        return self._known.get("cost_usd")

    def cost(self) -> SweepCostJson:
        """What the runs say that they cost."""
        tokens = {
            name: None if name not in self._known else round(self._known[name])
            for name in ("input_tokens", "output_tokens")
        }
        usd = self.cost_usd
        return SweepCostJson(
            usd=None if usd is None else round(usd, 6),
            jobs_without_cost=self.jobs_without_cost,
            **tokens,
        )

    def failures(self) -> list[FailureGroupJson]:
        """Failed jobs by reason, the most frequent first."""
        ordered = sorted(self._failures.items(), key=lambda item: (-item[1].jobs, item[0]))
        return [
            FailureGroupJson(
                failure_code=code,
                reason=reason,
                jobs=group.jobs,
                pairs_missing=group.pairs_missing,
                review_job_ids=group.job_ids,
            )
            for (code, reason), group in ordered
        ]

    def _count_run(self, run: JobRun) -> None:
        document = run.document
        self.jobs[document.status] += 1
        self.pairs_done += len(document.pairs)
        for pair in document.pairs:
            completed = pair.pair_status == PairStatus.COMPLETED
            self.pairs[pair.decision or "missing" if completed else "missing"] += 1
            self.pairs["not-accepted"] += completed and not pair.accepted
        self._count_cost(run.usage)
        if document.status == JobStatus.FAILED:
            self._count_failure(document)

    def _count_cost(self, usage: Usage) -> None:
        self.jobs_without_cost += usage.cost_usd is None or not usage.whole
        for name in ("cost_usd", "input_tokens", "output_tokens"):
            value = getattr(usage, name)
            if value is not None:
                self._known[name] = self._known.get(name, 0.0) + value

    def _count_failure(self, document: IngestedJobJson) -> None:
        reason = (document.failure_reason or "")[:_MAX_REASON]
        key = (document.failure_code or "", reason)
        if key not in self._failures and len(self._failures) >= _MAX_GROUPS:
            key = (key[0], "other reasons")
        group = self._failures.setdefault(key, _FailureGroup())
        group.jobs += 1
        group.pairs_missing += sum(
            pair.pair_status == PairStatus.MISSING for pair in document.pairs
        )
        if len(group.job_ids) < _SHOWN_IDS:
            group.job_ids.append(document.review_job_id)

    def _count_refusal(self, refused: RefusedJob) -> None:
        if isinstance(refused.error, JobNotClaimable):
            self.jobs[TAKEN] += 1
            return
        self.jobs["refused"] += 1
        key = (refused.error.code, refused.error.message[:_MAX_REASON])
        group = self._failures.setdefault(key, _FailureGroup())
        group.jobs += 1
        if len(group.job_ids) < _SHOWN_IDS:
            group.job_ids.append(refused.review_job_id)
