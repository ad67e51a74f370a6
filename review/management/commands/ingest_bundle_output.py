"""Read the review blocks a worker wrote, store them, and accept what they decide.

commonplace ingest_bundle_output --review-job-id 7 --json
commonplace ingest_bundle_output --ready --json
my-model < prompt.md | commonplace ingest_bundle_output --review-job-id 7 --input-file -
"""

from __future__ import annotations

from typing import Any

from review.documents.base import NotThisDocument, ReviewBlockJson, decode
from review.errors import InputRejected, UsageRefused
from review.ingest.ingest import ingest_jobs, ingest_ready, submit_reviews
from review.ingest.load import IngestRequest
from review.job_files import MAX_OUTPUT_BYTES
from review.jobs.job_documents import IngestedJobJson, IngestedJson, RefusalJson, RefusedJob
from review.management.kit import (
    ACTOR,
    ExitCode,
    Option,
    Options,
    ReviewCommand,
    harness,
    refuse,
    request_of,
    require_option,
)
from review.management.kit.output import exit_code, job_lines
from review.models import Provenance
from review.protocol.telemetry import names_no_model

MAX_TELEMETRY_BYTES = 1_000_000
_NOTHING = "no open job of yours has a finished output (see --all-actors)"


class Command(ReviewCommand):
    exit_codes = {
        ExitCode.FAILED: "a job ended failed: a pair is missing; complete pairs were kept",
        ExitCode.CONFLICT: "completed or replaced job, or flags that contradict the claim",
        ExitCode.INPUT_REJECTED: "no output, or none of this job's blocks in it; nothing moved",
    }
    arguments = {
        "--review-job-id N...": Option("jobs to ingest", default=None),
        "--input-file F|-": "the output of the jobs that are named, where it is not in their own"
        " files; - is standard input",
        "--typed-json F|-": "the reviews of the one job as JSON, a list of blocks, in the place of"
        " text",
        "--ready": "every open job of this actor whose output has a closed block for each pair",
        "--all-actors": "with --ready: jobs of all actors, and those nobody claimed",
        **harness(required=False),
        "--telemetry-json F|-": "evidence from the harness, a JSON object; a model named in it is"
        " held against the job",
        "--all-or-nothing": "complete no pair if one is missing; the raw output is kept",
        **ACTOR,
    }

    def run(self, options: Options) -> None:
        request = self._request(options)
        if options["typed_json"]:
            jobs, refused = [self._submit(options)], list[RefusedJob]()
        elif options["ready"]:
            actor = None if options["all_actors"] else options["actor"]
            jobs, refused = ingest_ready(actor, request=request, config=self.config, now=self.now)
        else:
            jobs, refused = ingest_jobs(
                options["review_job_id"], request=request, config=self.config, now=self.now
            )
        if len(refused) == 1 and not jobs:
            raise refused[0].error
        told = [RefusalJson.of(item.review_job_id, item.error) for item in refused]
        self.show(
            IngestedJson(jobs=jobs, refused=told),
            job_lines(jobs, told),
            notices=[] if jobs or told else [_NOTHING],
            code=exit_code(jobs, told),
        )

    def _submit(self, options: Options) -> IngestedJobJson:
        job_ids = options["review_job_id"]
        if len(job_ids) != 1 or options["input_file"]:
            raise UsageRefused("--typed-json goes with one --review-job-id, without --input-file")
        where = options["typed_json"]
        data = self.read_input(where, max_bytes=MAX_OUTPUT_BYTES)
        blocks = decode(data, list[ReviewBlockJson], source=f"--typed-json {where}")
        actor, (job_id,) = options["actor"], job_ids
        return submit_reviews(job_id, blocks, actor=actor, config=self.config, now=self.now)

    def _request(self, options: Options) -> IngestRequest:
        options["review_job_id"] = job_ids = list(dict.fromkeys(options["review_job_id"] or ()))
        file, telemetry = options["input_file"], options["telemetry_json"]
        has_model = options["runner_model"] or options["runner_effort"]
        refuse({"give either --review-job-id N ... or --ready": bool(job_ids) == options["ready"]})
        require_option(options, "ready", "all_actors")
        refuse(
            {
                "--input-file and --telemetry-json cannot both read standard input": (
                    file == telemetry == "-"
                ),
                "--input-file goes with --review-job-id": file and not job_ids,
                "--runner-model and --runner-effort need --runner": (
                    options["runner"] is None and has_model
                ),
            }
        )
        data = self.read_input(file, max_bytes=MAX_OUTPUT_BYTES) if file else None
        return request_of(
            IngestRequest,
            options,
            output=data,
            provenance=request_of(Provenance, options) if options["runner"] else None,
            telemetry=self._telemetry(telemetry) if telemetry else None,
        )

    def _telemetry(self, where: str) -> dict[str, Any]:
        try:
            data = self.read_input(where, max_bytes=MAX_TELEMETRY_BYTES)
            telemetry = decode(data, dict[str, Any], source=f"--telemetry-json {where}")
        except NotThisDocument as error:
            raise InputRejected(
                error.message, "bad-telemetry", hint="expected one JSON object"
            ) from error
        if names_no_model(telemetry):
            self.warn("--telemetry-json: its model is no name; nothing was held against the job")
        return telemetry
