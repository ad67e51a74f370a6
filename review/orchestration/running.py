"""Claims, runs and ingests queued jobs with the embedded reviewer: a parent like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from review.conf import RULES_PARTITION, Config
from review.contracts.jobs import IngestedJobJson
from review.corpus.linking import Linker
from review.errors import ReviewError
from review.models import Provenance, ReviewJob
from review.orchestration.claiming import ClaimRequest, JobNotClaimable, claim
from review.orchestration.execution import (
    gates_without_rule,
    pairs_with_texts,
    write_rules_output,
)
from review.orchestration.finalization import ingest_job
from review.orchestration.ingest_request import IngestRequest
from review.orchestration.ingesting import RefusedJob
from review.orchestration.provenance import PartitionMismatch
from review.queries.job_board import list_job_ids, require_job
from review.vocabulary import JobStatus

RULES_RUNNER = "rules"


@dataclass(frozen=True)
class LeftQueued:
    """A job that the reviewer cannot judge: it stays queued for somebody who can."""

    review_job_id: int
    reason: str


@dataclass(frozen=True)
class RunResult:
    """What became of each job."""

    jobs: tuple[IngestedJobJson, ...]
    left_queued: tuple[LeftQueued, ...]
    refused: tuple[RefusedJob, ...]


def run_rules_jobs(
    job_ids: Sequence[int],
    *,
    actor: str,
    linker: Linker,
    config: Config,
    clock: Callable[[], datetime],
) -> RunResult:
    """Run the jobs in order; a job without a rule for each gate is left queued, and named.

    :param job_ids: none runs every queued job of the `rules` partition.
    :param clock: read once a job: jobs take time.
    """
    done: list[IngestedJobJson] = []
    left: list[LeftQueued] = []
    refused: list[RefusedJob] = []
    for job_id in job_ids or queued_rules_jobs():
        try:
            outcome = _run_job(job_id, actor=actor, linker=linker, config=config, clock=clock)
        except ReviewError as error:
            refused.append(RefusedJob(job_id, error))
            continue
        if isinstance(outcome, LeftQueued):
            left.append(outcome)
        else:
            done.append(outcome)
    return RunResult(tuple(done), tuple(left), tuple(refused))


def queued_rules_jobs() -> list[int]:
    """Queued jobs of the embedded reviewer's own partition, oldest first."""
    return list_job_ids(statuses=(JobStatus.QUEUED,), model_partition=RULES_PARTITION)


def _run_job(
    job_id: int, *, actor: str, linker: Linker, config: Config, clock: Callable[[], datetime]
) -> IngestedJobJson | LeftQueued:
    job = require_job(job_id)
    _refuse_unless_ours(job)
    pairs = pairs_with_texts(job)
    without = gates_without_rule(pairs, config=config)
    if without:
        return LeftQueued(job_id, f"no rule judges {', '.join(without)}")
    provenance = Provenance(runner=RULES_RUNNER, runner_model=RULES_PARTITION)
    claim(
        ClaimRequest(actor=actor, provenance=provenance, job_id=job_id), config=config, now=clock()
    )
    write_rules_output(job, pairs, linker=linker, config=config)
    return ingest_job(job_id, request=IngestRequest(actor=actor), config=config, now=clock())


def _refuse_unless_ours(job: ReviewJob) -> None:
    if job.status != JobStatus.QUEUED:
        raise JobNotClaimable(f"job {job.pk} is {job.status}, not queued")
    if job.model_partition.name != RULES_PARTITION:
        raise PartitionMismatch(
            f"job {job.pk} is for partition {job.model_partition.name!r}; the embedded reviewer is"
            f" no model and reviews only partition {RULES_PARTITION!r}",
            hint="select for it: commonplace review_target_selector --rules-only --all-gates --model rules --json",
        )
