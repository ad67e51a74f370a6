"""One job with all details for a person who investigates it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from review.job_files import ArtifactStore, OutputNotReadable, manifest_path
from review.jobs.board import require_job, show_event, show_jobs
from review.jobs.job_documents import JobCommandJson, JobDetailsJson, JobFileJson, JobJson
from review.jobs.leases import abandonment, unanswered_jobs
from review.jobs.output_states import output_states
from review.models import ReviewJob
from review.runners.process.table import Processes
from review.settings import RULES_PARTITION, Config
from review.vocabulary import OPEN_JOB_STATUSES, Grouping, JobStatus

JobFile = Literal["prompt", "output", "manifest"]


def read_job(job_id: int, *, config: Config, processes: Processes, now: datetime) -> JobDetailsJson:
    """Return the job, its moves, its files, and what may be done about it.

    :raises UnknownJob: there is none.
    """
    job = require_job(job_id)
    (shown,) = show_jobs([job_id], gates_folder=config.gates_folder)
    state = output_states([job], config=config)[job.pk].state
    recovery = {}
    if why := abandonment(job, older_than=config.abandoned_after, processes=processes, now=now):
        recovery["abandoned"] = why
    if job.status in OPEN_JOB_STATUSES and state == "complete":
        recovery["ready"] = "its output holds a review for every pair"
    if unanswered_jobs().filter(pk=job.pk).exists():
        recovery["missing"] = "a pair has no review, here or in a later job"
    files = {name: _file(path, config) for name, path in _paths(job).items()}
    return JobDetailsJson(
        job=shown,
        events=[show_event(event) for event in job.events.order_by("pk")],
        prompt=files["prompt"],
        output=files["output"],
        manifest=files["manifest"],
        output_state=state,
        recovery=recovery,
        self_reported_model=job.self_reported_model or None,
        telemetry=job.telemetry,
        commands=list(_commands(shown, recovery)),
    )


def read_job_file(job_id: int, which: JobFile, *, config: Config) -> bytes | None:
    """Return the bytes of one of the job's files; None when it is not there.

    :raises UnknownJob: there is no such job.
    :raises OutputNotReadable: it is no ordinary file of the job's folder.
    """
    return ArtifactStore(config).read_output(_paths(require_job(job_id))[which])


def _paths(job: ReviewJob) -> dict[JobFile, str]:
    return {
        "prompt": job.prompt_path,
        "output": job.bundle_output_path,
        "manifest": manifest_path(job.prompt_path),
    }


def _file(path: str, config: Config) -> JobFileJson:
    try:
        data = ArtifactStore(config).read_output(path)
    except OutputNotReadable:
        return JobFileJson(path, "unreadable", None)
    return (
        JobFileJson(path, "none", None) if data is None else JobFileJson(path, "there", len(data))
    )


def _commands(job: JobJson, recovery: dict[str, str]) -> Iterator[JobCommandJson]:
    number, is_queued = str(job.review_job_id), job.status == JobStatus.QUEUED
    if "ready" in recovery:
        yield _command("ingest its output", "ingest_bundle_output", "--review-job-id", number)
    elif is_queued and job.model_partition == RULES_PARTITION:
        yield _command("run it", "run_review_jobs", number, "--runner", "rules")
    elif is_queued:
        claim = ("claim_review_job", "--review-job-id", number, "--runner", "NAME")
        yield _command("claim it, for a worker of yours", *claim)
    if "abandoned" in recovery:
        replace = ("recover_review_jobs", "--action", "replace", number)
        yield _command("create a new job for its pairs", *replace)
    gates = dict.fromkeys(pair.gate_id for pair in job.pairs)
    notes = dict.fromkeys(pair.note_path for pair in job.pairs)
    batch = ["--batch-size", str(len(notes))] if job.grouping == Grouping.GATE else []
    select = ["review_target_selector", *gates, "--note", *notes]
    select += ["--model", job.model_partition, "--mode", "requested", "--json"]
    create = ["create_review_jobs", "--input", "-", "--grouping", job.grouping, *batch]
    again = _command("create the same job again, from today's texts", *select)
    again.command += f" | commonplace {shlex.join(create)}"
    yield again


def _command(why: str, *words: str) -> JobCommandJson:
    return JobCommandJson(why, f"commonplace {shlex.join(words)}")
