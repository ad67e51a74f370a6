"""Prints the results of ingested jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from review.errors import ExitCode
from review.ingest.load import RefusedJob
from review.jobs.job_documents import IngestedJobJson, RefusalJson
from review.vocabulary import JobStatus


def job_lines(jobs: Iterable[IngestedJobJson], refused: Iterable[RefusedJob] = ()) -> Iterator[str]:
    """A line a job, one below it for each pair and each problem."""
    for job in jobs:
        why = f" ({job.failure_code}: {job.failure_reason})" if job.failure_code else ""
        yield f"job {job.review_job_id}: {job.status}{why}"
        for pair in job.pairs:
            held = pair.not_accepted_because
            note = f" (not accepted: {held})" if held else ""
            yield f"  {pair.note_path} {pair.gate_id}: {pair.decision or pair.pair_status}{note}"
        for problem in job.problems:
            yield f"  problem: {problem}"
    for item in refused:
        yield f"job {item.review_job_id}: refused: {item.error.message}"


def refusal_documents(refused: Iterable[RefusedJob]) -> list[RefusalJson]:
    return [RefusalJson.of(item.review_job_id, item.error) for item in refused]


def exit_code(jobs: Sequence[IngestedJobJson], refused: Sequence[RefusedJob]) -> ExitCode:
    """1 when a job ended failed, else that of the first refusal, else 0."""
    if any(job.status == JobStatus.FAILED for job in jobs):
        return ExitCode.FAILED
    return refused[0].error.exit_code if refused else ExitCode.DONE
