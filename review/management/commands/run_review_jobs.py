"""`run_review_jobs`: claims, runs and ingests queued jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from review import settings
from review.errors import ExitCode, UsageRefused
from review.jobs.job_documents import RanJson
from review.management.kit.command import ReviewCommand
from review.management.kit.interrupt import stop_on_signals
from review.management.kit.options import duration, positive_int, word
from review.management.kit.sweep_command import run_chosen_jobs, run_watch
from review.management.kit.sweep_options import add_runner_option
from review.management.output.ingest import exit_code, job_lines, refusal_documents, refusal_lines
from review.sweeps.run_jobs import RunResult


class Command(ReviewCommand):
    help = (
        "Claim queued jobs, run them and ingest what comes back. The runner `rules` is the"
        " embedded reviewer: it judges gates that name a `rule:`, without any model."
    )
    schema = "run-review-jobs/1"
    examples = (
        "commonplace run_review_jobs --all --runner rules",
        "commonplace run_review_jobs 7 8 --runner claude-code --json",
        "commonplace run_review_jobs --all --runner codex --runner-model gpt-5.1-codex --jobs 2",
        "commonplace run_review_jobs --watch --runner codex --runner-model gpt-5.1-codex",
    )
    exit_codes = {
        ExitCode.FAILED: "a job ended failed",
        ExitCode.CONFLICT: "a named job is not queued, or of another partition",
        ExitCode.INPUT_REJECTED: "no such runner, or it is not installed",
        ExitCode.INTERRUPTED: "interrupted: the jobs that ran were failed with what they had",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "job_ids", nargs="*", type=positive_int, metavar="JOB_ID", help="queued jobs"
        )
        parser.add_argument("--all", action="store_true", help="every queued job of the partition")
        parser.add_argument(
            "--watch",
            action="store_true",
            help="run jobs as they are queued, on any number of machines, until asked to stop",
        )
        add_runner_option(parser)
        parser.add_argument(
            "--model-partition",
            type=word,
            metavar="P",
            help="the partition to run for (default: that of the jobs)",
        )
        parser.add_argument(
            "--jobs", type=positive_int, metavar="N", help="how many at once; rules run one by one"
        )
        parser.add_argument("--timeout", type=duration, metavar="15m", help="for each job")
        self.add_actor_option(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["job_ids"]) + options["all"] + options["watch"] != 1:
            raise UsageRefused("give one of: the jobs to run, --all, --watch")
        with stop_on_signals() as stop:
            if options["watch"]:
                result = run_watch(self, options, stop=stop, config=settings.current())
            else:
                result = run_chosen_jobs(options, stop=stop, config=settings.current())
        document = RanJson(
            jobs=result.jobs,
            left_queued=result.left_queued,
            refused=refusal_documents(result.refused),
            stopped_because=result.stopped_because,
            watched=dict(result.counts) if options["watch"] else None,
        )
        self.show(document, _lines(result))
        if not self.as_json:
            if result.stopped_because is not None:
                self.warn(f"stopped: {result.stopped_because}")
            if not (result.counts or result.jobs or result.left_queued or result.refused):
                self.notice("no queued job")
        if options["watch"]:  # which ends by being stopped, or for what every job would fail for
            self.finish(ExitCode.FAILED if result.stopped_because else ExitCode.DONE)
            return
        self.finish(
            ExitCode.INTERRUPTED if stop.is_set() else exit_code(result.jobs, result.refused)
        )


def _lines(result: RunResult) -> Iterator[str]:
    yield from (*job_lines(result.jobs), *refusal_lines(result.refused))
    for left in result.left_queued:
        yield f"job {left.review_job_id}: left queued: {left.reason}"
    if result.counts:
        yield ", ".join(f"{number} {word}" for word, number in result.counts.items())
