"""Claim queued jobs, run them and ingest what comes back. The runner `rules` is the embedded
reviewer: it judges gates that name a `rule:`, without any model.

    commonplace run_review_jobs --all --runner rules
    commonplace run_review_jobs 7 8 --runner claude-code --json
    commonplace run_review_jobs --all --runner codex --runner-model gpt-5.1-codex --jobs 2
    commonplace run_review_jobs --watch --runner codex --runner-model gpt-5.1-codex
"""

from __future__ import annotations

from review.jobs.job_documents import RanJson
from review.management.kit import (
    ACTOR,
    ExitCode,
    Lines,
    Option,
    Options,
    ReviewCommand,
    UsageRefused,
    runner,
    told,
    word,
)
from review.management.kit.output import exit_code, job_lines
from review.management.kit.sweeping import run_queued_jobs, stop_on_signals


class Command(ReviewCommand):
    exit_codes = {
        ExitCode.FAILED: "a job ended failed",
        ExitCode.CONFLICT: "a named job is not queued, or of another partition",
        ExitCode.INPUT_REJECTED: "no such runner, or it is not installed",
        ExitCode.INTERRUPTED: "interrupted: the jobs that ran were failed with what they had",
    }
    arguments = {
        "[job_ids JOB_ID...]": "queued jobs",
        "--all": "every queued job of the partition",
        "--watch": "run jobs as they are queued, on any number of machines, until asked to stop",
        **runner(required=True),
        "--model-partition P": Option(
            "the partition to run for (default: that of the jobs)", type=word
        ),
        "--jobs N": "how many at once; rules run one by one",
        "--timeout 15m": "for each job",
        **ACTOR,
    }

    def run(self, options: Options) -> None:
        if bool(options["job_ids"]) + options["all"] + options["watch"] != 1:
            raise UsageRefused("give one of: the jobs to run, --all, --watch")
        with stop_on_signals() as stop:
            result = run_queued_jobs(self, options, stop=stop)
        lines, stopped = [*_lines(result)], result.stopped_because
        code = ExitCode.INTERRUPTED if stop.is_set() else exit_code(result.jobs, result.refused)
        if options["watch"]:  # which ends by being stopped, or for what every job would fail for
            code = ExitCode.FAILED if stopped else ExitCode.DONE
        self.show(
            result,
            lines,
            warnings=[] if stopped is None else [f"stopped: {stopped}"],
            notices=[] if lines else ["no queued job"],
            code=code,
        )


def _lines(result: RanJson) -> Lines:
    return told(
        job_lines(result.jobs, result.refused),
        (f"job {left.review_job_id}: left queued: {left.reason}" for left in result.left_queued),
        ", ".join(f"{number} {word}" for word, number in (result.watched or {}).items()) or None,
    )
