"""Takes in the outputs of many jobs, each in its own transaction; a refusal stops only its job."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from review.conf import Config
from review.contracts.jobs import IngestedJobJson
from review.errors import ReviewError
from review.models import ReviewJob
from review.orchestration.finalization import ingest_job
from review.orchestration.ingest_request import IngestRequest
from review.queries.recoverable import output_state


@dataclass(frozen=True)
class RefusedJob:
    """A job whose output was not taken, and why."""

    review_job_id: int
    error: ReviewError


@dataclass(frozen=True)
class Ingested:
    """What became of each job that was asked for."""

    jobs: tuple[IngestedJobJson, ...]
    refused: tuple[RefusedJob, ...]


def ingest_jobs(
    job_ids: Iterable[int], *, request: IngestRequest, config: Config, now: datetime
) -> Ingested:
    """Ingest each job once, in the order given; refusals are reported, not raised."""
    done: list[IngestedJobJson] = []
    refused: list[RefusedJob] = []
    for job_id in dict.fromkeys(job_ids):
        try:
            done.append(ingest_job(job_id, request=request, config=config, now=now))
        except ReviewError as error:
            refused.append(RefusedJob(job_id, error))
    return Ingested(tuple(done), tuple(refused))


def ready_job_ids(*, config: Config, actor: str | None) -> list[int]:
    """Open jobs whose output holds a closed block for every pair, oldest first.

    :param actor: only jobs claimed by this actor; None: all open jobs, never claimed ones too.
    """
    jobs = ReviewJob.objects.open().order_by("pk")
    if actor is not None:
        jobs = jobs.filter(claimed_by=actor)
    return [job.pk for job in jobs if output_state(job, config=config) == "complete"]
