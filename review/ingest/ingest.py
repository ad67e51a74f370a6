"""Ingest workers' outputs: read first, then one transaction for a few dozen jobs, then the files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from operator import attrgetter

from django.db import DatabaseError, transaction

from review.acceptance.accept import accept, of_review
from review.documents.base import ReviewBlockJson, grouped
from review.domain.paths import sha256_hex
from review.errors import InputRejected, ReviewError, TryAgain
from review.ingest.load import IngestRequest, Intake, JobMoved, jobs_with_output, read_jobs
from review.ingest.parse import names_of, write_blocks
from review.job_files import ArtifactNotWritten, ArtifactStore
from review.jobs.board import require_job, show_ingested
from review.jobs.files import JobFiles
from review.jobs.job_documents import IngestedJobJson, RefusedJob
from review.jobs.provenance import partition_contradicts
from review.models import (
    Finding,
    JobEvent,
    JobMove,
    JobOutput,
    ReviewJob,
    ReviewPair,
    ReviewStore,
    batched,
)
from review.protocol import typed_review as typed
from review.protocol.output import strip_escapes
from review.protocol.typed_review import ReviewFinding, TypedReview
from review.settings import Config
from review.store import refusal_of
from review.vocabulary import Decision, JobStatus, NotAccepted, PairStatus, Severity

# A kill leaves the files of so many jobs behind the store: the next worker looks at four times as many.
JOBS_PER_TRANSACTION = 25
# SQLSTATE class: the server rolled the transaction back for the sake of another one.
_ROLLED_BACK = "40"


def ingest_job(
    job_id: int, *, request: IngestRequest, config: Config, now: datetime
) -> IngestedJobJson:
    """Complete the job's pairs from its output, accept what they decide, and close the job.

    Complete pairs are kept when others are missing: the job is then `failed`, and a later ingest
    may bring the missing ones. Nothing moves when the output holds no block of this job.
    """
    ((intakes, refused),) = read_jobs([job_id], lambda _job_id: request, config=config)
    if refused:
        raise refused[job_id]
    return store_reviews(intakes, config=config, now=now)[job_id]


def ingest_jobs(
    job_ids: Collection[int], *, request: IngestRequest, config: Config, now: datetime
) -> tuple[list[IngestedJobJson], list[RefusedJob]]:
    """Ingest the jobs, in the order given; refusals are reported, not raised."""
    answers = ingest_each(job_ids, lambda _job_id: request, config=config, now=now)
    return (
        [item for item in answers.values() if isinstance(item, IngestedJobJson)],
        [RefusedJob(pk, item) for pk, item in answers.items() if isinstance(item, ReviewError)],
    )


def ingest_ready(
    actor: str | None, *, request: IngestRequest, config: Config, now: datetime
) -> tuple[list[IngestedJobJson], list[RefusedJob]]:
    """Ingest the open jobs, of `actor` or all, whose outputs are whole, as `ingest_jobs` does."""
    request = replace(request, only_whole=True)
    job_ids = list(jobs_with_output(actor=actor, config=config))
    return ingest_jobs(job_ids, request=request, config=config, now=now)


def ingest_each(
    job_ids: Collection[int],
    request_of: Callable[[int], IngestRequest],
    *,
    config: Config,
    now: datetime,
) -> dict[int, IngestedJobJson | ReviewError]:
    """Ingest each job by the request for it, of one actor; give its answer or what refuses it.

    Jobs are stored in transactions of a few dozen. If one is refused, the jobs of its transaction
    are stored one by one.
    """
    answers: dict[int, IngestedJobJson | ReviewError] = {}
    waiting = list(batched(job_ids, JOBS_PER_TRANSACTION))[::-1]
    alone: set[int] = set()
    while waiting:
        some = waiting.pop()
        try:
            for intakes, refused in read_jobs(some, request_of, config=config):
                answers |= refused
                answers |= store_reviews(intakes, config=config, now=now)
        except (ReviewError, DatabaseError) as error:
            left = [job_id for job_id in some if job_id not in answers]
            if not _may_concern_one_job(error):
                raise
            if not alone.issuperset(left):
                alone.update(left)
                waiting += [[job_id] for job_id in reversed(left)]
            elif isinstance(error, ReviewError):
                answers |= dict.fromkeys(left, error)
            else:
                raise
    return {job_id: answers[job_id] for job_id in job_ids if job_id in answers}


def _may_concern_one_job(error: ReviewError | DatabaseError) -> bool:
    """Return whether the other jobs should be retried one by one: not if the store is unreachable."""
    known = refusal_of(error) if isinstance(error, DatabaseError) else error
    state = str(getattr(error.__cause__, "sqlstate", None) or "")
    return not isinstance(known, TryAgain) or state.startswith(_ROLLED_BACK)


def store_reviews(
    intakes: Sequence[Intake], *, config: Config, now: datetime
) -> dict[int, IngestedJobJson]:
    """Store the reviews of jobs, and return the jobs by their ids; JobMoved: none is stored."""
    if not intakes:
        return {}
    with transaction.atomic():
        _move_jobs(intakes, now=now)
        findings = [finding for intake in intakes for finding in intake.findings]
        Finding.objects.bulk_create(findings, batch_size=100)
        acceptances = [
            of_review(intake.job, pair, intake.request.actor)
            for intake in intakes
            for pair in intake.said
            if not pair.not_accepted
        ]
        for item in accept(acceptances, now=now):
            if item.review_pair is not None:
                item.review_pair.not_accepted = NotAccepted.SUPERSEDED.value
        texts = {pair: intake.texts[pair.pk] for intake in intakes for pair in intake.said}
        if texts and not ReviewPair.objects.complete(texts, now=now):
            raise JobMoved(f"a pair of {_named(intakes)} was completed by another process")
        for intake in intakes:
            if intake.why_missing:
                ReviewPair.objects.mark_missing(intake.job.pk, reasons=intake.why_missing)
            if intake.keeps_raw:
                keep_raw(intake.job, intake.raw, now=now)
    store_id = ReviewStore.objects.identity()
    return {it.job.pk: _finish(it, config=config, store_id=store_id) for it in intakes}


def _named(intakes: Sequence[Intake]) -> str:
    return f"job {' or '.join(str(intake.job.pk) for intake in intakes)}"


def _move_jobs(intakes: Sequence[Intake], *, now: datetime) -> None:
    """Move jobs with one statement for all whose rows get the same."""
    moves = [
        JobMove(it.job.pk, it.job.status, it.ending.status, it.ending.reason or "ingested")
        for it in intakes
    ]
    same = attrgetter("job.status", "ending", "self_reported_model")
    groups = grouped(((id(it.request), it.job.started_at is None, *same(it)), it) for it in intakes)
    # First, so that a job somebody else moved stops us before any other write.
    for alike in groups.values():
        first, request = alike[0], alike[0].request
        leaving = JobStatus(first.job.status)
        also: dict[str, object] = {}
        if first.self_reported_model:
            also["self_reported_model"] = first.self_reported_model
        if request.provenance is not None and first.job.started_at is None:
            also |= {"started_at": now, "claimed_by": request.actor, **asdict(request.provenance)}
        moved = ReviewJob.objects.held_by(request.lease).close(
            [intake.job for intake in alike],
            leaving=leaving,
            ending=first.ending,
            telemetry=request.telemetry,
            also=also,
            now=now,
        )
        # A failed job can be left for failed again: then its pairs tell of another ingest.
        if not moved or (leaving is JobStatus.FAILED and not all(map(_is_as_it_was, alike))):
            raise JobMoved(f"{_named(alike)} was moved by another process; look at it again")
    JobEvent.objects.record(moves, actor=intakes[0].request.actor, now=now)


def _is_as_it_was(intake: Intake) -> bool:
    was = sum(pair.status == PairStatus.COMPLETED for pair in intake.pairs)
    return ReviewPair.objects.filter(job=intake.job, status=PairStatus.COMPLETED).count() == was


def keep_raw(job: ReviewJob, raw: bytes, *, now: datetime) -> None:
    defaults = {"raw": raw, "at": now}
    JobOutput.objects.get_or_create(job=job, content_sha256=sha256_hex(raw), defaults=defaults)


def _finish(intake: Intake, *, config: Config, store_id: str) -> IngestedJobJson:
    job, partition = intake.job, intake.job.model_partition.name
    for pair in intake.pairs:  # what `mark_missing` did to the rows
        if pair.status != PairStatus.COMPLETED:
            pair.status = PairStatus.MISSING
            pair.problem = intake.why_missing.get(pair.ordinal, pair.problem)
    problems = intake.problems
    if intake.request.output is not None:
        try:
            ArtifactStore(config).keep_input(job.bundle_output_path, intake.raw)
        except ArtifactNotWritten as refused:
            problems.append(refused.message)
    problems += JobFiles(job, intake.pairs, intake.texts, config, store_id).write()
    claimed = intake.self_reported_model
    if claimed and partition_contradicts(partition, (claimed,), config=config):
        problems.append(
            f"the output says it was written by {claimed!r}, another model than the job's partition"
            f" {partition!r}: a claim, not provenance"
        )
    findings = intake.findings if len(intake.said) == len(intake.texts) else None
    return show_ingested(job, intake.pairs, findings, problems, config=config)


class BadBlock(InputRejected): ...


def submit_reviews(
    job_id: int, blocks: Sequence[ReviewBlockJson], *, actor: str, config: Config, now: datetime
) -> IngestedJobJson:
    """Store the reviews of a job, or of some of its pairs; BadBlock: nothing is stored."""
    job = require_job(job_id)
    names = names_of(job, config)
    typed: dict[int, TypedReview] = {}
    for place, block in enumerate(blocks):
        if block.ordinal not in names or block.ordinal in typed:
            why = "stands twice" if block.ordinal in typed else f"is none of 1 to {len(names)}"
            raise BadBlock(f"blocks[{place}]: ordinal {block.ordinal} {why}; nothing was stored")
        typed[block.ordinal] = _typed(block)
    output = write_blocks(typed, token=job.sentinel_token, names=names)
    request = IngestRequest(actor=actor, output=output, typed=typed)
    return ingest_job(job_id, request=request, config=config, now=now)


def _typed(block: ReviewBlockJson) -> TypedReview:
    """Make every text one paragraph, so that none of its lines can be read as another part."""
    return TypedReview(
        decision=Decision(block.decision),
        findings=tuple(
            ReviewFinding(
                Severity(it.severity),
                _line(it.text),
                typed.filled_lines(_safe(it.quote)),
                typed.WHOLE_NOTE,
            )
            for it in block.findings
        ),
        summary=_line(block.summary),
        suggestion=_line(block.revision) or "None.",
    )


def _line(text: str) -> str:
    return typed.one_line(_safe(text))


def _safe(text: str) -> str:
    return strip_escapes(text).replace("\0", " ")
