"""Closes the jobs of parents that are gone, with every review that their runs had left."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from review.errors import ReviewError
from review.ingest.ingest import RefusedJob, ingest_job
from review.ingest.parse import OutputReader
from review.ingest.request import IngestRequest, NoBlocks, NoOutput, RunFailed
from review.job_files import ArtifactStore
from review.jobs.board import require_job
from review.jobs.job_documents import IngestedJobJson
from review.jobs.left_runs import left_outcomes, run_folders
from review.jobs.recoverable import parent_is_alive
from review.models import ReviewJob
from review.protocol.output import ParsedOutput
from review.recovery.fail import FailRequest, fail_job
from review.runners.outcome import RunnerFailure, RunnerOutcome, telemetry_of
from review.runners.process.table import Processes
from review.runners.run import end_left_over, forget_run
from review.settings.config import Config
from review.vocabulary import FailureCode, JobStatus


@dataclass(frozen=True)
class Collected:
    """What the runs of a job had left, and now stands in its output; None: no review at all.

    :param is_complete: whether there is a block for every pair.
    :param failure: what the last run failed for, where it could still be told.
    """

    text: bytes | None
    is_complete: bool = False
    telemetry: dict[str, Any] | None = None
    failure: RunnerFailure | None = None


def orphaned_jobs(processes: Processes) -> list[int]:
    """Running jobs whose parent on this host is gone, oldest first."""
    running = ReviewJob.objects.filter(status=JobStatus.RUNNING, parent_host=processes.host)
    return [
        job.pk
        for job in running.order_by("pk")
        if parent_is_alive(job, processes=processes) is False
    ]


def salvage_job(
    job_id: int, *, actor: str, config: Config, now: datetime
) -> IngestedJobJson | RefusedJob:
    """Take in what an orphaned job's runs have left, and close it; others may do so at once.

    Killed at any point, the next salvage finishes the work.
    """
    try:
        job = require_job(job_id)
        collected = collect_output(job, config=config)
        document = _close(job, collected, actor=actor, config=config, now=now)
    except ReviewError as refused:
        return RefusedJob(job_id, refused)
    if document.status == JobStatus.COMPLETED:
        for folder in run_folders(job, config=config):
            shutil.rmtree(folder, ignore_errors=True)
    return document


def collect_output(job: ReviewJob, *, config: Config) -> Collected:
    """End what the job's runs still do, and put the best that they left where its output belongs.

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
    texts = [text for text in (written, *(item.text for item in outcomes)) if text]
    parsed = _parse(job, texts, config)
    best = max(parsed, key=lambda index: len(parsed[index].blocks), default=None)
    if best is not None and texts[best] != written:
        store.keep_input(job.bundle_output_path, texts[best])
    for folder in folders:
        forget_run(folder)
    return Collected(
        text=None if best is None else texts[best],
        is_complete=best is not None and not parsed[best].missing,
        telemetry=telemetry_of(outcomes),
        failure=_last_failure(outcomes),
    )


def _close(
    job: ReviewJob, collected: Collected, *, actor: str, config: Config, now: datetime
) -> IngestedJobJson:
    told = collected.failure is not None and collected.failure.code is not FailureCode.INTERRUPTED
    failure = None if collected.is_complete and not told else _failure(job, collected)
    if collected.text is not None:
        request = IngestRequest(actor=actor, telemetry=collected.telemetry, failure=failure)
        try:
            return ingest_job(job.pk, request=request, config=config, now=now)
        except (NoOutput, NoBlocks):
            failure = _failure(job, collected)
    request_to_fail = FailRequest(
        failure=failure or _failure(job, collected),
        actor=actor,
        telemetry=collected.telemetry,
        raw=collected.text,
    )
    return fail_job(job.pk, request=request_to_fail, config=config, now=now)


def _failure(job: ReviewJob, collected: Collected) -> RunFailed:
    told = collected.failure
    if told is not None and told.code is not FailureCode.INTERRUPTED:
        return RunFailed(told.code, told.reason)
    return RunFailed(
        FailureCode.INTERRUPTED,
        f"its parent, process {job.parent_pid} on {job.parent_host}, was gone before it ended",
    )


def _last_failure(outcomes: Sequence[RunnerOutcome]) -> RunnerFailure | None:
    return outcomes[-1].failure if outcomes else None


def _parse(job: ReviewJob, texts: Sequence[bytes], config: Config) -> dict[int, ParsedOutput]:
    """By place in `texts`: those that hold a block of the job."""
    reader = OutputReader(job, config=config)
    parsed = {index: reader.read(text) for index, text in enumerate(texts)}
    return {index: item for index, item in parsed.items() if item.has_own_blocks}
