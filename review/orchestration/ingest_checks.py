"""What must hold before an output is taken in; every refusal comes before the first write."""

from __future__ import annotations

from collections.abc import Sequence

from review.artifacts import ArtifactStore
from review.conf import Config
from review.models import Provenance, ReviewJob, ReviewPair
from review.orchestration.ingest_request import (
    IngestRequest,
    JobAlreadyCompleted,
    JobReplaced,
    NoBlocks,
    NoOutput,
    NothingMissing,
    ProvenanceDisagrees,
)
from review.orchestration.provenance import validate_provenance
from review.protocol.parser import ParsedOutput
from review.vocabulary import JobStatus, PairStatus

_TOLD = 3  # lines of an output that a refusal points at


def refuse_closed(job: ReviewJob, pairs: Sequence[ReviewPair]) -> None:
    """Refuse a job that takes no output any more.

    :raises JobReplaced, JobAlreadyCompleted, NothingMissing: as their names say.
    """
    if job.replacement_id is not None:
        raise JobReplaced(
            f"job {job.pk} was replaced by job {job.replacement_id} and takes no output any more",
            hint=f"discard it: job {job.replacement_id} is reviewed from its own prompt",
        )
    if job.status == JobStatus.COMPLETED:
        raise JobAlreadyCompleted(
            f"job {job.pk} is already completed",
            hint=f"read a review: commonplace render_review --review-pair-id {pairs[0].pk}",
        )
    if all(pair.status == PairStatus.COMPLETED for pair in pairs):
        raise NothingMissing(
            f"job {job.pk} failed ({job.failure_code}) and none of its pairs waits for a review"
        )


def check_provenance(job: ReviewJob, request: IngestRequest, config: Config) -> None:
    """Validate the flags of an ingest against the job, or against the claim it already has.

    :raises PartitionMismatch, ProvenanceDisagrees: they contradict it.
    """
    given = request.provenance
    if given is None:
        return
    if job.started_at is None:
        validate_provenance(
            job.model_partition.name,
            given,
            effort_unknown=request.effort_unknown,
            config=config,
        )
        return
    claimed = Provenance(job.runner, job.runner_model, job.runner_effort)
    for name in ("runner", "runner_model", "runner_effort"):
        said, recorded = getattr(given, name), getattr(claimed, name)
        if said is not None and said != recorded:
            option = f"--{name.replace('_', '-')}"
            claim = f"without {option}" if recorded is None else f"with {option} {recorded!r}"
            raise ProvenanceDisagrees(
                f"job {job.pk} was claimed {claim}, not with {said!r}",
                hint="leave the flag out: the claim's provenance stands",
            )


def read_output(job: ReviewJob, request: IngestRequest, config: Config) -> bytes:
    """The bytes to ingest: what was handed in, else the job's own output file.

    :raises NoOutput: there are none, or only blanks.
    """
    data = request.outputs.get(job.pk)
    where = "the given input"
    if data is None:
        where = job.bundle_output_path
        data = ArtifactStore(config).read_output(job.bundle_output_path)
    if data is None:
        raise NoOutput(
            f"job {job.pk}: no output file at {where}",
            hint="the worker writes it; ingest again when it is there",
        )
    if not data.strip():
        raise NoOutput(f"job {job.pk}: {where} is empty; nothing was moved")
    return data


def no_blocks(job: ReviewJob, parsed: ParsedOutput) -> NoBlocks:
    """The refusal of an output without a block of this job.

    Names whose blocks it holds, and the lines that look like sentinels of this job.
    """
    strangers = []
    for token in parsed.foreign_tokens:
        owner = ReviewJob.objects.filter(sentinel_token=token).values_list("pk", flat=True).first()
        strangers.append(f"token {token}" + (f" of job {owner}" if owner else ""))
    found = f"; it holds blocks with {', '.join(strangers)}" if strangers else ""
    almost = "; ".join((*parsed.misfits, *parsed.problems)[:_TOLD])
    almost = f": {almost}" if almost else ""
    whole = "whole block" if almost else "block"
    token = job.sentinel_token
    return NoBlocks(
        f"job {job.pk}: no {whole} with this job's token {token} in the output{almost}{found}",
        hint=f"the worker must follow {job.prompt_path} and write {job.bundle_output_path}",
    )
