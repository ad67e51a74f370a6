"""Stores what ingests bring: a few statements for any number of jobs; call it inside a transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from review.acceptance.accept import accept, of_review
from review.domain.paths import sha256_hex
from review.ingest.load import Intake
from review.ingest.request import IngestRequest, JobMoved
from review.models import (
    Finding,
    JobEvent,
    JobMove,
    JobOutput,
    ReviewJob,
    ReviewPair,
    ReviewText,
)
from review.vocabulary import JobStatus, NotAccepted, PairStatus


def store_intakes(intakes: Sequence[Intake], request: IngestRequest, *, now: datetime) -> None:
    """Move the jobs and store their reviews, as if one job after the other.

    :raises JobMoved: another process moved one of them meanwhile: roll the transaction back.
    """
    _move_jobs(intakes, request, now=now)
    findings = [finding for intake in intakes for finding in intake.findings]
    Finding.objects.bulk_create(findings, batch_size=100)
    taken = [(intake, pair) for intake in intakes for pair in intake.said]
    acceptances = [of_review(intake.job, pair) for intake, pair in taken if not pair.not_accepted]
    for acceptance in acceptances:
        acceptance.actor = request.actor
    superseded = {item.review_pair_id for item in accept(acceptances, now=now)}
    for _intake, pair in taken:
        if pair.pk in superseded:
            pair.not_accepted = NotAccepted.SUPERSEDED.value
    if taken and not ReviewPair.objects.complete([pair for _intake, pair in taken], now=now):
        raise JobMoved(f"a pair of {_named(intakes)} was completed by another process")
    ReviewText.objects.bulk_create(
        [ReviewText(pair=pair, text=intake.texts[pair.pk]) for intake, pair in taken]
    )
    for intake in intakes:
        if intake.why_missing:
            ReviewPair.objects.mark_missing(intake.job.pk, reasons=intake.why_missing)
        if intake.keeps_raw:
            keep_raw(intake.job, intake.raw, now=now)


def _named(intakes: Sequence[Intake]) -> str:
    return f"job {' or '.join(str(intake.job.pk) for intake in intakes)}"


def _move_jobs(intakes: Sequence[Intake], request: IngestRequest, *, now: datetime) -> None:
    """Move jobs with one statement for all whose rows get the same."""
    moves = []
    groups: defaultdict[object, list[Intake]] = defaultdict(list)
    for intake in intakes:
        job, ending = intake.job, intake.ending
        moves.append(JobMove(job.pk, job.status, ending.status, ending.reason or "ingested"))
        key = (job.status, job.started_at is None, ending, intake.self_reported_model)
        groups[key].append(intake)
    # First, so that a job somebody else moved stops us before any other write.
    for alike in groups.values():
        if not _move(alike, request, now=now):
            raise JobMoved(f"{_named(alike)} was moved by another process; look at it again")
    JobEvent.objects.record(moves, actor=request.actor, now=now)


def _move(alike: Sequence[Intake], request: IngestRequest, *, now: datetime) -> bool:
    first = alike[0]
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
    # A failed job can be left for failed again: then it is the pairs that tell of another ingest.
    return moved and (leaving is not JobStatus.FAILED or all(map(_is_as_it_was, alike)))


def _is_as_it_was(intake: Intake) -> bool:
    was = sum(pair.status == PairStatus.COMPLETED for pair in intake.pairs)
    now = ReviewPair.objects.filter(job=intake.job, status=PairStatus.COMPLETED)
    return now.count() == was


def keep_raw(job: ReviewJob, raw: bytes, *, now: datetime) -> None:
    defaults = {"raw": raw, "at": now}
    JobOutput.objects.get_or_create(job=job, content_sha256=sha256_hex(raw), defaults=defaults)
