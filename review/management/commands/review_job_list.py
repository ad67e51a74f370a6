"""`review_job_list`: the jobs and their status."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from operator import attrgetter
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.documents.paging import count_by
from review.jobs.board import list_job_ids, show_jobs
from review.jobs.job_documents import JobJson, JobListJson
from review.management.kit.command import ReviewCommand
from review.management.kit.listing import add_listing_options, part_of, tail_lines
from review.management.kit.options import partition
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
        add_listing_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        job_ids = list_job_ids(
            statuses=[JobStatus(status) for status in options["status"]],
            model_partition=options["model_partition"] or "",
        )
        part = part_of(job_ids, options, lambda job_id: (job_id,))
        wanted = job_ids if options["summary"] else part
        document = JobListJson(jobs=show_jobs(wanted, gates_folder=settings.current().gates_folder))
        if options["summary"]:
            words = {"status": "status", "partition": "model_partition", "lens": "lens"}
            getters = {name: attrgetter(column) for name, column in words.items()}
            document.summary = count_by(document.jobs, **getters)
            document.jobs = []
        document.next = part.next
        lines = (line for job in document.jobs for line in _lines(job))
        self.show(document, chain(lines, tail_lines(document.summary, document.next)))


def _lines(job: JobJson) -> Iterator[str]:
    taken = f", {job.claimed_by}" if job.claimed_by else ""
    yield (
        f"job {job.review_job_id}: {job.status}{taken} ({job.model_partition}, {job.lens}, "
        f"pairs: {job.pair_count}) {job.prompt_path}"
    )
    if job.failure_reason:
        yield f"  {job.failure_code}: {job.failure_reason}"
