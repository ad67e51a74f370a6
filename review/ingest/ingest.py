"""Ingest workers' outputs: parse first, then one transaction for a few dozen jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError, transaction

from review.errors import ReviewError, TryAgain
from review.ingest.ingested_jobs import by_pair, findings_of, show_ingested
from review.ingest.known_findings import KnownFindings
from review.ingest.load import JobReader, ReadJob
from review.ingest.parse import NewReview, later_versions, make_reviews, read_blocks
from review.ingest.request import IngestRequest
from review.ingest.store import Plan, store_plans
from review.job_files import ArtifactNotWritten, ArtifactStore
from review.jobs.job_documents import FindingJson, IngestedJobJson
from review.jobs.mirror import JobFiles
from review.jobs.provenance import (
    partition_contradicts,
    telemetry_contradicts,
    telemetry_models,
)
from review.models import Ending, ReviewStore, batched
from review.protocol.telemetry import output_tokens_by_model
from review.settings.config import Config
from review.store import refusal_of
from review.vocabulary import FailureCode, JobStatus, PairStatus

# A kill leaves the files of so many jobs behind the store: a sweep that starts looks at four times as many.
JOBS_PER_TRANSACTION = 25
# Others cannot write meanwhile: for some hundredths of a second.
_PAIRS_PER_TRANSACTION = 100
_BYTES_PER_TRANSACTION = 2_000_000
# SQLSTATE class: the server rolled the transaction back for the sake of another one.
_ROLLED_BACK = "40"
_NOT_TAKEN = "its block was not taken: all or nothing, and another pair's is missing"


@dataclass(frozen=True)
class RefusedJob:
    """A job whose output was not ingested, and why."""

    review_job_id: int
    error: ReviewError


@dataclass(frozen=True)
class Ingested:
    """The jobs that were ingested, and those that were refused."""

    jobs: tuple[IngestedJobJson, ...]
    refused: tuple[RefusedJob, ...]


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
    return _ingest_chunk([read], request=request, config=config, now=now)[0]


def ingest_jobs(
    job_ids: Iterable[int], *, request: IngestRequest, config: Config, now: datetime
) -> Ingested:
    """Ingest each job once, in the order given; refusals are reported, not raised.

    Jobs are stored in transactions of a few dozen. If one is refused, the jobs of its transaction
    are stored one by one.
    """
    answers: dict[int, IngestedJobJson | RefusedJob] = {}
    for some in batched(dict.fromkeys(job_ids), JOBS_PER_TRANSACTION):
        reader = JobReader(some, request=request, config=config)
        for chunk in _chunks(some, reader, answers):
            try:
                ingested = _ingest_chunk(chunk, request=request, config=config, now=now)
            except (ReviewError, DatabaseError) as error:
                if not _may_concern_one_job(error):
                    raise
                for read in chunk:
                    try:
                        answers[read.job.pk] = ingest_job(
                            read.job.pk, request=request, config=config, now=now
                        )
                    except ReviewError as refused:
                        answers[read.job.pk] = RefusedJob(read.job.pk, refused)
            else:
                answers |= {document.review_job_id: document for document in ingested}
    in_order = [answers[job_id] for job_id in dict.fromkeys(job_ids)]
    return Ingested(
        tuple(item for item in in_order if isinstance(item, IngestedJobJson)),
        tuple(item for item in in_order if isinstance(item, RefusedJob)),
    )


def _chunks(
    job_ids: Sequence[int], reader: JobReader, answers: dict[int, IngestedJobJson | RefusedJob]
) -> Iterator[list[ReadJob]]:
    """Yield the jobs that take an output, in lists for one transaction each."""
    chunk: list[ReadJob] = []
    for job_id in job_ids:
        try:
            chunk.append(reader.read(job_id))
        except ReviewError as error:
            answers[job_id] = RefusedJob(job_id, error)
        if (
            sum(len(read.pairs) for read in chunk) >= _PAIRS_PER_TRANSACTION
            or sum(read.byte_size for read in chunk) >= _BYTES_PER_TRANSACTION
        ):
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _may_concern_one_job(error: ReviewError | DatabaseError) -> bool:
    """Return whether the other jobs should be retried one by one: not if the store is unreachable."""
    known = refusal_of(error) if isinstance(error, DatabaseError) else error
    state = str(getattr(error.__cause__, "sqlstate", None) or "")
    return not isinstance(known, TryAgain) or state.startswith(_ROLLED_BACK)


def _ingest_chunk(
    reads: Sequence[ReadJob], *, request: IngestRequest, config: Config, now: datetime
) -> list[IngestedJobJson]:
    """Ingest jobs that are read already, in one transaction, as if one after the other.

    :raises JobMoved: another process moved one of them meanwhile; none of them is stored.
    """
    plans = _plan(reads, request, config)
    with transaction.atomic():
        stored = store_plans(plans, request, now=now)
    findings, store_id = by_pair(stored), ReviewStore.objects.identity()
    return [_finish(plan, findings, request, config=config, store_id=store_id) for plan in plans]


def _plan(reads: Sequence[ReadJob], request: IngestRequest, config: Config) -> list[Plan]:
    blocks = [read_blocks(read.parsed, pairs=read.pairs) for read in reads]
    known = KnownFindings(
        [
            [pair for pair in read.pairs if pair.pk in said and said[pair.pk].findings]
            for read, said in zip(reads, blocks, strict=True)
        ]
    )
    plans = []
    for read, said in zip(reads, blocks, strict=True):
        reviews = make_reviews(said, pairs=read.pairs, known=known)
        plan = _plan_of(read, reviews, request=request, config=config)
        for review in plan.taken:
            known.add(review.pair, review.findings)
        plans.append(plan)
    return plans


def _plan_of(
    read: ReadJob, reviews: tuple[NewReview, ...], *, request: IngestRequest, config: Config
) -> Plan:
    partition = read.job.model_partition.name
    contradicted = telemetry_contradicts(partition, request.telemetry, config=config)
    brought = {review.pair.ordinal for review in reviews}
    missing = {
        pair.ordinal: read.parsed.missing.get(pair.ordinal, "no block for this pair")
        for pair in read.pairs
        if pair.status != PairStatus.COMPLETED and pair.ordinal not in brought
    }
    ending = _ending(missing, request, contradicted=contradicted)
    not_taken = ending.code == FailureCode.ALL_OR_NOTHING
    return Plan(
        read=read,
        taken=() if not_taken else reviews,
        why_missing=missing | (dict.fromkeys(brought, _NOT_TAKEN) if not_taken else {}),
        keeps_raw=bool(missing),
        ending=ending,
        contradicted=contradicted,
        late=later_versions(read.parsed, pairs=read.pairs, stored=read.stored_texts),
    )


def _ending(missing: Mapping[int, str], request: IngestRequest, *, contradicted: bool) -> Ending:
    if request.failure is not None:
        return Ending(JobStatus.FAILED, request.failure.code, request.failure.reason)
    if missing:
        names = "; ".join(f"pair {ordinal}: {why}" for ordinal, why in missing.items())
        code = FailureCode.ALL_OR_NOTHING if request.all_or_nothing else FailureCode.PAIRS_MISSING
        return Ending(JobStatus.FAILED, code, names)
    if contradicted:
        models = output_tokens_by_model(request.telemetry) or telemetry_models(request.telemetry)
        return Ending(
            JobStatus.FAILED,
            FailureCode.PARTITION_MISMATCH,
            f"telemetry says {', '.join(models)} ran; the reviews are kept as evidence and not accepted",
        )
    return Ending(JobStatus.COMPLETED)


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
    for pair in read.pairs:  # what `mark_missing` did to the rows
        if pair.status == PairStatus.PENDING:
            pair.status = PairStatus.MISSING
        if pair.status == PairStatus.MISSING:
            pair.problem = plan.why_missing.get(pair.ordinal, pair.problem)
    problems = [*read.parsed.problems, *plan.late]
    if read.job.pk in request.outputs:
        try:
            ArtifactStore(config).keep_input(read.job.bundle_output_path, read.raw)
        except ArtifactNotWritten as refused:
            problems.append(refused.message)
    texts = read.stored_texts | {review.pair.pk: review.text for review in plan.taken}
    problems += JobFiles(read.job, read.pairs, texts, config, store_id).write()
    claimed = read.parsed.self_reported_model
    if claimed and partition_contradicts(read.job.model_partition.name, (claimed,), config=config):
        problems.append(
            f"the output says it was written by {claimed!r}, another model than the job's partition"
            f" {read.job.model_partition.name!r}: a claim, not provenance"
        )
    return show_ingested(
        read.job,
        read.pairs,
        findings=findings_of(read.pairs) if read.stored_texts else findings,
        problems=problems,
        gates_folder=config.gates_folder,
    )
