"""Recover jobs that were given up: ingest what their runs left, fail them, or replace them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from review.documents.base import Document, ListJson, from_row, grouped
from review.domain.grouping import Group
from review.errors import Conflict, ReviewError
from review.ingest.ingest import ingest_job
from review.ingest.load import IngestRequest, Intake, NoBlocks, NoOutput, read_jobs
from review.job_files import OutputNotReadable
from review.jobs.board import require_job
from review.jobs.create import JobFactory
from review.jobs.files import OutputState, output_of, output_states, rewrite_job_files
from review.jobs.job_documents import IngestedJobJson, RefusalJson
from review.jobs.leases import Processes, abandoned_jobs, parent_is_alive, unanswered_pairs
from review.knowledge_base import Corpus, DraftPair, UnreadableFile
from review.models import ReviewJob, ReviewPair
from review.recovery.close import collect_output, fail_job, move_to_failed
from review.runners.outcome import RunnerFailure
from review.runners.registry import UnknownRunner
from review.settings import ConfigRefused
from review.vocabulary import OPEN_JOB_STATUSES, FailureCode, Grouping, JobStatus, PairStatus


class RecoverableJson(Document, kw_only=True):
    """A job that may need recovery, and why.

    `output` is `none`, `unreadable`, `foreign` (no block of this job), `partial` or `complete`;
    `output_detail` says of a partial one what an ingest would keep, and why the rest is missing.
    """

    review_job_id: int
    status: str
    model_partition: str
    lens: str
    pair_count: int
    pairs_without_review: int
    claimed_by: str | None
    runner: str | None
    started_at: str | None
    because: str
    output: str
    output_detail: str = ""
    bundle_output_path: str


class RecoveryListJson(ListJson, kw_only=True, tag_field="schema", tag="recover-review-jobs/1"):
    """The answer of `recover_review_jobs --action list`; a job can be in two lists."""

    action: str = "list"
    abandoned: list[RecoverableJson]
    ready: list[RecoverableJson]
    failed: list[RecoverableJson]


class LeftOutJson(Document):
    """A pair of a replaced job that its replacement leaves out."""

    note_path: str
    gate_path: str
    reason: str


class RecoveredJson(Document):
    """A job that was recovered, or would be; `ingested` is set after an ingest only.

    `kept` is how many reviews an ingest would keep.
    """

    review_job_id: int
    status: str
    replaced_by: int | None = None
    left_out: list[LeftOutJson] = []
    problems: list[str] = []
    ingested: IngestedJobJson | None = None
    kept: int | None = None


class RecoveryJson(Document, kw_only=True, tag_field="schema", tag="recover-review-jobs/1"):
    """The answer of the other actions; after `dry_run` nothing moved."""

    action: str
    dry_run: bool
    done: list[RecoveredJson]
    refused: list[RefusalJson]


class RecoveryAction(StrEnum):
    INGEST = "ingest"
    FAIL = "fail"
    REPLACE = "replace"


@dataclass(frozen=True)
class Recovery:
    """A recovery of the open `job_ids`, or of all abandoned ones: orphans, or running too long."""

    action: RecoveryAction
    actor: str
    older_than: timedelta
    corpus: Corpus
    processes: Processes
    now: datetime
    job_ids: tuple[int, ...] = ()
    reason: str = ""
    dry_run: bool = False

    def recover(self) -> tuple[RecoveryJson, list[ReviewError]]:
        """Recover each job in a transaction; one that is refused holds up no other."""
        job_ids: Iterable[int] = dict.fromkeys(self.job_ids) or abandoned_jobs(
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
        return answer, errors

    def _recover(self, job: ReviewJob) -> RecoveredJson:
        action, actor, reason = self.action, self.actor, self.reason
        if job.status == JobStatus.RUNNING and parent_is_alive(job, processes=self.processes):
            here = job.parent_host == self.processes.host
            raise Conflict(
                f"job {job.pk} is at work: its parent, process {job.parent_pid} on"
                f" {'this host' if here else job.parent_host}, is alive",
                "parent-alive",
                hint="wait for it, or end that process first",
            )
        if action is not RecoveryAction.INGEST:
            _refuse_closed(job)
        if self.dry_run:
            return self._preview(job)
        telemetry = self._collect(job) if job.status == JobStatus.RUNNING else None
        if action is RecoveryAction.INGEST:
            request = IngestRequest(actor=actor, telemetry=telemetry)
            done = ingest_job(job.pk, request=request, config=self.corpus.config, now=self.now)
            return RecoveredJson(review_job_id=job.pk, status=done.status, ingested=done)
        if action is RecoveryAction.REPLACE:
            reason = reason or f"replaced by {actor}"
            return replace_job(job, actor=actor, reason=reason, corpus=self.corpus, now=self.now)
        failure = RunnerFailure(FailureCode.OPERATOR, reason or f"given up by {actor}")
        # From the state that was looked at: who claims or ingests it meanwhile has it.
        leaving = JobStatus(job.status)
        done = fail_job(
            job.pk, failure, actor=actor, leaving=leaving, config=self.corpus.config, now=self.now
        )
        return RecoveredJson(review_job_id=job.pk, status=done.status, problems=done.problems)

    def _collect(self, job: ReviewJob) -> Mapping[str, Any] | None:
        """End the remaining run of a dead parent, keep its output, and return its telemetry."""
        try:
            return collect_output(job, config=self.corpus.config).telemetry
        except (UnknownRunner, ConfigRefused, OutputNotReadable):
            # Only an ingest needs to read it; the files stay for whoever mends what is in the way.
            if self.action is RecoveryAction.INGEST:
                raise
            return None

    def _preview(self, job: ReviewJob) -> RecoveredJson:
        if self.action is not RecoveryAction.INGEST:
            is_replaced = self.action is RecoveryAction.REPLACE
            left_out = _pairs(job, self.corpus)[1] if is_replaced else []
            return RecoveredJson(review_job_id=job.pk, status=JobStatus.FAILED, left_out=left_out)
        config = self.corpus.config
        output = output_of(job, config=config, processes=self.processes)
        request = IngestRequest(actor=self.actor, output=output or None)
        ((intakes, refused),) = read_jobs([job.pk], lambda _id: request, config=config)
        if error := refused.get(job.pk):
            if not isinstance(error, NoOutput | NoBlocks):
                raise error
            retry = f"commonplace ingest_bundle_output --review-job-id {job.pk}"
            hint = f"when it is mended: {retry}; a job without an output is replaced or failed"
            raise NoOutput(error.message, hint=hint) from error
        (intake,) = intakes
        return RecoveredJson(
            review_job_id=job.pk,
            status=intake.ending.status,
            kept=len(intake.said),
            problems=_what_is_kept(intake),
        )


def _what_is_kept(intake: Intake) -> list[str]:
    """Say of an output that is not whole, or not accepted as a whole, what an ingest would keep."""
    lacking = OutputState("partial", dict(intake.why_missing), len(intake.said)).detail
    pairs = [it for it in intake.said if it.not_accepted]
    told = "; ".join(f"pair {it.ordinal}: {it.not_accepted.replace('-', ' ')}" for it in pairs)
    unaccepted = f"{len(pairs)} kept but not accepted: {told}"
    return [lacking] * bool(intake.why_missing) + [unaccepted] * bool(pairs)


def replace_job(
    job: ReviewJob, *, actor: str, reason: str, corpus: Corpus, now: datetime
) -> RecoveredJson:
    """Fail the job, and create one for its pairs without a review, from today's texts."""
    failure = RunnerFailure(FailureCode.REPLACED, reason)
    pairs, left_out = _pairs(job, corpus)
    factory = JobFactory(job.model_partition.name, corpus=corpus, actor=actor, now=now)
    with transaction.atomic():
        move_to_failed(job, failure, actor=actor, now=now)
        group = Group(Grouping(job.grouping), job.lens, pairs)
        (new_id,) = factory.create([group], replaces=job.pk)
    return RecoveredJson(
        review_job_id=job.pk,
        status=JobStatus.FAILED,
        replaced_by=new_id,
        left_out=left_out,
        problems=rewrite_job_files(job.pk, config=corpus.config),
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
        raise Conflict(
            f"no pair of job {job.pk} can be reviewed any more: {reasons}", "nothing-to-replace"
        )
    return tuple(pairs), left_out


def _refuse_closed(job: ReviewJob) -> None:
    after = f"; job {job.replacement_id} replaces it" if job.replacement_id else ""
    if job.status not in OPEN_JOB_STATUSES:
        raise Conflict(
            f"job {job.pk} is {job.status} already{after}",
            "job-closed",
            hint="pairs that are stale are listed by the next selection",
        )


def list_recoverable(
    *,
    older_than: timedelta,
    processes: Processes,
    corpus: Corpus,
    now: datetime,
    job_ids: Collection[int] = (),
) -> RecoveryListJson:
    """List the jobs that need attention, oldest first; only those of `job_ids` if there are any."""
    why = abandoned_jobs(older_than=older_than, processes=processes, now=now)
    jobs = list(_annotated(ReviewJob.objects.open(), job_ids))
    to_request = pairs_to_request(corpus, job_ids)
    failed = list(_annotated(ReviewJob.objects.filter(pk__in=to_request), job_ids))
    states = output_states([*jobs, *failed], config=corpus.config, processes=processes)
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


def pairs_to_request(corpus: Corpus, job_ids: Collection[int] = ()) -> dict[int, list[ReviewPair]]:
    """Return what failed jobs left without a review and can still be requested, by job."""
    rows = unanswered_pairs().filter(**{"job_id__in": list(job_ids)} if job_ids else {})
    if not (pairs := list(rows.with_names().select_related("job__model_partition"))):
        return {}
    kinds = {it.path: it.kind for it in corpus.notes_at({it.note_path for it in pairs}).notes}
    needs = {gate.path: gate.requirement for gate in corpus.gates.gates}
    known = (it for it in pairs if it.note_path in kinds and it.gate_path in needs)
    return grouped(
        (it.job_id, it) for it in known if needs[it.gate_path].applies(kinds[it.note_path])
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
