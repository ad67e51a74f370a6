"""`run_review_jobs`: claims, runs and ingests queued jobs."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from review import conf, store
from review.conf import RULES_PARTITION
from review.contracts.jobs import LeftQueuedJson, RanJson
from review.errors import ExitCode, UsageRefused
from review.management.base import ReviewCommand
from review.management.ingest_output import (
    exit_code,
    job_lines,
    refusal_documents,
    refusal_lines,
)
from review.management.knowledge_base import open_corpus
from review.management.options import positive_int, word
from review.orchestration.running import RULES_RUNNER, RunResult, run_rules_jobs


class Command(ReviewCommand):
    """Run jobs with the embedded reviewer."""

    help = (
        "Claim queued jobs, run them and ingest what comes back. The runner `rules` is the"
        " embedded reviewer: it judges gates that name a `rule:`, without any model."
    )
    schema = "run-review-jobs/1"
    store_use = store.Use.WRITE
    examples = (
        "commonplace run_review_jobs --all --runner rules",
        "commonplace run_review_jobs 7 8 --runner rules --json",
    )
    exit_codes = {
        ExitCode.FAILED: "a job ended failed",
        ExitCode.CONFLICT: "a named job is not queued, or of another partition",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument("job_ids", nargs="*", type=positive_int, metavar="JOB_ID")
        parser.add_argument("--all", action="store_true", help="every queued job of the partition")
        parser.add_argument("--runner", required=True, choices=(RULES_RUNNER,))
        parser.add_argument("--runner-model", type=word)
        parser.add_argument("--runner-effort", type=word)
        parser.add_argument("--model-partition", type=word, metavar="P", default=RULES_PARTITION)
        parser.add_argument("--jobs", type=positive_int, metavar="N", help="rules run one by one")
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the named jobs, or all queued ones of the partition."""
        _check(options)
        config = conf.current()
        with open_corpus(config) as corpus:
            result = run_rules_jobs(
                options["job_ids"],
                actor=options["actor"],
                linker=corpus.linker,
                config=config,
                clock=timezone.now,
            )
        if self.as_json:
            self.write_json(_document(result))
        else:
            self._print(result)
        self.finish(exit_code(result.jobs, result.refused))

    def _print(self, result: RunResult) -> None:
        self.write_lines((*job_lines(result.jobs), *refusal_lines(result.refused)))
        for left in result.left_queued:
            self.write_lines([f"job {left.review_job_id}: left queued: {left.reason}"])
        if not (result.jobs or result.left_queued or result.refused):
            self.notice("no queued job of partition rules")


def _check(options: dict[str, Any]) -> None:
    if bool(options["job_ids"]) == options["all"]:
        raise UsageRefused("name the jobs to run, or give --all")
    named = {options["model_partition"], options["runner_model"] or RULES_PARTITION}
    if named != {RULES_PARTITION} or options["runner_effort"]:
        raise UsageRefused(
            f"the runner {RULES_RUNNER!r} is no model: its partition is {RULES_PARTITION!r},"
            " and it has no effort"
        )


def _document(result: RunResult) -> RanJson:
    return RanJson(
        jobs=list(result.jobs),
        left_queued=[
            LeftQueuedJson(review_job_id=left.review_job_id, reason=left.reason)
            for left in result.left_queued
        ],
        refused=refusal_documents(result.refused),
    )
