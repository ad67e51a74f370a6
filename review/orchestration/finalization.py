"""Takes a worker's output in: parse first, then one transaction that a kill cannot halve."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from review.artifacts import ArtifactNotWritten, ArtifactStore, result_name
from review.conf import Config
from review.contracts.jobs import IngestedJobJson
from review.domain.identity import gate_id_of
from review.models import (
    Claim,
    Ending,
    Evidence,
    Finding,
    JobEvent,
    JobOutput,
    PairReview,
    ReviewJob,
    ReviewPair,
    ReviewText,
)
from review.orchestration.accepting import Candidate, accept
from review.orchestration.ingest_checks import (
    check_provenance,
    no_blocks,
    read_output,
    refuse_closed,
)
from review.orchestration.ingest_request import IngestRequest, JobMoved
from review.orchestration.judging import (
    JudgedOutput,
    JudgedPair,
    judge_output,
    later_versions,
    parse_for_job,
)
from review.orchestration.mirroring import mirror
from review.orchestration.provenance import partition_contradicts, telemetry_models
from review.queries.ingested import by_pair, findings_of, show_ingested
from review.queries.job_board import require_job
from review.vocabulary import (
    ACCEPTING_DECISIONS,
    AcceptanceKind,
    Decision,
    FailureCode,
    JobStatus,
    NotAccepted,
    PairStatus,
)

_UNDECIDED = {
    Decision.ERROR: NotAccepted.DECISION_ERROR,
    Decision.UNKNOWN: NotAccepted.DECISION_UNKNOWN,
}

_LEFT = "its block was not taken: all or nothing, and another pair's is missing"


@dataclass(frozen=True)
class _Plan:
    """One job's ingest, settled before the transaction starts; `completed` pairs were so before."""

    job: ReviewJob
    completed: int
    output: JudgedOutput
    ending: Ending
    raw: bytes
    gate_ids: dict[int, str]
    actor: str
    contradicted: bool
    stored_texts: dict[int, str]


@dataclass(frozen=True)
class _Stored:
    """What is in the store by now: review texts by pair key, and the findings that are new."""

    texts: dict[int, str]
    findings: list[Finding]


def ingest_job(
    job_id: int, *, request: IngestRequest, config: Config, now: datetime
) -> IngestedJobJson:
    """Complete the job's pairs from its output, accept what they decide, and close the job.

    Complete pairs are kept when others are missing: the job is then `failed`, and a later ingest
    may bring the missing ones. Nothing moves when the output holds no block of this job.

    :raises UnknownJob: no job has this id.
    :raises JobAlreadyCompleted, JobReplaced, NothingMissing: the job takes no output any more.
    :raises JobMoved: another process moved the job while this one read the output.
    :raises NoOutput, NoBlocks: the output is absent, blank, or not this job's.
    :raises PartitionMismatch, ProvenanceDisagrees: the flags contradict the job or its claim.
    """
    job = require_job(job_id)
    pairs = _pairs(job)
    refuse_closed(job, pairs)
    check_provenance(job, request, config)
    raw = read_output(job, request, config)
    gate_ids = _gate_ids(pairs, config)
    parsed = parse_for_job(raw, token=job.sentinel_token, pairs=pairs, gate_ids=gate_ids)
    if not parsed.has_own_blocks:
        raise no_blocks(job, parsed)
    output = judge_output(parsed, pairs=pairs)
    stored_texts = _stored_texts(pairs)
    late = later_versions(parsed, pairs=pairs, stored=stored_texts)
    contradicted = partition_contradicts(
        job.model_partition.name, telemetry_models(request.telemetry), config=config
    )
    plan = _Plan(
        job=job,
        completed=sum(pair.status == PairStatus.COMPLETED for pair in pairs),
        output=output,
        ending=_ending(output, request, contradicted=contradicted),
        raw=raw,
        gate_ids=gate_ids,
        actor=request.actor,
        contradicted=contradicted,
        stored_texts=stored_texts,
    )
    with transaction.atomic():
        _move_job(plan, request, now=now)
        stored = _store_pairs(plan, now=now)
        if late or plan.output.missing:
            _keep_raw(plan, now=now)
    _forget_pending(pairs, _why_missing(plan))
    written = _mirror(plan, pairs, request, texts=stored.texts, config=config)
    problems = [*output.problems, *late, *written]
    return show_ingested(
        job,
        pairs,
        findings=findings_of(pairs) if stored_texts else by_pair(stored.findings),
        problems=problems,
        gates_folder=config.gates_folder,
    )


def _pairs(job: ReviewJob) -> list[ReviewPair]:
    related = ("note", "gate", "note_snapshot", "gate_snapshot")
    pairs = job.pairs.select_related(*related).order_by("ordinal")
    return list(pairs.defer("note_snapshot__text", "gate_snapshot__text"))


def _forget_pending(pairs: Sequence[ReviewPair], reasons: Mapping[int, str]) -> None:
    """What `mark_missing` did to the rows, done to the rows in memory."""
    for pair in pairs:
        if pair.status == PairStatus.PENDING:
            pair.status = PairStatus.MISSING
        if pair.status == PairStatus.MISSING:
            pair.problem = reasons.get(pair.ordinal, pair.problem)


def _why_missing(plan: _Plan) -> dict[int, str]:
    """By ordinal, why a pair has no review after this ingest."""
    left = plan.output.judged if plan.ending.code == FailureCode.ALL_OR_NOTHING else ()
    return {**dict.fromkeys((item.pair.ordinal for item in left), _LEFT), **plan.output.missing}


def _stored_texts(pairs: Sequence[ReviewPair]) -> dict[int, str]:
    done = [pair.pk for pair in pairs if pair.status == PairStatus.COMPLETED]
    if not done:
        return {}
    return dict(ReviewText.objects.filter(pair_id__in=done).values_list("pair_id", "text"))


def _gate_ids(pairs: Sequence[ReviewPair], config: Config) -> dict[int, str]:
    folder = config.gates_folder
    return {pair.pk: gate_id_of(pair.gate.path, gates_folder=folder) for pair in pairs}


def _ending(output: JudgedOutput, request: IngestRequest, *, contradicted: bool) -> Ending:
    if request.failure is not None:
        return Ending(JobStatus.FAILED, request.failure.code, request.failure.reason)
    if output.missing:
        names = "; ".join(f"pair {ordinal}: {why}" for ordinal, why in output.missing.items())
        code = FailureCode.ALL_OR_NOTHING if request.all_or_nothing else FailureCode.PAIRS_MISSING
        return Ending(JobStatus.FAILED, code, names)
    if contradicted:
        ran = ", ".join(telemetry_models(request.telemetry))
        return Ending(
            JobStatus.FAILED,
            FailureCode.PARTITION_MISMATCH,
            f"telemetry says {ran} ran; the reviews are kept as evidence and not accepted",
        )
    return Ending(JobStatus.COMPLETED)


def _move_job(plan: _Plan, request: IngestRequest, *, now: datetime) -> None:
    job, ending = plan.job, plan.ending
    leaving = JobStatus(job.status)
    # First, so that a job somebody else moved stops us before any other write.
    moved = ReviewJob.objects.close(
        job,
        leaving=leaving,
        ending=ending,
        evidence=Evidence(
            telemetry=dict(request.telemetry) if request.telemetry is not None else None,
            self_reported_model=plan.output.self_reported_model,
        ),
        claim=Claim(request.provenance, request.actor)
        if request.provenance is not None and job.started_at is None
        else None,
        now=now,
    )
    # A failed job can be left for failed again: then it is the pairs that tell of another ingest.
    if not moved or (leaving is JobStatus.FAILED and not _as_it_was(plan)):
        raise JobMoved(f"job {job.pk} was moved by another process; look at it again")
    JobEvent.objects.create(
        job=job,
        from_status=leaving,
        to_status=ending.status,
        actor=request.actor,
        note=ending.reason or "ingested",
        at=now,
    )


def _as_it_was(plan: _Plan) -> bool:
    return ReviewPair.objects.completed().filter(job=plan.job).count() == plan.completed


def _keep_raw(plan: _Plan, *, now: datetime) -> None:
    digest = hashlib.sha256(plan.raw).hexdigest()
    JobOutput.objects.get_or_create(
        job=plan.job, content_sha256=digest, defaults={"raw": plan.raw, "at": now}
    )


def _store_pairs(plan: _Plan, *, now: datetime) -> _Stored:
    judged = plan.output.judged
    if plan.ending.code == FailureCode.ALL_OR_NOTHING:
        judged = ()
    why_not = _accept(plan, judged, now=now)
    reviews = [(item.pair, _pair_review(plan, item, why_not.get(item.pair.pk))) for item in judged]
    if not ReviewPair.objects.complete(reviews, now=now):
        raise JobMoved(f"a pair of job {plan.job.pk} was completed by another process")
    ReviewText.objects.bulk_create([ReviewText(pair=item.pair, text=item.text) for item in judged])
    findings = Finding.objects.bulk_create(list(_findings(judged)), batch_size=100)
    if plan.output.missing or len(judged) < len(plan.output.judged):
        ReviewPair.objects.mark_missing(plan.job.pk, reasons=_why_missing(plan))
    texts = {item.pair.pk: item.text for item in judged}
    return _Stored(texts={**plan.stored_texts, **texts}, findings=findings)


def _pair_review(plan: _Plan, item: JudgedPair, why_not: NotAccepted | None) -> PairReview:
    folder = plan.job.prompt_path.rpartition("/")[0]
    name = result_name(item.pair.ordinal, item.pair.note.path, plan.gate_ids[item.pair.pk])
    return PairReview(
        decision=item.decision.decision,
        source=item.decision.source,
        problem=item.decision.problem,
        not_accepted=why_not,
        result_path=f"{folder}/{name}",
    )


def _accept(plan: _Plan, judged: Sequence[JudgedPair], *, now: datetime) -> dict[int, NotAccepted]:
    why_not = {
        item.pair.pk: _UNDECIDED[item.decision.decision]
        for item in judged
        if item.decision.decision not in ACCEPTING_DECISIONS
    }
    decided = [item for item in judged if item.pair.pk not in why_not]
    if plan.contradicted:
        return why_not | {item.pair.pk: NotAccepted.PARTITION_MISMATCH for item in decided}
    superseded = accept([_candidate(plan, item) for item in decided], now=now)
    return why_not | {
        item.review_pair_id: NotAccepted.SUPERSEDED
        for item in superseded
        if item.review_pair_id is not None
    }


def _candidate(plan: _Plan, item: JudgedPair) -> Candidate:
    pair = item.pair
    return Candidate(
        note_id=pair.note_id,
        gate_id=pair.gate_id,
        model_partition_id=plan.job.model_partition_id,
        note_snapshot_id=pair.note_snapshot_id,
        gate_snapshot_id=pair.gate_snapshot_id,
        kind=AcceptanceKind.FULL_REVIEW,
        decision=item.decision.decision,
        review_pair_id=pair.pk,
        text_read_at=plan.job.created_at,
        actor=plan.actor,
    )


def _findings(judged: Sequence[JudgedPair]) -> Iterator[Finding]:
    for item in judged:
        for finding in item.findings:
            yield Finding(
                pair=item.pair,
                ordinal=finding.ordinal,
                severity=finding.severity,
                text=finding.text,
                quote=finding.quote,
                note_line=finding.note_line,
                fingerprint=finding.fingerprint,
            )


def _mirror(
    plan: _Plan,
    pairs: Sequence[ReviewPair],
    request: IngestRequest,
    *,
    texts: Mapping[int, str],
    config: Config,
) -> list[str]:
    job = plan.job
    problems = []
    if job.pk in request.outputs:
        try:
            ArtifactStore(config).keep_input(job.bundle_output_path, plan.raw)
        except ArtifactNotWritten as refused:
            problems.append(refused.message)
    problems += mirror(job, pairs, texts=texts, config=config)
    told = plan.output.self_reported_model
    if told and partition_contradicts(job.model_partition.name, (told,), config=config):
        problems.append(
            f"the output says it was written by {told!r}, another model than the job's partition"
            f" {job.model_partition.name!r}: a claim, not provenance"
        )
    return problems
