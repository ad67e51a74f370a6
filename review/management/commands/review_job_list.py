"""`review_job_list`: the jobs and where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.jobs.board import list_job_ids, show_jobs
from review.jobs.job_documents import JobJson, JobListJson
from review.management.kit.command import ReviewCommand
from review.management.kit.options import partition, positive_int
from review.vocabulary import JobStatus


class Command(ReviewCommand):
    help = "List review jobs with their pairs, oldest first."
    schema = "review-job-list/1"
    store_use = store.Use.READ
    examples = ("commonplace review_job_list --status queued running --json",)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--status",
            nargs="+",
            action="extend",
            choices=JobStatus.values,
            default=[],
            help="only jobs in these states",
        )
        parser.add_argument(
            "--model-partition", type=partition, metavar="P", help="only jobs of this partition"
        )
        parser.add_argument("--limit", type=positive_int, metavar="N", help="at most N jobs")

    def handle(self, *args: Any, **options: Any) -> None:

        job_ids = list_job_ids(
            statuses=[JobStatus(status) for status in options["status"]],
            model_partition=options["model_partition"] or "",
            limit=options["limit"],
        )
        jobs = show_jobs(job_ids, gates_folder=settings.current().gates_folder)
        self.show(JobListJson(jobs=jobs), (line for job in jobs for line in _lines(job)))


def _lines(job: JobJson) -> Iterator[str]:
    taken = f", {job.claimed_by}" if job.claimed_by else ""
    yield (
        f"job {job.review_job_id}: {job.status}{taken} ({job.model_partition}, {job.lens}, "
        f"pairs: {job.pair_count}) {job.prompt_path}"
    )
    if job.failure_reason:
        yield f"  {job.failure_code}: {job.failure_reason}"
