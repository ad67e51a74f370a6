"""List review jobs with their pairs, oldest first.

commonplace review_job_list --status queued running --json
"""

from __future__ import annotations

from itertools import chain

from review.documents.base import count_by
from review.jobs.board import find_jobs, show_jobs
from review.jobs.job_documents import JobJson, JobListJson
from review.management.kit import LISTING, Lines, Option, Options, ReadingCommand, told
from review.management.kit.output import part_of, tail_lines
from review.vocabulary import JobStatus


class Command(ReadingCommand):
    arguments = {
        "--status ...": Option("only jobs in these states", JobStatus.values),
        "--model-partition P": "only jobs of this partition",
        **LISTING,
    }

    def run(self, options: Options) -> None:
        partition = options["model_partition"]
        found = find_jobs(statuses=options["status"], partitions=[partition] if partition else ())
        job_ids = found.values_list("pk", flat=True)
        part, following = part_of(job_ids, options, lambda job_id: (job_id,))
        jobs = show_jobs(job_ids if options["summary"] else part, config=self.config)
        document = JobListJson(jobs=jobs, next=following)
        if options["summary"]:
            words = {"status": "status", "partition": "model_partition", "lens": "lens"}
            document.jobs, document.summary = [], count_by(jobs, **words)
        lines = (line for job in document.jobs for line in _lines(job))
        self.show(document, chain(lines, tail_lines(document)))


def _lines(job: JobJson) -> Lines:
    taken = f", {job.claimed_by}" if job.claimed_by else ""
    return told(
        f"job {job.review_job_id}: {job.status}{taken} ({job.model_partition}, {job.lens}, "
        f"pairs: {job.pair_count}) {job.prompt_path}",
        f"  {job.failure_code}: {job.failure_reason}" if job.failure_reason else None,
    )
