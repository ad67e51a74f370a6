"""`claim_review_job`: takes queued jobs for a worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.errors import ExitCode
from review.jobs.claim import ClaimRequest, claim
from review.jobs.job_documents import ClaimedJson
from review.management.kit.command import ReviewCommand, request_of, require_option
from review.management.kit.options import partition, positive_int
from review.management.kit.provenance_options import add_provenance_options, provenance_of
from review.vocabulary import JobPurpose


class Command(ReviewCommand):
    help = (
        "Take a queued review job, or the oldest ones, for a worker: queued becomes running. Of "
        "several claims of one job exactly one succeeds."
    )
    schema = "claim-review-job/1"
    examples = (
        "commonplace claim_review_job --next --runner claude-code --runner-model claude-opus-4-6 --json",
        "commonplace claim_review_job --review-job-id 7 --runner my-harness",
    )
    exit_codes = {
        ExitCode.NOTHING_TO_DO: "--next found no queued job",
        ExitCode.CONFLICT: "the job is not queued (the message says who has it), or the model makes another partition",
        ExitCode.INPUT_REJECTED: "no such job, or no partition can be made of the model's name",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--review-job-id", type=positive_int, metavar="N", help="this job")
        which.add_argument("--next", action="store_true", help="the oldest queued job")
        parser.add_argument(
            "--limit", type=positive_int, metavar="N", help="with --next: up to N jobs (default 1)"
        )
        parser.add_argument(
            "--model-partition",
            type=partition,
            metavar="P",
            help="with --next: only jobs of this one",
        )
        parser.add_argument(
            "--trial",
            action="store_true",
            help="with --next: jobs of review_gate_test, which are passed over otherwise",
        )
        add_provenance_options(parser, required=True)
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        require_option(options, "next", "limit", "model_partition", "trial")
        request = request_of(
            ClaimRequest,
            options,
            job_id=options["review_job_id"],
            provenance=provenance_of(options),
            purpose=JobPurpose.TRIAL if options["trial"] else JobPurpose.REVIEW,
        )
        result = claim(request, config=settings.current(), now=self.now)
        self.show(result, _lines(result))
        self.finish(ExitCode.DONE if result.claimed else ExitCode.NOTHING_TO_DO)


def _lines(result: ClaimedJson) -> Iterator[str]:
    for job in result.jobs:
        yield f"claimed: job {job.review_job_id} ({job.model_partition}, pairs: {job.pair_count})"
        yield f"  read:  {job.prompt_path}"
        yield f"  write: {job.bundle_output_path}"
    if not result.jobs:
        yield "no queued job"
