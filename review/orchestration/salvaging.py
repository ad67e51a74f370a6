"""Close the jobs of parents that are gone, with every review that their runs had left."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from review.artifacts import ArtifactStore
from review.conf import Config
from review.contracts.jobs import IngestedJobJson
from review.errors import ReviewError
from review.models import ReviewJob
from review.orchestration.failing import FailRequest, fail_job
from review.orchestration.finalization import RefusedJob, ingest_job
from review.orchestration.ingest_request import IngestRequest, RunFailed
from review.orchestration.judging import OutputReader
from review.queries.abandonment import parent_is_alive
from review.queries.job_board import require_job
from review.queries.left_runs import left_outcomes, run_folders
from review.runners.outcome import RunnerFailure, telemetry_of
from review.runners.process_table import Processes
from review.runners.running import end_left_over, forget_run
from review.vocabulary import FailureCode, JobStatus


@dataclass(frozen=True)
class RunResults:
    """What the runs of a job left, now written to its output; `text` None: no review at all.

    :param is_complete: whether there is a block for every pair.
    :param failure: what the last run failed for, where that is known.
    """

    text: bytes | None
    is_complete: bool
    telemetry: dict[str, Any] | None
    failure: RunnerFailure | None


def orphaned_jobs(processes: Processes) -> list[int]:
    """Return running jobs whose parent on this host is gone, oldest first."""
    running = ReviewJob.objects.filter(status=JobStatus.RUNNING, parent_host=processes.host)
    return [
        job.pk
        for job in running.order_by("pk")
        if parent_is_alive(job, processes=processes) is False
    ]


def salvage_job(
    job_id: int, *, actor: str, config: Config, now: datetime
) -> IngestedJobJson | RefusedJob:
    """Ingest what an orphaned job's runs have left, and close it; others may do so at once.

    Killed at any point, the next salvage finishes the work.
    """
    try:
        job = require_job(job_id)
        results = collect_output(job, config=config)
        document = _close(job, results, actor=actor, config=config, now=now)
    except ReviewError as refused:
        return RefusedJob(job_id, refused)
    if document.status == JobStatus.COMPLETED:
        for folder in run_folders(job, config=config):
            shutil.rmtree(folder, ignore_errors=True)
    return document


def collect_output(job: ReviewJob, *, config: Config) -> RunResults:
    """End what is left of the job's runs, and write the best of their texts to its output.

    Only for a job whose parent is gone.

    :raises UnknownRunner, ConfigRefused: the runner is no longer declared.
    :raises ArtifactNotWritten: the system refused.
    """
    folders = run_folders(job, config=config)
    for folder in folders:
        end_left_over(folder)
    outcomes = left_outcomes(job, config=config)
    store = ArtifactStore(config)
    written = store.read_output(job.bundle_output_path)
    reader = OutputReader(job, config=config)
    best, is_complete, most = None, False, 0
    for text in (written, *(outcome.text for outcome in outcomes)):
        parsed = reader.read(text or b"")
        if parsed.has_own_blocks and (best is None or len(parsed.blocks) > most):
            best, is_complete, most = text, not parsed.missing, len(parsed.blocks)
    if best is not None and best != written:
        store.keep_input(job.bundle_output_path, best)
    for folder in folders:
        forget_run(folder)
    failure = outcomes[-1].failure if outcomes else None
    return RunResults(best, is_complete, telemetry_of(outcomes), failure)


def _close(
    job: ReviewJob, results: RunResults, *, actor: str, config: Config, now: datetime
) -> IngestedJobJson:
    failure = RunFailed(
        FailureCode.INTERRUPTED,
        f"its parent, process {job.parent_pid} on {job.parent_host}, was gone before it ended",
    )
    is_success = results.is_complete
    if results.failure is not None and results.failure.code is not FailureCode.INTERRUPTED:
        failure, is_success = RunFailed(results.failure.code, results.failure.reason), False
    if results.text is None:
        to_fail = FailRequest(failure=failure, actor=actor, telemetry=results.telemetry)
        return fail_job(job.pk, request=to_fail, config=config, now=now)
    request = IngestRequest(
        actor=actor, telemetry=results.telemetry, failure=None if is_success else failure
    )
    return ingest_job(job.pk, request=request, config=config, now=now)
