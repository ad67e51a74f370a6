"""Takes workers' outputs in: parse first, then one transaction that a kill cannot halve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from review.artifacts import ArtifactNotWritten, ArtifactStore
from review.conf import Config
from review.contracts.jobs import FindingJson, IngestedJobJson
from review.models import ReviewPair, ReviewStore
from review.orchestration.ingest_plans import Plan, make_plan
from review.orchestration.ingest_reading import JobAsRead, JobReader
from review.orchestration.ingest_request import IngestRequest
from review.orchestration.ingest_storing import store_plans
from review.orchestration.judging import judge_output, read_blocks, with_findings
from review.orchestration.known_findings import KnownFindings
from review.orchestration.mirroring import mirror
from review.orchestration.provenance import partition_contradicts
from review.queries.ingested import by_pair, findings_of, show_ingested
from review.vocabulary import PairStatus


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
    read = JobReader([job_id], request=request, config=config).read(job_id)
    return ingest_together([read], request=request, config=config, now=now)[0]


def ingest_together(
    reads: Sequence[JobAsRead], *, request: IngestRequest, config: Config, now: datetime
) -> list[IngestedJobJson]:
    """`ingest_job` of jobs that are read already, in one transaction: as if one after the other.

    :raises JobMoved: another process moved one of them meanwhile; none of them is stored.
    """
    plans = _plans(reads, request, config)
    with transaction.atomic():
        stored = store_plans(plans, request, now=now)
    findings = by_pair(stored)
    store_id = ReviewStore.objects.identity()
    return [_finish(plan, findings, request, config=config, store_id=store_id) for plan in plans]


def _plans(reads: Sequence[JobAsRead], request: IngestRequest, config: Config) -> list[Plan]:
    reviews = [read_blocks(read.parsed, pairs=read.pairs) for read in reads]
    known = KnownFindings(
        [with_findings(read.pairs, said) for read, said in zip(reads, reviews, strict=True)]
    )
    plans = []
    for read, said in zip(reads, reviews, strict=True):
        output = judge_output(read.parsed, pairs=read.pairs, reviews=said, known=known)
        plan = make_plan(read, output, request=request, config=config)
        for item in plan.taken:
            known.add(item.pair, item.findings)
        plans.append(plan)
    return plans


def _finish(
    plan: Plan,
    findings: Mapping[int, list[FindingJson]],
    request: IngestRequest,
    *,
    config: Config,
    store_id: str,
) -> IngestedJobJson:
    """Write the files of a stored job, and report it."""
    read = plan.read
    _forget_pending(read.pairs, plan.why_missing)
    written = _mirror(plan, request, config=config, store_id=store_id)
    return show_ingested(
        read.job,
        read.pairs,
        findings=findings_of(read.pairs) if read.stored_texts else findings,
        problems=[*plan.output.problems, *plan.late, *written],
        gates_folder=config.gates_folder,
    )


def _forget_pending(pairs: Sequence[ReviewPair], reasons: Mapping[int, str]) -> None:
    """What `mark_missing` did to the rows, done to the rows in memory."""
    for pair in pairs:
        if pair.status == PairStatus.PENDING:
            pair.status = PairStatus.MISSING
        if pair.status == PairStatus.MISSING:
            pair.problem = reasons.get(pair.ordinal, pair.problem)


def _mirror(plan: Plan, request: IngestRequest, *, config: Config, store_id: str) -> list[str]:
    read, job = plan.read, plan.read.job
    problems = []
    if job.pk in request.outputs:
        try:
            ArtifactStore(config).keep_input(job.bundle_output_path, read.raw)
        except ArtifactNotWritten as refused:
            problems.append(refused.message)
    texts = read.stored_texts | {item.pair.pk: item.text for item in plan.taken}
    problems += mirror(job, read.pairs, texts=texts, config=config, store_id=store_id)
    told = plan.output.self_reported_model
    if told and partition_contradicts(job.model_partition.name, (told,), config=config):
        problems.append(
            f"the output says it was written by {told!r}, another model than the job's partition"
            f" {job.model_partition.name!r}: a claim, not provenance"
        )
    return problems
