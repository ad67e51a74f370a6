"""`ingest_bundle_output`: takes a worker's output in."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.documents.base import NotThisDocument, decode
from review.documents.typed_reviews import ReviewBlockJson
from review.errors import ExitCode, InputRejected, UsageRefused
from review.ingest.ingest import Ingested, ingest_jobs
from review.ingest.request import IngestRequest
from review.ingest.typed import submit_reviews
from review.job_files import MAX_OUTPUT_BYTES
from review.jobs.job_documents import IngestedJson
from review.jobs.output_states import ready_job_ids
from review.jobs.provenance import names_no_model
from review.management.kit.command import ReviewCommand, request_of, require_option
from review.management.kit.options import positive_int, source
from review.management.kit.provenance_options import add_provenance_options, provenance_of
from review.management.output.ingest import exit_code, job_lines, refusal_documents, refusal_lines
from review.models import Provenance
from review.settings.config import Config

MAX_TELEMETRY_BYTES = 1_000_000


class BadTelemetry(InputRejected):
    """`--telemetry-json` is not a JSON object."""


class Command(ReviewCommand):
    help = "Read the review blocks a worker wrote, store them, and accept what they decide."
    schema = "ingest-bundle-output/1"
    examples = (
        "commonplace ingest_bundle_output --review-job-id 7 --json",
        "commonplace ingest_bundle_output --ready --json",
        "my-model < prompt.md | commonplace ingest_bundle_output --review-job-id 7 --input-file -",
    )
    exit_codes = {
        ExitCode.FAILED: "a job ended failed: a pair is missing; complete pairs were kept",
        ExitCode.CONFLICT: "completed or replaced job, or flags that contradict the claim",
        ExitCode.INPUT_REJECTED: "no output, or none of this job's blocks in it; nothing moved",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--review-job-id",
            type=positive_int,
            nargs="+",
            action="extend",
            metavar="N",
            help="jobs to ingest",
        )
        parser.add_argument(
            "--input-file",
            type=source,
            metavar="F|-",
            help="the output of the jobs that are named, where it is not in their own files;"
            " - is standard input",
        )
        parser.add_argument(
            "--typed-json",
            type=source,
            metavar="F|-",
            help="the reviews of the one job as JSON, a list of blocks, in the place of text",
        )
        parser.add_argument(
            "--ready",
            action="store_true",
            help="every open job of this actor whose output has a closed block for each pair",
        )
        parser.add_argument(
            "--all-actors",
            action="store_true",
            help="with --ready: jobs of all actors, and those nobody claimed",
        )
        add_provenance_options(parser, required=False)
        parser.add_argument(
            "--telemetry-json",
            type=source,
            metavar="F|-",
            help="evidence from the harness, a JSON object; a model named in it is held against the job",
        )
        parser.add_argument(
            "--all-or-nothing",
            action="store_true",
            help="complete no pair if one is missing; the raw output is kept",
        )
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        config = settings.current()
        request = self._request(options)
        job_ids = _each_once(options["review_job_id"]) or ready_job_ids(
            config=config, actor=None if options["all_actors"] else options["actor"]
        )
        if options["typed_json"]:
            result = self._submit(job_ids, options, config)
        else:
            result = ingest_jobs(job_ids, request=request, config=config, now=self.now)
        if len(job_ids) == 1 and result.refused:
            raise result.refused[0].error
        refused = refusal_documents(result.refused)
        self.show(
            IngestedJson(jobs=list(result.jobs), refused=refused),
            (*job_lines(result.jobs), *refusal_lines(result.refused)),
        )
        if not self.as_json and not job_ids:
            self.notice("no open job of yours has a finished output (see --all-actors)")
        self.finish(exit_code(result.jobs, result.refused))

    def _submit(self, job_ids: list[int], options: dict[str, Any], config: Config) -> Ingested:
        if len(job_ids) != 1 or options["input_file"]:
            raise UsageRefused("--typed-json goes with one --review-job-id, without --input-file")
        where = options["typed_json"]
        data = self.read_input(where, max_bytes=MAX_OUTPUT_BYTES)
        blocks = decode(data, list[ReviewBlockJson], source=f"--typed-json {where}")
        job = submit_reviews(
            job_ids[0], blocks, actor=options["actor"], config=config, now=self.now
        )
        return Ingested((job,), ())

    def _request(self, options: dict[str, Any]) -> IngestRequest:
        job_ids = _each_once(options["review_job_id"])
        if bool(job_ids) == options["ready"]:
            raise UsageRefused("give either --review-job-id N ... or --ready")
        require_option(options, "ready", "all_actors")
        if options["input_file"] == options["telemetry_json"] == "-":
            raise UsageRefused("--input-file and --telemetry-json cannot both read standard input")
        outputs: dict[int, bytes] = {}
        if options["input_file"]:
            if not job_ids:
                raise UsageRefused("--input-file goes with --review-job-id")
            data = self.read_input(options["input_file"], max_bytes=MAX_OUTPUT_BYTES)
            outputs = dict.fromkeys(job_ids, data)
        return request_of(
            IngestRequest,
            options,
            outputs=outputs,
            provenance=_provenance(options),
            telemetry=self._telemetry(options["telemetry_json"]),
        )

    def _telemetry(self, where: str | None) -> dict[str, Any] | None:
        if where is None:
            return None
        try:
            data = self.read_input(where, max_bytes=MAX_TELEMETRY_BYTES)
            telemetry = decode(data, dict[str, Any], source=f"--telemetry-json {where}")
        except NotThisDocument as error:
            raise BadTelemetry(error.message, hint="expected one JSON object") from error
        if names_no_model(telemetry):
            self.warn("--telemetry-json: its model is no name; nothing was held against the job")
        return telemetry


def _each_once(job_ids: list[int] | None) -> list[int]:
    return list(dict.fromkeys(job_ids or ()))


def _provenance(options: dict[str, Any]) -> Provenance | None:
    given = provenance_of(options)
    if given.runner is None and (given.runner_model or given.runner_effort):
        raise UsageRefused("--runner-model and --runner-effort need --runner")
    return given if given.runner else None
