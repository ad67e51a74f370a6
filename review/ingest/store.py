"""Stores what ingests bring: a few statements for any number of jobs; call it inside a transaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import NamedTuple

from review.acceptance.accept import accept
from review.domain.paths import sha256_hex
from review.ingest.load import ReadJob
from review.ingest.parse import NewReview
from review.ingest.request import IngestRequest, JobMoved
from review.job_files import result_name
from review.models import (
    Acceptance,
    Ending,
    Finding,
    JobEvent,
    JobMove,
    JobOutput,
    ReviewJob,
    ReviewPair,
    ReviewText,
)
from review.vocabulary import (
    ACCEPTING_DECISIONS,
    AcceptanceKind,
    Decision,
    JobPurpose,
    JobStatus,
    NotAccepted,
    PairStatus,
)

_UNDECIDED = {
    Decision.ERROR: NotAccepted.DECISION_ERROR,
    Decision.UNKNOWN: NotAccepted.DECISION_UNKNOWN,
}


@dataclass(frozen=True)
class Plan:
    """The rows that the ingest of one job will store, decided before the transaction starts.

    :param taken: the reviews that complete their pairs.
    :param why_missing: by ordinal, why a pair has no review after it.
    :param keeps_raw: whether the raw output is kept because a block is missing.
    :param contradicted: whether telemetry names a model of another partition.
    :param late: what the output says of pairs that were completed before; it is reported only.
    """

    read: ReadJob
    taken: tuple[NewReview, ...]
    why_missing: Mapping[int, str]
    keeps_raw: bool
    ending: Ending
    contradicted: bool
    late: Sequence[str]


class _Taken(NamedTuple):
    plan: Plan
    item: NewReview


def store_plans(plans: Sequence[Plan], request: IngestRequest, *, now: datetime) -> list[Finding]:
    """Move the jobs and store their reviews, as if one job after the other; the new findings.

    :raises JobMoved: another process moved one of them meanwhile: roll the transaction back.
    """
    _move_jobs(plans, request, now=now)
    taken = [_Taken(plan, item) for plan in plans for item in plan.taken]
    findings = Finding.objects.bulk_create(list(_findings(taken)), batch_size=100)
    why_not = _accept(taken, request, now=now)
    pairs = [_reviewed(each, why_not) for each in taken]
    if pairs and not ReviewPair.objects.complete(pairs, now=now):
        raise JobMoved(f"a pair of {_named(plans)} was completed by another process")
    ReviewText.objects.bulk_create(
        [ReviewText(pair=each.item.pair, text=each.item.text) for each in taken]
    )
    for plan in plans:
        if reasons := plan.why_missing:
            ReviewPair.objects.mark_missing(plan.read.job.pk, reasons=reasons)
        if plan.late or plan.keeps_raw:
            keep_raw(plan.read.job, plan.read.raw, now=now)
    return findings


def _named(plans: Sequence[Plan]) -> str:
    return f"job {' or '.join(str(plan.read.job.pk) for plan in plans)}"


def _move_jobs(plans: Sequence[Plan], request: IngestRequest, *, now: datetime) -> None:
    moves = [
        JobMove(job.pk, job.status, plan.ending.status, plan.ending.reason or "ingested")
        for plan in plans
        for job in [plan.read.job]
    ]
    # First, so that a job somebody else moved stops us before any other write.
    for alike in _alike(plans):
        if not _move(alike, request, now=now):
            raise JobMoved(f"{_named(alike)} was moved by another process; look at it again")
    JobEvent.objects.record(moves, actor=request.actor, now=now)


def _alike(plans: Sequence[Plan]) -> list[list[Plan]]:
    """The plans whose jobs are moved by one statement: the same is written to their rows."""
    groups: dict[object, list[Plan]] = {}
    for plan in plans:
        job = plan.read.job
        told = plan.read.parsed.self_reported_model
        key = (job.status, job.started_at is None, plan.ending, told)
        groups.setdefault(key, []).append(plan)
    return list(groups.values())


def _move(alike: Sequence[Plan], request: IngestRequest, *, now: datetime) -> bool:
    first = alike[0]
    leaving = JobStatus(first.read.job.status)
    also: dict[str, object] = {}
    if model := first.read.parsed.self_reported_model:
        also["self_reported_model"] = model
    if request.provenance is not None and first.read.job.started_at is None:
        also |= {"started_at": now, "claimed_by": request.actor, **asdict(request.provenance)}
    moved = ReviewJob.objects.held_by(request.lease).close(
        [plan.read.job for plan in alike],
        leaving=leaving,
        ending=first.ending,
        telemetry=request.telemetry,
        also=also,
        now=now,
    )
    # A failed job can be left for failed again: then it is the pairs that tell of another ingest.
    return moved and (leaving is not JobStatus.FAILED or all(map(_is_as_it_was, alike)))


def _is_as_it_was(plan: Plan) -> bool:
    was = sum(pair.status == PairStatus.COMPLETED for pair in plan.read.pairs)
    now = ReviewPair.objects.filter(job=plan.read.job, status=PairStatus.COMPLETED)
    return now.count() == was


def keep_raw(job: ReviewJob, raw: bytes, *, now: datetime) -> None:
    defaults = {"raw": raw, "at": now}
    JobOutput.objects.get_or_create(job=job, content_sha256=sha256_hex(raw), defaults=defaults)


def _reviewed(each: _Taken, why_not: dict[int, NotAccepted]) -> ReviewPair:
    read, pair, found = each.plan.read, each.item.pair, each.item.decision
    folder = read.job.prompt_path.rpartition("/")[0]
    pair.decision = found.decision.value
    pair.decision_source = found.source.value if found.source else ""
    pair.problem = found.problem
    pair.not_accepted = why_not[pair.pk].value if pair.pk in why_not else ""
    pair.result_path = f"{folder}/{result_name(pair.ordinal, *read.names[pair.ordinal])}"
    return pair


def _accept(
    taken: Sequence[_Taken], request: IngestRequest, *, now: datetime
) -> dict[int, NotAccepted]:
    """Accept what may be; by pair key, why the others are not."""
    why_not: dict[int, NotAccepted] = {}
    candidates = []
    for each in taken:
        decision = each.item.decision.decision
        if each.plan.read.job.purpose == JobPurpose.TRIAL:
            why_not[each.item.pair.pk] = NotAccepted.TRIAL
        elif each.item.of_another_note:
            why_not[each.item.pair.pk] = NotAccepted.QUOTES_OF_ANOTHER_NOTE
        elif decision not in ACCEPTING_DECISIONS:
            why_not[each.item.pair.pk] = _UNDECIDED[decision]
        elif each.plan.contradicted:
            why_not[each.item.pair.pk] = NotAccepted.PARTITION_MISMATCH
        else:
            candidates.append(_candidate(each, actor=request.actor))
    for item in accept(candidates, now=now):
        if item.review_pair_id is not None:
            why_not[item.review_pair_id] = NotAccepted.SUPERSEDED
    return why_not


def _candidate(each: _Taken, *, actor: str) -> Acceptance:
    job, pair = each.plan.read.job, each.item.pair
    return Acceptance(
        note_id=pair.note_id,
        gate_id=pair.gate_id,
        model_partition_id=job.model_partition_id,
        note_snapshot_id=pair.note_snapshot_id,
        gate_snapshot_id=pair.gate_snapshot_id,
        kind=AcceptanceKind.FULL_REVIEW,
        decision=each.item.decision.decision,
        review_pair_id=pair.pk,
        text_read_at=job.created_at,
        actor=actor,
    )


def _findings(taken: Sequence[_Taken]) -> Iterator[Finding]:
    for each in taken:
        for finding in each.item.findings:
            finding.pair = each.item.pair
            yield finding
