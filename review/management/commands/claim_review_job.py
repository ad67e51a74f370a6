"""Take a queued review job, or the oldest ones, for a worker: queued becomes running. Of several
claims of one job exactly one succeeds.

    commonplace claim_review_job --next --runner claude-code --runner-model claude-opus-4-6 --json
    commonplace claim_review_job --review-job-id 7 --runner my-harness
"""

from __future__ import annotations

from review.jobs.claim import ClaimRequest, claim
from review.management import kit
from review.models import Provenance
from review.vocabulary import JobPurpose


class Command(kit.ReviewCommand):
    exit_codes = {
        kit.ExitCode.NOTHING_TO_DO: "--next found no queued job",
        kit.ExitCode.CONFLICT: "the job is not queued (the message says who has it), or the model makes another partition",
        kit.ExitCode.INPUT_REJECTED: "no such job, or no partition can be made of the model's name",
    }
    arguments = {
        "review-job-id": kit.OneOf(
            {"--review-job-id N": "this job", "--next": "the oldest queued job"}, required=True
        ),
        "--limit N": "with --next: up to N jobs (default 1)",
        "--model-partition P": "with --next: only jobs of this one",
        "--trial": "with --next: jobs of review_gate_test, which are passed over otherwise",
        **kit.harness(required=True),
        **kit.ACTOR,
    }

    def run(self, options: kit.Options) -> None:
        kit.require_option(options, "next", "limit", "model_partition", "trial")
        request = kit.request_of(
            ClaimRequest,
            options,
            job_id=options["review_job_id"],
            provenance=kit.request_of(Provenance, options),
            purpose=JobPurpose.TRIAL if options["trial"] else JobPurpose.REVIEW,
        )
        result = claim(request, config=self.config, now=self.now)
        lines = [
            f"claimed: job {job.review_job_id} ({job.model_partition}, pairs: {job.pair_count})\n"
            f"  read:  {job.prompt_path}\n  write: {job.bundle_output_path}"
            for job in result.jobs
        ]
        code = kit.ExitCode.DONE if result.claimed else kit.ExitCode.NOTHING_TO_DO
        self.show(result, lines or ["no queued job"], code=code)
