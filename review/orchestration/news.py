"""What there is to tell of a job that was handed out: values, from whoever runs it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from review.contracts.jobs import IngestedJobJson
from review.orchestration.ingesting import RefusedJob
from review.protocol.telemetry import Usage
from review.runners.outcome import RunnerFailure


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
class LeftQueued:
    """A job that the runner cannot judge: it stays queued for somebody who can."""

    review_job_id: int
    reason: str


@dataclass(frozen=True)
class JobRun:
    """A job that was run and is closed.

    :param failure: what the last run failed for; None: it gave its reviews.
    """

    document: IngestedJobJson
    usage: Usage
    runs: int
    seconds: float
    failure: RunnerFailure | None = None

    @property
    def review_job_id(self) -> int:
        """The job's id."""
        return self.document.review_job_id


@dataclass(frozen=True)
class Crashed:
    """A fault of ours; whoever reads this raises it."""

    review_job_id: int
    error: Exception


Final = JobRun | LeftQueued | RefusedJob | Crashed
News = JobStarted | RunAgain | Final
