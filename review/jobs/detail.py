"""One job with all details for a person who investigates it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from review.job_files import ArtifactStore, OutputNotReadable, manifest_path
from review.jobs.abandonment import abandonment, unanswered_jobs
from review.jobs.board import require_job, show_event, show_jobs
from review.jobs.job_documents import JobJson
from review.jobs.output_states import output_state
from review.jobs.pages_documents import JobCommandJson, JobDetailsJson, JobFileJson
from review.models import ReviewJob
from review.runners.process.table import Processes
from review.settings.config import RULES_PARTITION, Config
from review.vocabulary import OPEN_JOB_STATUSES, Grouping, JobStatus

JobFile = Literal["prompt", "output", "manifest"]


def read_job(job_id: int, *, config: Config, processes: Processes, now: datetime) -> JobDetailsJson:
    """Return the job, its moves, its files, and what may be done about it.

    :raises UnknownJob: there is none.
    """
    job = require_job(job_id)
    (shown,) = show_jobs([job_id], gates_folder=config.gates_folder)
    state = output_state(job, config=config).state
    recovery = {
        "abandoned": abandonment(
            job, older_than=config.abandoned_after, processes=processes, now=now
        )
    }
    if job.status in OPEN_JOB_STATUSES and state == "complete":
        recovery["ready"] = "its output holds a review for every pair"
    if unanswered_jobs().filter(pk=job.pk).exists():
        recovery["missing"] = "a pair has no review, here or in a later job"
    recovery = {kind: why for kind, why in recovery.items() if why}
    return JobDetailsJson(
        job=shown,
        events=[show_event(event) for event in job.events.order_by("pk")],
        prompt=_file(job, "prompt", config=config),
        output=_file(job, "output", config=config),
        manifest=_file(job, "manifest", config=config),
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
    return ArtifactStore(config).read_output(_path(require_job(job_id), which))


def _path(job: ReviewJob, which: JobFile) -> str:
    paths = {
        "prompt": job.prompt_path,
        "output": job.bundle_output_path,
        "manifest": manifest_path(job.prompt_path),
    }
    return paths[which]


def _file(job: ReviewJob, which: JobFile, *, config: Config) -> JobFileJson:
    path = _path(job, which)
    try:
        data = ArtifactStore(config).read_output(path)
    except OutputNotReadable:
        return JobFileJson(path=path, state="unreadable", byte_size=None)
    state = "none" if data is None else "there"
    return JobFileJson(path=path, state=state, byte_size=None if data is None else len(data))


def _commands(job: JobJson, recovery: dict[str, str]) -> Iterator[JobCommandJson]:
    number = job.review_job_id
    if "ready" in recovery:
        yield _command("ingest its output", "ingest_bundle_output", "--review-job-id", number)
    elif job.status == JobStatus.QUEUED and job.model_partition == RULES_PARTITION:
        yield _command("run it", "run_review_jobs", number, "--runner", "rules")
    elif job.status == JobStatus.QUEUED:
        yield _command(
            "claim it, for a worker of yours",
            *("claim_review_job", "--review-job-id", number, "--runner", "NAME"),
        )
    if "abandoned" in recovery:
        yield _command(
            "create a new job for its pairs", "recover_review_jobs", "--action", "replace", number
        )
    yield JobCommandJson(why="create the same job again, from today's texts", command=_again(job))


def _again(job: JobJson) -> str:
    gates = dict.fromkeys(pair.gate_id for pair in job.pairs)
    notes = dict.fromkeys(pair.note_path for pair in job.pairs)
    batch = ["--batch-size", str(len(notes))] if job.grouping == Grouping.GATE else []
    select = ["review_target_selector", *gates, "--note", *notes]
    select += ["--model", job.model_partition, "--mode", "requested", "--json"]
    create = ["create_review_jobs", "--input", "-", "--grouping", job.grouping, *batch]
    return f"commonplace {shlex.join(select)} | commonplace {shlex.join(create)}"


def _command(why: str, *words: str | int) -> JobCommandJson:
    return JobCommandJson(why=why, command=f"commonplace {shlex.join(map(str, words))}")
