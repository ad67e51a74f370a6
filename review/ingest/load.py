"""Read what an ingest starts from, with every check that comes before the first write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from review.ingest.parse import names_of, parse_for_job, typed_output
from review.ingest.request import (
    IngestRequest,
    JobAlreadyCompleted,
    JobReplaced,
    NoBlocks,
    NoOutput,
    NothingMissing,
    ProvenanceDisagrees,
)
from review.job_files import ArtifactStore
from review.jobs.board import unknown_job
from review.jobs.provenance import validate_provenance
from review.models import Provenance, ReviewJob, ReviewPair, ReviewText
from review.protocol.output import ParsedOutput
from review.settings.config import Config
from review.vocabulary import JobStatus, PairStatus

_SHOWN = 3  # lines of an output that a refusal names


@dataclass(frozen=True)
class ReadJob:
    """A job that takes an output, its pairs in order, and what the output holds of them.

    :param names: note path and gate id of each pair, by ordinal.
    :param stored_texts: the review texts of the pairs that are completed already, by pair key.
    """

    job: ReviewJob
    pairs: Sequence[ReviewPair]
    names: dict[int, tuple[str, str]]
    raw: bytes
    parsed: ParsedOutput
    stored_texts: dict[int, str]

    @property
    def byte_size(self) -> int:
        """Bytes of the output and of the notes, which are in memory together."""
        notes = {pair.note_snapshot_id: pair.note_snapshot.byte_size for pair in self.pairs}
        return len(self.raw) + sum(notes.values())


class JobReader:
    """Reads jobs whose rows are fetched together."""

    def __init__(self, job_ids: Sequence[int], *, request: IngestRequest, config: Config) -> None:
        self._request = request
        self._config = config
        jobs = ReviewJob.objects.with_names().filter(pk__in=job_ids)
        self._jobs = {job.pk: job for job in jobs}
        self._pairs: dict[int, list[ReviewPair]] = {job_id: [] for job_id in self._jobs}
        pairs = ReviewPair.objects.filter(job_id__in=list(self._jobs)).select_related(
            "note", "gate", "note_snapshot", "gate_snapshot"
        )
        pairs = pairs.defer("note_snapshot__text", "gate_snapshot__text")
        for pair in pairs.order_by("job_id", "ordinal"):
            self._pairs[pair.job_id].append(pair)

    def read(self, job_id: int) -> ReadJob:
        """Return the job with its output; raises as `ingest_job` does."""
        if job_id not in self._jobs:
            raise unknown_job(job_id)
        job, pairs = self._jobs[job_id], self._pairs[job_id]
        _refuse_closed(job, pairs)
        _check_provenance(job, self._request, self._config)
        raw = _read_output(job, self._request, self._config)
        names = names_of(pairs, gates_folder=self._config.gates_folder)
        if self._request.typed:
            parsed = typed_output(self._request.typed, pairs=pairs)
        else:
            parsed = parse_for_job(raw, token=job.sentinel_token, names=names)
        if not parsed.has_own_blocks:
            raise _no_blocks(job, parsed)
        return ReadJob(job, pairs, names, raw, parsed, _stored_texts(pairs))


def _stored_texts(pairs: Sequence[ReviewPair]) -> dict[int, str]:
    done = [pair.pk for pair in pairs if pair.status == PairStatus.COMPLETED]
    if not done:
        return {}
    return dict(ReviewText.objects.filter(pair_id__in=done).values_list("pair_id", "text"))


def _refuse_closed(job: ReviewJob, pairs: Sequence[ReviewPair]) -> None:
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


def _check_provenance(job: ReviewJob, request: IngestRequest, config: Config) -> None:
    """Validate the flags of an ingest against the job, or against the claim it already has."""
    given = request.provenance
    if given is None:
        return
    if job.started_at is None:
        validate_provenance(
            job.model_partition.name, given, effort_unknown=request.effort_unknown, config=config
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


def _read_output(job: ReviewJob, request: IngestRequest, config: Config) -> bytes:
    """Return the output that was passed in, else that of the job's own file."""
    data = request.outputs.get(job.pk)
    where = "the given input"
    if data is None:
        where = job.bundle_output_path
        data = ArtifactStore(config).read_output(job.bundle_output_path)
    if data is None:
        raise NoOutput(
            f"job {job.pk}: no output file at {where}",
            hint="the worker writes it; then: commonplace ingest_bundle_output"
            f" --review-job-id {job.pk}",
        )
    if not data.strip():
        raise NoOutput(f"job {job.pk}: {where} is empty; nothing was moved")
    return data


def _no_blocks(job: ReviewJob, parsed: ParsedOutput) -> NoBlocks:
    """Name whose blocks the output holds, and the lines that look like sentinels of this job."""
    strangers = []
    for token in parsed.foreign_tokens:
        owner = ReviewJob.objects.filter(sentinel_token=token).values_list("pk", flat=True).first()
        strangers.append(f"token {token}" + (f" of job {owner}" if owner else ""))
    found = f"; it holds blocks with {', '.join(strangers)}" if strangers else ""
    almost = "; ".join((*parsed.misfits, *parsed.problems)[:_SHOWN])
    almost = f": {almost}" if almost else ""
    whole = "whole block" if almost else "block"
    token = job.sentinel_token
    return NoBlocks(
        f"job {job.pk}: no {whole} with this job's token {token} in the output{almost}{found}",
        hint=f"the worker must follow {job.prompt_path} and write {job.bundle_output_path}",
    )
