"""Recover jobs that were given up: ingest what their runs left, fail them, or replace them."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from review.documents.base import from_row
from review.domain.grouping import Group
from review.domain.processes import Parent
from review.errors import Conflict, ReviewError
from review.ingest.ingest import ingest_job
from review.ingest.parse import read_output
from review.ingest.request import IngestRequest, JobMoved, NoOutput
from review.job_files import ArtifactStore
from review.jobs.abandonment import abandoned_jobs, parent_is_alive, unanswered_jobs
from review.jobs.board import require_job
from review.jobs.factory import JobFactory
from review.jobs.job_documents import IngestedJobJson, RefusalJson
from review.jobs.leases import new_lease
from review.jobs.left_runs import left_outcomes, run_folders
from review.jobs.mirror import rewrite_job_files
from review.jobs.output_states import OutputState, output_state, output_states
from review.knowledge_base import Corpus, DraftPair, UnreadableFile
from review.models import ReviewJob
from review.recovery.documents import (
    LeftOutJson,
    RecoverableJson,
    RecoveredJson,
    RecoveryJson,
    RecoveryListJson,
)
from review.recovery.fail import close_job, fail_job, move_to_failed
from review.runners.outcome import RunnerFailure, RunnerOutcome, telemetry_of
from review.runners.process.table import Processes
from review.runners.registry import UnknownRunner
from review.runners.run import end_left_over, forget_run
from review.settings.config import Config
from review.settings.file import ConfigRefused
from review.vocabulary import OPEN_JOB_STATUSES, FailureCode, Grouping, JobStatus, PairStatus


class ParentAlive(Conflict):
    """The process that took the job is at work on this host."""


class JobClosed(Conflict):
    """The job is completed or failed; there is nothing to recover."""


class NothingToReplace(Conflict):
    """No pair of the job can be reviewed any more."""


class RecoveryAction(StrEnum):
    INGEST = "ingest"
    FAIL = "fail"
    REPLACE = "replace"


@dataclass(frozen=True)
class Recovered:
    """The answer of a recovery, and the refusals as they were raised."""

    answer: RecoveryJson
    errors: tuple[ReviewError, ...]


# Why no ingest would take an output, by its state.
_UNUSABLE: Mapping[str, str] = {
    "none": "is not there, or is empty",
    "unreadable": "cannot be read",
    "foreign": "holds no whole block of this job",
}


@dataclass(frozen=True)
class Recovery:
    """A recovery of jobs.

    :param job_ids: open jobs, abandoned or not; none: all abandoned ones.
    :param older_than: how long a job may run until it is taken for abandoned.
    """

    action: RecoveryAction
    actor: str
    older_than: timedelta
    corpus: Corpus
    config: Config
    processes: Processes
    now: datetime
    job_ids: tuple[int, ...] = ()
    reason: str = ""
    dry_run: bool = False

    def recover(self) -> Recovered:
        """Recover the named jobs, or all abandoned ones; one that is refused holds up no other.

        Each job is one transaction, so a recovery that was killed is finished by the next.
        """
        job_ids: Iterable[int] = dict.fromkeys(self.job_ids)
        if not self.job_ids:
            job_ids = abandoned_jobs(
                older_than=self.older_than, processes=self.processes, now=self.now
            )
        answer = RecoveryJson(action=self.action, dry_run=self.dry_run, done=[], refused=[])
        errors = []
        for job_id in job_ids:
            try:
                answer.done.append(self._recover(require_job(job_id)))
            except ReviewError as error:
                errors.append(error)
                answer.refused.append(RefusalJson.of(job_id, error))
        return Recovered(answer, tuple(errors))

    def _recover(self, job: ReviewJob) -> RecoveredJson:
        """Recover one job, or say what would become of it."""
        action, actor, reason = self.action, self.actor, self.reason
        if job.status == JobStatus.RUNNING and parent_is_alive(job, processes=self.processes):
            here = job.parent_host == self.processes.host
            raise ParentAlive(
                f"job {job.pk} is at work: its parent, process {job.parent_pid} on"
                f" {'this host' if here else job.parent_host}, is alive",
                hint="wait for it, or end that process first",
            )
        if action is not RecoveryAction.INGEST:
            _refuse_closed(job)
        if self.dry_run:
            return self._preview(job)
        telemetry = self._collect(job) if job.status == JobStatus.RUNNING else None
        if action is RecoveryAction.INGEST:
            request = IngestRequest(actor=actor, telemetry=telemetry)
            done = ingest_job(job.pk, request=request, config=self.config, now=self.now)
            return RecoveredJson(review_job_id=job.pk, status=done.status, ingested=done)
        if action is RecoveryAction.REPLACE:
            reason = reason or f"replaced by {actor}"
            return replace_job(
                job,
                actor=actor,
                reason=reason,
                corpus=self.corpus,
                config=self.config,
                now=self.now,
            )
        failure = RunnerFailure(FailureCode.OPERATOR, reason or f"given up by {actor}")
        # From the state that was looked at: who claims or ingests it meanwhile has it.
        leaving = JobStatus(job.status)
        done = fail_job(
            job.pk, failure, actor=actor, leaving=leaving, config=self.config, now=self.now
        )
        return RecoveredJson(review_job_id=job.pk, status=done.status, problems=done.problems)

    def _collect(self, job: ReviewJob) -> Mapping[str, Any] | None:
        """End the remaining run of a dead parent, keep its output, and return its telemetry."""
        try:
            return collect_output(job, config=self.config).telemetry
        except (UnknownRunner, ConfigRefused):
            # Only an ingest needs to read it; the files stay for whoever declares the runner again.
            if self.action is RecoveryAction.INGEST:
                raise
            return None

    def _preview(self, job: ReviewJob) -> RecoveredJson:
        if self.action is not RecoveryAction.INGEST:
            is_replaced = self.action is RecoveryAction.REPLACE
            left_out = _pairs(job, self.corpus)[1] if is_replaced else []
            return RecoveredJson(review_job_id=job.pk, status=JobStatus.FAILED, left_out=left_out)
        output = output_state(job, config=self.config, processes=self.processes)
        if output.state in _UNUSABLE:
            raise NoOutput(
                f"job {job.pk}: {job.bundle_output_path} {_UNUSABLE[output.state]}",
                hint=f"commonplace ingest_bundle_output --review-job-id {job.pk} says what is wrong"
                " with an output; a job without one is replaced or failed",
            )
        is_whole = output.state == "complete"
        return RecoveredJson(
            review_job_id=job.pk,
            status=JobStatus.COMPLETED if is_whole else JobStatus.FAILED,
            problems=[output.detail] if output.detail else [],
        )


def orphaned_jobs(processes: Processes) -> list[int]:
    """Return running jobs whose parent here is gone or whose lease ran out, oldest first."""
    of_this_host = Q(parent_host=processes.host, batch_until=None) | Q(leased_until__isnull=False)
    running = ReviewJob.objects.filter(of_this_host, status=JobStatus.RUNNING)
    return [
        job.pk
        for job in running.order_by("pk")
        if parent_is_alive(job, processes=processes) is False
    ]


def salvage_job(
    job_id: int, *, actor: str, parent: Parent, config: Config, now: datetime
) -> IngestedJobJson:
    """Ingest what an orphaned job's runs have left, and close it; others may do so at once.

    Killed at any point, the next salvage finishes the work.

    :raises ReviewError: the job is another process's by now, or cannot be read or written.
    """
    job = require_job(job_id)
    # So that no worker takes it over while what it left is ended and read.
    lease = new_lease(config.lease)
    if not ReviewJob.objects.take_over(
        job, claimed_by=job.claimed_by, parent=parent, lease=lease, now=job.started_at or now
    ):
        raise JobMoved(f"job {job_id} was moved by another process; look at it again")
    outcome = collect_output(job, config=config)
    document = close_job(job, outcome, actor=actor, config=config, now=now)
    if document.status == JobStatus.COMPLETED:
        for folder in run_folders(job, config=config):
            shutil.rmtree(folder, ignore_errors=True)
    return document


def collect_output(job: ReviewJob, *, config: Config) -> RunnerOutcome:
    """End the job's remaining runs, and write the best of their texts to its output.

    Only for a job whose parent is gone. The outcome has the telemetry of all its runs, no text
    without any review, and no failure with all of them.

    :raises UnknownRunner, ConfigRefused: the runner is no longer declared.
    """
    folders = run_folders(job, config=config)
    for folder in folders:
        end_left_over(folder)
    outcomes = left_outcomes(job, config=config)
    store = ArtifactStore(config)
    written = store.read_output(job.bundle_output_path)
    best, is_complete, most = None, False, 0
    for text in (written, *(outcome.text for outcome in outcomes)):
        parsed = read_output(job, text or b"", config=config)
        if parsed.has_own_blocks and (best is None or len(parsed.blocks) > most):
            best, is_complete, most = text, not parsed.missing, len(parsed.blocks)
    if best is not None and best != written:
        store.keep_input(job.bundle_output_path, best)
    for folder in folders:
        forget_run(folder)
    failure = outcomes[-1].failure if outcomes else None
    if failure is None or failure.code is FailureCode.INTERRUPTED:
        parent = f"its parent, process {job.parent_pid} on {job.parent_host}"
        reason = f"{parent}, was gone before it ended"
        failure = RunnerFailure(FailureCode.INTERRUPTED, reason, retryable=True)
    return RunnerOutcome(best, None if is_complete else failure, telemetry_of(outcomes))


def replace_job(
    job: ReviewJob, *, actor: str, reason: str, corpus: Corpus, config: Config, now: datetime
) -> RecoveredJson:
    """Fail the job, and create one for its pairs without a review, from today's texts.

    Pairs that are also in another open job are included: that was a deliberate choice when the old
    job was created.
    """
    failure = RunnerFailure(FailureCode.REPLACED, reason)
    pairs, left_out = _pairs(job, corpus)
    factory = JobFactory(
        job.model_partition.name, corpus=corpus, config=config, actor=actor, now=now
    )
    with transaction.atomic():
        move_to_failed(job, failure, actor=actor, now=now)
        group = Group(Grouping(job.grouping), job.lens, pairs)
        (new_id,), _skipped = factory.create([group], replaces=job.pk)
    return RecoveredJson(
        review_job_id=job.pk,
        status=JobStatus.FAILED,
        replaced_by=new_id,
        left_out=left_out,
        problems=rewrite_job_files(job.pk, config=config),
    )


def _pairs(job: ReviewJob, corpus: Corpus) -> tuple[tuple[DraftPair, ...], list[LeftOutJson]]:
    """Return the job's pairs without a review, and those of them that cannot be requested."""
    read_note, pairs, left_out = cache(corpus.read_note), [], []
    rows = job.pairs.exclude(status=PairStatus.COMPLETED).order_by("ordinal")
    for note_path, gate_path in rows.values_list("note__path", "gate__path"):
        try:
            pairs.append(DraftPair(read_note(note_path), corpus.gate(gate_path)))
        except UnreadableFile as refused:
            code = refused.problem.code.value
            left_out.append(LeftOutJson(note_path=note_path, gate_path=gate_path, reason=code))
    if not pairs:
        reasons = ", ".join(sorted({item.reason for item in left_out})) or "all are reviewed"
        raise NothingToReplace(f"no pair of job {job.pk} can be reviewed any more: {reasons}")
    return tuple(pairs), left_out


def _refuse_closed(job: ReviewJob) -> None:
    if job.status in OPEN_JOB_STATUSES:
        return
    after = f"; job {job.replacement_id} replaces it" if job.replacement_id else ""
    raise JobClosed(
        f"job {job.pk} is {job.status} already{after}",
        hint="pairs that are stale are listed by the next selection",
    )


def list_recoverable(
    *,
    older_than: timedelta,
    processes: Processes,
    config: Config,
    now: datetime,
    job_ids: Collection[int] = (),
) -> RecoveryListJson:
    """List the jobs that need attention, oldest first; only those of `job_ids` if there are any."""
    why = abandoned_jobs(older_than=older_than, processes=processes, now=now)
    jobs = list(_annotated(ReviewJob.objects.open(), job_ids))
    failed = list(_annotated(unanswered_jobs(), job_ids))
    states = output_states([*jobs, *failed], config=config, processes=processes)
    return RecoveryListJson(
        abandoned=[_entry(job, why[job.pk], states[job.pk]) for job in jobs if job.pk in why],
        ready=[
            _entry(job, "its output is complete", states[job.pk])
            for job in jobs
            if states[job.pk].state == "complete"
        ],
        failed=[
            _entry(job, f"{job.failure_code}: {job.failure_reason}", states[job.pk])
            for job in failed
        ],
    )


def _annotated(jobs: QuerySet[ReviewJob], job_ids: Collection[int]) -> QuerySet[ReviewJob]:
    if job_ids:
        jobs = jobs.filter(pk__in=job_ids)
    waiting = Count("pairs", filter=~Q(pairs__status=PairStatus.COMPLETED))
    return jobs.select_related("model_partition").annotate(waiting=waiting).order_by("pk")


def _entry(job: ReviewJob, because: str, output: OutputState) -> RecoverableJson:
    return from_row(
        RecoverableJson,
        job,
        review_job_id=job.pk,
        model_partition=job.model_partition.name,
        pairs_without_review=job.waiting,  # type: ignore[attr-defined]
        claimed_by=job.claimed_by or None,
        because=because,
        output=output.state,
        output_detail=output.detail,
    )
