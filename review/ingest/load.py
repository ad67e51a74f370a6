"""Read the outputs of jobs into the rows to store, with every check before the first write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from review.documents.base import grouped
from review.errors import Conflict, InputRejected, ReviewError
from review.ingest.parse import (
    KnownFindings,
    identify_findings,
    read_block,
    read_output,
    typed_output,
)
from review.job_files import ArtifactStore, OutputNotReadable, result_name
from review.jobs.board import unknown_job
from review.jobs.leases import LeaseLost
from review.jobs.provenance import check_provenance, contradicting_models
from review.models import Ending, Finding, Lease, Provenance, ReviewJob, ReviewPair, ReviewText
from review.protocol.decision import ParsedDecision, ReadReview
from review.protocol.output import NO_BLOCK, ParsedOutput
from review.protocol.quote_location import passage_lines, telling_quotes
from review.protocol.typed_review import TypedReview
from review.runners.outcome import RunnerFailure
from review.settings import Config
from review.vocabulary import (
    ACCEPTING_DECISIONS,
    Decision,
    FailureCode,
    JobPurpose,
    JobStatus,
    NotAccepted,
    PairStatus,
)


class JobAlreadyCompleted(Conflict): ...


class JobReplaced(Conflict): ...


class NothingMissing(Conflict): ...


class JobMoved(Conflict): ...


class NoOutput(InputRejected): ...


class NoBlocks(InputRejected): ...


_NOT_WHOLE = (OutputNotReadable, NoOutput, NoBlocks)


@dataclass(frozen=True)
class IngestRequest:
    """A request to ingest the output of a job, or of several.

    :param output: the output, if it is not in the job's own file.
    :param telemetry: evidence from the parent's harness, kept as it is.
    :param only_whole: ignore the jobs whose output lacks a block for a pair.
    :param failure: why the job fails, whatever its output holds: what is complete is kept.
    :param typed: the reviews of the one job as data, by ordinal; its output is then not parsed.
    """

    actor: str
    output: bytes | None = None
    provenance: Provenance | None = None
    effort_unknown: bool = False
    telemetry: Mapping[str, Any] | None = None
    all_or_nothing: bool = False
    only_whole: bool = False
    failure: RunnerFailure | None = None
    typed: Mapping[int, TypedReview] = field(default_factory=dict)
    lease: Lease | None = None


# Others cannot write meanwhile: for some hundredths of a second.
_PAIRS_PER_TRANSACTION = 300
_BYTES_PER_TRANSACTION = 2_000_000
_NOT_TAKEN = "its block was not taken: all or nothing, and another pair's is missing"


@dataclass
class Intake:
    """A job that takes an output, from its reading to the files that are written of it.

    :param said: the reviews that complete their pairs; `findings` are theirs.
    :param why_missing: by ordinal, why a pair has no review after it.
    :param keeps_raw: whether the output has something that the rows will not have.
    :param contradicted: whether telemetry names a model of another partition.
    """

    job: ReviewJob
    request: IngestRequest
    pairs: Sequence[ReviewPair]
    raw: bytes
    self_reported_model: str
    ending: Ending
    said: Mapping[ReviewPair, ReadReview]
    why_missing: Mapping[int, str]
    texts: dict[int, str]
    problems: list[str]
    keeps_raw: bool
    contradicted: bool
    findings: list[Finding] = field(default_factory=list)

    @cached_property
    def byte_size(self) -> int:
        """Bytes of the output and of the notes, which are in memory together."""
        notes = {pair.note_snapshot_id: pair.note_size for pair in self.pairs}
        return len(self.raw) + sum(notes.values())


def jobs_with_output(*, actor: str | None, config: Config) -> Iterator[int]:
    """Yield the open jobs, of `actor` or all, that have an output, oldest first."""
    of_actor = {} if actor is None else {"claimed_by": actor}
    jobs = ReviewJob.objects.open().filter(**of_actor).order_by("pk")
    store = ArtifactStore(config)
    for job_id, path in jobs.values_list("pk", "bundle_output_path"):
        if store.has_output(path):
            yield job_id


def read_jobs(
    job_ids: Sequence[int], request_of: Callable[[int], IngestRequest], *, config: Config
) -> Iterator[tuple[list[Intake], dict[int, ReviewError]]]:
    """Yield the jobs with the rows to store, in order, as many as one transaction takes.

    Beside them stands by its id what refuses a job.
    """
    jobs = ReviewJob.objects.with_names().in_bulk(job_ids)
    rows = ReviewPair.objects.filter(job_id__in=job_ids).with_names()
    pairs = grouped((pair.job_id, pair) for pair in rows)
    intakes: list[Intake] = []
    refused: dict[int, ReviewError] = {}
    for job_id in job_ids:
        try:
            if job_id not in jobs:
                raise unknown_job(job_id)
            intakes.append(_read(jobs[job_id], pairs[job_id], request_of(job_id), config))
        except ReviewError as error:
            if not (isinstance(error, _NOT_WHOLE) and request_of(job_id).only_whole):
                refused[job_id] = error
        if (
            sum(len(intake.pairs) for intake in intakes) >= _PAIRS_PER_TRANSACTION
            or sum(intake.byte_size for intake in intakes) >= _BYTES_PER_TRANSACTION
            or job_id == job_ids[-1]
        ):
            _make_rows(intakes)
            yield intakes, refused
            intakes, refused = [], {}


def _make_rows(intakes: Sequence[Intake]) -> None:
    """Say on the pairs what their reviews decide, and make the rows of their findings."""
    said = [item for intake in intakes for item in intake.said.items()]
    known = KnownFindings([pair for pair, review in said if review.findings])
    for intake in intakes:
        make_reviews(intake, known)


def _read(
    job: ReviewJob, pairs: Sequence[ReviewPair], request: IngestRequest, config: Config
) -> Intake:
    require_lease(job, request.lease)
    _refuse_closed(job, pairs)
    raw = _read_raw(job, request, config)
    names = {pair.ordinal: (pair.note_path, config.gate_id(pair.gate_path)) for pair in pairs}
    if request.typed:
        parsed = typed_output(request.typed, ordinals=names)
    else:
        parsed = read_output(job, raw, names)
    if not parsed.has_own_blocks or (request.only_whole and parsed.missing):
        raise _no_blocks(job, parsed, is_given=request.output is not None)
    done = [pair for pair in pairs if pair.status == PairStatus.COMPLETED]
    rows = ReviewText.objects.filter(pair__in=done).values_list("pair_id", "text")
    texts = dict(rows) if done else {}
    late = [*_later_versions(done, parsed, texts), *_unplaced(done, parsed)]
    waiting = {pair.ordinal: pair for pair in pairs if pair.status != PairStatus.COMPLETED}
    blocks = {pair: parsed.blocks[n] for n, pair in waiting.items() if n in parsed.blocks}
    missing = {n: parsed.missing[n] for n, pair in waiting.items() if pair not in blocks}
    others = contradicting_models(job.model_partition.name, request.telemetry, config=config)
    ending = _ending(missing, request, others)
    if request.provenance is not None:
        unknown = request.effort_unknown
        check_provenance(job, request.provenance, effort_unknown=unknown, config=config)
    if ending.code == FailureCode.ALL_OR_NOTHING:
        missing |= {pair.ordinal: _NOT_TAKEN for pair in blocks}
        blocks = {}
    folder = job.prompt_path.rpartition("/")[0]
    for pair in blocks:
        pair.result_path = f"{folder}/{result_name(pair.ordinal, *names[pair.ordinal])}"
    return Intake(
        job=job,
        request=request,
        pairs=pairs,
        raw=raw,
        self_reported_model=parsed.self_reported_model or "",
        ending=ending,
        said={pair: read_block(block) for pair, block in blocks.items()},
        why_missing=missing,
        texts=texts,
        problems=[*parsed.problems, *late],
        keeps_raw=bool(missing or late),
        contradicted=bool(others),
    )


def _later_versions(
    done: Sequence[ReviewPair], parsed: ParsedOutput, texts: Mapping[int, str]
) -> Iterator[str]:
    """Report new texts for pairs that are already completed; they are not taken."""
    for pair in done:
        block = parsed.blocks.get(pair.ordinal)
        if block and block.text != texts[pair.pk]:
            yield (
                f"pair {pair.ordinal} was completed as {pair.decision} before; this output has"
                f" another text for it, decided {read_block(block).decision.decision}: it was not"
                " taken, and is kept in the raw output"
            )


def _unplaced(done: Sequence[ReviewPair], parsed: ParsedOutput) -> Iterator[str]:
    """Report blocks that go to no pair which waits, where a pair is missing: one may be its."""
    for pair in done if parsed.missing else ():
        if (why := parsed.missing.get(pair.ordinal, NO_BLOCK)) != NO_BLOCK:
            yield f"a block of pair {pair.ordinal}, which has its review, was not taken: {why}"
    for token, owner in _owners(parsed).items() if parsed.missing else ():
        if owner is None:
            yield f"a block with token {token}, which no job has, was not taken"


def _ending(missing: Mapping[int, str], request: IngestRequest, others: Sequence[str]) -> Ending:
    if request.failure is not None:
        return Ending(JobStatus.FAILED, request.failure.code, request.failure.reason)
    if missing:
        names = "; ".join(f"pair {ordinal}: {why}" for ordinal, why in missing.items())
        code = FailureCode.ALL_OR_NOTHING if request.all_or_nothing else FailureCode.PAIRS_MISSING
        return Ending(JobStatus.FAILED, code, names)
    if others:
        why = "the reviews are not accepted; name that model, or make it an alias in kb/review.toml"
        reason = f"telemetry says {', '.join(others)} ran; {why}"
        return Ending(JobStatus.FAILED, FailureCode.PARTITION_MISMATCH, reason)
    return Ending(JobStatus.COMPLETED)


def require_lease(job: ReviewJob, lease: Lease | None) -> None:
    """Refuse a result whose claim holds the job no more."""
    is_fine = job.status in (JobStatus.RUNNING, JobStatus.COMPLETED)
    if lease is None or (job.claim_token == lease.token and is_fine):
        return
    now = job.status if job.claim_token == lease.token else f"taken over by {job.claimed_by}"
    hint = "nothing was stored; a worker keeps its lease while it runs and reaches the store"
    why = f"it is {now}; this result comes too late"
    raise LeaseLost(f"the lease of job {job.pk} ran out: {why}", hint=hint)


def _refuse_closed(job: ReviewJob, pairs: Sequence[ReviewPair]) -> None:
    if job.replacement_id is not None:
        raise JobReplaced(
            f"job {job.pk} was replaced by job {job.replacement_id} and takes no output any more",
            hint=f"discard it: job {job.replacement_id} is reviewed from its own prompt",
        )
    if job.status == JobStatus.COMPLETED:
        hint = f"read a review: commonplace render_review --review-pair-id {pairs[0].pk}"
        raise JobAlreadyCompleted(f"job {job.pk} is already completed", hint=hint)
    if all(pair.status == PairStatus.COMPLETED for pair in pairs):
        raise NothingMissing(
            f"job {job.pk} failed ({job.failure_code}) and none of its pairs waits for a review"
        )


def _read_raw(job: ReviewJob, request: IngestRequest, config: Config) -> bytes:
    """Return the output that was passed in, else that of the job's own file."""
    data, where = request.output, "the given input"
    if data is None:
        where = job.bundle_output_path
        data = ArtifactStore(config).read_output(where)
    if data is None:
        command = f"commonplace ingest_bundle_output --review-job-id {job.pk}"
        hint = f"the worker writes it; then: {command}"
        raise NoOutput(f"job {job.pk}: no output file at {where}", hint=hint)
    if not data.strip():
        raise NoOutput(f"job {job.pk}: {where} is empty; nothing was moved")
    return data


def _no_blocks(job: ReviewJob, parsed: ParsedOutput, *, is_given: bool) -> NoBlocks:
    """Name whose blocks the output holds, and the lines that look like sentinels of this job."""
    owners = _owners(parsed).items()
    strangers = [f"token {it}" + (f" of job {owner}" if owner else "") for it, owner in owners]
    found = f"; it holds blocks with {', '.join(strangers)}" if strangers else ""
    almost = "; ".join((*parsed.misfits, *parsed.problems)[:3])
    almost = f": {almost}" if almost else ""
    whole = "whole block" if almost else "block"
    token = job.sentinel_token
    way = "give the blocks to this command again" if is_given else f"write {job.bundle_output_path}"
    return NoBlocks(
        f"job {job.pk}: no {whole} with this job's token {token} in the output{almost}{found}",
        hint=f"copy the frames from the end of {job.prompt_path}, and {way}",
    )


def _owners(parsed: ParsedOutput) -> dict[str, int | None]:
    """Return the jobs of the foreign tokens; None for a token that no job has."""
    jobs = ReviewJob.objects.filter(sentinel_token__in=parsed.foreign_tokens)
    return dict.fromkeys(parsed.foreign_tokens) | dict(jobs.values_list("sentinel_token", "pk"))


def make_reviews(intake: Intake, known: KnownFindings) -> None:
    for pair, review in intake.said.items():
        decision = review.decision
        other = _note_of_quotes(pair, review, intake.pairs, known)
        if other is not None:
            problem = f"no quote of the review stands in {pair.note_path}; they stand in {other}"
            decision = ParsedDecision(Decision.UNKNOWN, None, problem)
        pair.decision = decision.decision.value
        pair.decision_source = decision.source.value if decision.source else ""
        pair.problem = decision.problem
        pair.not_accepted = _why_not(intake, decision.decision, of_another_note=other is not None)
        intake.texts[pair.pk] = review.text
        if review.findings:
            where = {"note_path": pair.note_path, "gate_path": pair.gate_path}
            text, earlier = known.note_text(pair), known.earlier(pair)
            found = identify_findings(review.findings, note_text=text, earlier=earlier, **where)
            known.add(pair, found)
            for finding in found:
                finding.pair = pair
            intake.findings += found


def _why_not(intake: Intake, decision: Decision, *, of_another_note: bool) -> str:
    """Return why a review is not accepted, whatever was accepted in the meantime."""
    if intake.job.purpose == JobPurpose.TRIAL:
        return NotAccepted.TRIAL.value
    if of_another_note:
        return NotAccepted.QUOTES_OF_ANOTHER_NOTE.value
    if decision not in ACCEPTING_DECISIONS:
        return NotAccepted(f"decision-{decision}").value
    return NotAccepted.PARTITION_MISMATCH.value if intake.contradicted else ""


def _note_of_quotes(
    pair: ReviewPair, review: ReadReview, pairs: Sequence[ReviewPair], known: KnownFindings
) -> str | None:
    """Return the path of another note of the job that contains quotes its own note lacks."""
    # A text that names a note may quote that one.
    told = [finding for finding in review.findings if finding.quote or ".md" not in finding.text]
    quotes = [quote for finding in told for quote in telling_quotes(finding)]

    def has_one(of: ReviewPair) -> bool:
        return any(passage_lines(known.note_text(of), quote) for quote in quotes)

    if not quotes or has_one(pair):
        return None
    others = {other.note_id: other for other in pairs if other.note_id != pair.note_id}
    return next((other.note_path for other in others.values() if has_one(other)), None)
