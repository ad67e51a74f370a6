"""`review_status`: where the whole review stands."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.options import partition
from review.management.output.problems import problem_lines


class Command(ReviewCommand):
    """Show coverage, the queue, jobs and orphans."""

    help = (
        "Show how much is fresh for each model partition and gate, what waits in the queue, where"
        " jobs stand, and which accepted notes and gates are gone."
    )
    schema = "review-status/1"
    store_use = store.Use.READ
    examples = (
        "commonplace review_status",
        "commonplace review_status --model claude-opus-4-6 --json",
        "commonplace review_status --fail-on fail stale",
        "commonplace review_status --costs",
        "commonplace review_status --next",
    )
    exit_codes = {ExitCode.GATE_TRIPPED: "--fail-on found something; `tripped` says what"}

    def add_arguments(self, parser: CommandParser) -> None:
        """Which partition, and what trips."""
        from review.overview.status import FailOn

        parser.add_argument(
            "--model", type=partition, metavar="P", help="look at this model partition only"
        )
        parser.add_argument(
            "--fail-on",
            nargs="+",
            action="extend",
            default=[],
            choices=[level.value for level in FailOn],
            help="exit 6 when the queue holds a fail, a warn or fail, or when a pair is stale",
        )
        parser.add_argument(
            "--costs",
            action="store_true",
            help="and what reviews cost, by gate, lens, partition and runner, as far as it is known",
        )

        less = parser.add_mutually_exclusive_group().add_argument
        less("--next", action="store_true", help="only what to do next, each with its command")
        less("--summary", action="store_true", help="without the gates of partitions")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, print, and trip."""
        from review.jobs.costs import read_costs
        from review.management.output.status import cost_lines, status_lines
        from review.overview.next_steps import step_lines
        from review.overview.status import FailOn, read_status

        config = settings.current()
        with open_corpus(config) as corpus:
            status = read_status(
                corpus,
                model_partition=options["model"],
                fail_on=[FailOn(level) for level in options["fail_on"]],
                config=config,
                now=self.now,
            )
        if options["costs"]:
            status.costs = read_costs(model_partition=options["model"], config=config)
        if options["next"] or options["summary"]:
            for part in status.partitions:
                part.gates = []
        if self.as_json:
            self.write_json(status)
        elif options["next"]:
            self.write_lines(step_lines(status.next_steps))
        else:
            self.write_lines((*status_lines(status), *cost_lines(status.costs)))
            for line in problem_lines(status.problems):
                self.warn(line)
            for line in status.notices:
                # A build that reads no more than the exit code is at least told in its log.
                (self.warn if options["fail_on"] else self.notice)(line)
        self.finish(ExitCode.GATE_TRIPPED if status.tripped else ExitCode.DONE)
