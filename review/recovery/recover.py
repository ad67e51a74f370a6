"""Recovers jobs that were given up: takes in what is there, fails them, or makes new ones instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django.db import transaction

from review.errors import Conflict, ReviewError
from review.ingest.ingest import ingest_job
from review.ingest.request import IngestRequest, JobMoved, NoOutput
from review.jobs.board import require_job
from review.jobs.job_documents import RefusalJson
from review.jobs.mirror import mirror_job
from review.jobs.recoverable import (
    abandoned_jobs,
    describe_partial,
    output_state,
    parent_is_alive,
)
from review.jobs.recovery_documents import LeftOutJson, RecoveredJson, RecoveryJson
from review.knowledge_base import Corpus, UnreadableFile
from review.models import JobEvent, ReviewJob, ReviewPair
from review.recovery.replace import NothingToReplace, create_replacement
from review.recovery.salvage import collect_output
from review.runners.process.table import Processes
from review.runners.registry import UnknownRunner
from review.settings.config import Config
from review.settings.file import ConfigRefused
from review.vocabulary import OPEN_JOB_STATUSES, FailureCode, JobStatus, PairStatus


class ParentAlive(Conflict):
    """The process that took the job is at work on this host."""


class JobClosed(Conflict):
    """The job is completed or failed; there is nothing to recover."""


class RecoveryAction(StrEnum):
    """What to do with a job that was given up."""

    INGEST = "ingest"
    FAIL = "fail"
    REPLACE = "replace"


@dataclass(frozen=True)
class RecoveryRequest:
    """Which jobs to recover, and how.

    :param job_ids: open jobs, abandoned or not: who names a job means it. None names the abandoned.
    :param older_than: how long a job may run until it is taken for abandoned.
    """

    action: RecoveryAction
    actor: str
    older_than: timedelta
    job_ids: tuple[int, ...] = ()
    reason: str = ""
    dry_run: bool = False


@dataclass(frozen=True)
class Recovered:
    """What became of the jobs, and the refusals as they were raised."""

    answer: RecoveryJson
    errors: tuple[ReviewError, ...]


@dataclass(frozen=True)
class _Surroundings:
    request: RecoveryRequest
    corpus: Corpus
    config: Config
    now: datetime


def recover(
    request: RecoveryRequest,
    *,
    corpus: Corpus,
    config: Config,
    processes: Processes,
    now: datetime,
) -> Recovered:
    """Recover the named jobs, or all abandoned ones; one that is refused holds up no other.

    Each job is one transaction, so a recovery that was killed is finished by the next.
    """
    around = _Surroundings(request, corpus, config, now)
    done: list[RecoveredJson] = []
    refused: list[RefusalJson] = []
    errors: list[ReviewError] = []
    for job_id in _wanted(request, processes=processes, now=now):
        try:
            job = require_job(job_id)
            _refuse_live(job, processes=processes)
            done.append(_recover(job, around))
        except ReviewError as error:
            errors.append(error)
            refused.append(_refusal(job_id, error))
    answer = RecoveryJson(
        action=request.action.value, dry_run=request.dry_run, done=done, refused=refused
    )
    return Recovered(answer, tuple(errors))


def _wanted(request: RecoveryRequest, *, processes: Processes, now: datetime) -> Iterable[int]:
    if request.job_ids:
        return dict.fromkeys(request.job_ids)
    found = abandoned_jobs(older_than=request.older_than, processes=processes, now=now)
    return [item.job_id for item in found]


def _refuse_live(job: ReviewJob, *, processes: Processes) -> None:
    if job.status == JobStatus.RUNNING and parent_is_alive(job, processes=processes):
        raise ParentAlive(
            f"job {job.pk} is at work: its parent, process {job.parent_pid} on this host, is alive",
            hint="wait for it, or end that process first",
        )


def _recover(job: ReviewJob, around: _Surroundings) -> RecoveredJson:
    action = around.request.action
    if action is not RecoveryAction.INGEST:
        _refuse_closed(job)
    if around.request.dry_run:
        return _preview(job, around)
    return _ACTIONS[action](job, around)


def _collect(job: ReviewJob, around: _Surroundings) -> dict[str, Any] | None:
    """End what a dead parent's run still does, and put what it left where an ingest looks.

    Answers what the run said of itself.
    """
    if job.status != JobStatus.RUNNING:
        return None
    try:
        return collect_output(job, config=around.config).telemetry
    except (UnknownRunner, ConfigRefused):
        # Only an ingest needs to read it; the files stay for whoever declares the runner again.
        if around.request.action is RecoveryAction.INGEST:
            raise
        return None


def _refuse_closed(job: ReviewJob) -> None:
    if job.status in OPEN_JOB_STATUSES:
        return
    replacement = getattr(job, "replaced_by", None)
    after = "" if replacement is None else f"; job {replacement.pk} replaces it"
    raise JobClosed(
        f"job {job.pk} is {job.status} already{after}",
        hint="pairs that are stale are listed by the next selection",
    )


# What is told of an output that no ingest would take.
_UNUSABLE: Mapping[str, str] = {
    "none": "is not there, or is empty",
    "unreadable": "cannot be read",
    "foreign": "holds no whole block of this job",
}


def _preview(job: ReviewJob, around: _Surroundings) -> RecoveredJson:
    state = output_state(job, config=around.config)
    if around.request.action is RecoveryAction.INGEST and state not in ("partial", "complete"):
        raise NoOutput(
            f"job {job.pk}: {job.bundle_output_path} {_UNUSABLE[state]}",
            hint=f"commonplace ingest_bundle_output --review-job-id {job.pk} says what is wrong with "
            "an output; a job without one is replaced or failed",
        )
    ingest = around.request.action is RecoveryAction.INGEST
    replace = around.request.action is RecoveryAction.REPLACE
    is_whole = state == "complete"
    return RecoveredJson(
        review_job_id=job.pk,
        status=JobStatus.COMPLETED if ingest and is_whole else JobStatus.FAILED,
        left_out=_would_leave_out(job, around) if replace else [],
        problems=[describe_partial(job, config=around.config)] if ingest and not is_whole else [],
    )


def _would_leave_out(job: ReviewJob, around: _Surroundings) -> list[LeftOutJson]:
    left_out = []
    pairs = job.pairs.exclude(status=PairStatus.COMPLETED).order_by("ordinal")
    for note_path, gate_path in pairs.values_list("note__path", "gate__path"):
        try:
            around.corpus.gate(gate_path)
            around.corpus.read_note(note_path)
        except UnreadableFile as refused:
            code = refused.problem.code.value
            left_out.append(LeftOutJson(note_path=note_path, gate_path=gate_path, reason=code))
    if len(left_out) == pairs.count():
        raise NothingToReplace(f"no pair of job {job.pk} can be reviewed any more")
    return left_out


def _ingest(job: ReviewJob, around: _Surroundings) -> RecoveredJson:
    ingested = ingest_job(
        job.pk,
        request=IngestRequest(actor=around.request.actor, telemetry=_collect(job, around)),
        config=around.config,
        now=around.now,
    )
    return RecoveredJson(review_job_id=job.pk, status=ingested.status, ingested=ingested)


def _fail(job: ReviewJob, around: _Surroundings) -> RecoveredJson:
    _collect(job, around)
    with transaction.atomic():
        _move_to_failed(job, around, code=FailureCode.OPERATOR, what="given up")
    problems = mirror_job(job.pk, config=around.config)
    return RecoveredJson(review_job_id=job.pk, status=JobStatus.FAILED, problems=problems)


def _replace(job: ReviewJob, around: _Surroundings) -> RecoveredJson:
    _collect(job, around)
    with transaction.atomic():
        _move_to_failed(job, around, code=FailureCode.REPLACED, what="replaced")
        made = create_replacement(
            job,
            corpus=around.corpus,
            config=around.config,
            actor=around.request.actor,
            now=around.now,
        )
    problems = mirror_job(job.pk, config=around.config)
    return RecoveredJson(
        review_job_id=job.pk,
        status=JobStatus.FAILED,
        replaced_by=made.job_id,
        left_out=[
            LeftOutJson(note_path=item.note_path, gate_path=item.gate_path, reason=item.reason)
            for item in made.left_out
        ],
        problems=problems,
    )


_ACTIONS: Mapping[RecoveryAction, Callable[[ReviewJob, _Surroundings], RecoveredJson]] = {
    RecoveryAction.INGEST: _ingest,
    RecoveryAction.FAIL: _fail,
    RecoveryAction.REPLACE: _replace,
}


def _move_to_failed(job: ReviewJob, around: _Surroundings, *, code: FailureCode, what: str) -> None:
    leaving = JobStatus(job.status)
    reason = around.request.reason or f"{what} by {around.request.actor}"
    # First, and from the state that was looked at: who claims or ingests it meanwhile has it.
    moved = ReviewJob.objects.fail(
        job.pk, leaving=(leaving,), code=code, reason=reason, now=around.now
    )
    if not moved:
        raise JobMoved(f"job {job.pk} was moved by another process; look at it again")
    ReviewPair.objects.mark_missing(job.pk)
    JobEvent.objects.create(
        job=job,
        from_status=leaving,
        to_status=JobStatus.FAILED,
        actor=around.request.actor,
        note=reason,
        at=around.now,
    )


def _refusal(job_id: int, error: ReviewError) -> RefusalJson:
    return RefusalJson(
        review_job_id=job_id,
        code=error.code,
        message=error.message,
        exit=int(error.exit_code),
    )
