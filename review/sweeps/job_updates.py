"""Progress updates of the jobs that are run, and the events made of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

from review.ingest.ingest import RefusedJob
from review.jobs.job_documents import IngestedJobJson, LeftQueuedJson
from review.protocol.telemetry import Usage
from review.runners.outcome import RunnerFailure
from review.vocabulary import PairStatus


@dataclass(frozen=True)
class JobStarted:
    """A job was claimed and is about to run."""

    review_job_id: int
    lens: str
    pair_count: int


@dataclass(frozen=True)
class RunAgain:
    """A run failed; the job is run again after the pause."""

    review_job_id: int
    reason: str
    pause: timedelta


@dataclass(frozen=True)
class JobRun:
    """A job that was run and is closed.

    :param failure: why the last run failed; None: it gave its reviews.
    """

    document: IngestedJobJson
    usage: Usage
    runs: int
    seconds: float
    failure: RunnerFailure | None = None

    @property
    def review_job_id(self) -> int:
        return self.document.review_job_id

    @property
    def missing(self) -> list[tuple[str, str]]:
        """Note and gate of the pairs that have no review after it."""
        return [
            (pair.note_path, pair.gate_id)
            for pair in self.document.pairs
            if pair.pair_status == PairStatus.MISSING
        ]

    @property
    def runs_rest_again(self) -> bool:
        """Whether only a part was reviewed, and what is missing may succeed in another job."""
        failure = self.failure
        passing = failure is not None and failure.retryable and not failure.concerns_all
        return passing and 0 < len(self.missing) < len(self.document.pairs)


JobOutcome = JobRun | LeftQueuedJson | RefusedJob
JobUpdate = JobStarted | RunAgain | JobOutcome


@dataclass(frozen=True)
class SweepEvent:
    """Something that happened, for whoever watches; `fields` can be written as JSON."""

    name: str
    fields: dict[str, object] = field(default_factory=dict)


def event_of(update: JobUpdate) -> SweepEvent:
    name: str
    fields: dict[str, object]
    match update:
        case JobStarted():
            name = "job-started"
            fields = {"lens": update.lens, "pair_count": update.pair_count}
        case RunAgain():
            name = "run-again"
            fields = {"reason": update.reason, "in_seconds": update.pause.total_seconds()}
        case JobRun():
            name, fields = "job-finished", _run_fields(update)
        case LeftQueuedJson():
            name, fields = "left-queued", {"reason": update.reason}
        case RefusedJob():
            name = "job-refused"
            fields = {"code": update.error.code, "message": update.error.message}
    return SweepEvent(name, {"review_job_id": update.review_job_id, **fields})


def _run_fields(run: JobRun) -> dict[str, object]:
    document = run.document
    decisions = Counter(pair.decision or pair.pair_status for pair in document.pairs)
    return {
        "status": document.status,
        "failure_code": document.failure_code,
        "failure_reason": document.failure_reason,
        "pairs": dict(sorted(decisions.items())),
        "runs": run.runs,
        "run_seconds": round(run.seconds, 3),
        "cost_usd": run.usage.cost_usd,
        "input_tokens": run.usage.input_tokens,
        "output_tokens": run.usage.output_tokens,
    }
