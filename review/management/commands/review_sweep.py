"""`review_sweep`: reviews everything stale in a scope, with a runner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode, UsageRefused
from review.management.kit.command import ReviewCommand
from review.management.kit.options import positive_int
from review.management.kit.scope_options import add_scope_arguments, add_selection_options
from review.management.kit.sweep_options import (
    add_runner_options,
    add_sweep_options,
)
from review.vocabulary import Grouping


class Command(ReviewCommand):
    """Review what is stale."""

    help = (
        "Select what is stale, make jobs of it, and have a runner review them, several at once:"
        " a parent like any agent. Ctrl-C ends it in order: what is complete is kept. Jobs of a"
        " sweep that was killed are closed first, with what their runs had left."
    )
    schema = "review-sweep/1"
    store_use = store.Use.WRITE
    examples: ClassVar[Sequence[str]] = (
        "commonplace review_sweep --all-gates --runner rules --model rules",
        "commonplace review_sweep prose --runner claude-code --model claude-opus-4-6 --dry-run",
        "commonplace review_sweep --all-gates --runner codex --model gpt-5.1-codex@high --max-cost-usd 5 --wait-for-reset --json",
        "commonplace review_sweep --fix --note kb/notes/a.md --runner claude-code --apply",
    )
    exit_codes = {
        ExitCode.FAILED: "a job failed, pairs were left out as tried too often, or no more jobs could be made",
        ExitCode.CONFLICT: "the runner's model is of another partition, or the store refused an output",
        ExitCode.INPUT_REJECTED: "unknown gate, note or runner, or the runner is not installed",
        ExitCode.INTERRUPTED: "interrupted; running jobs were failed with what they had",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        add_scope_arguments(parser)
        add_runner_options(parser, model_required=False)
        add_selection_options(parser.add_argument_group("selection, as in review_target_selector"))
        parser.add_argument(
            "--grouping",
            choices=Grouping.values,
            default=Grouping.NOTE.value,
            help="a job for each note and lens, or for each gate",
        )
        parser.add_argument(
            "--batch-size", type=positive_int, metavar="N", help="notes in a gate's job (default 8)"
        )
        add_sweep_options(parser)
        fix = parser.add_argument_group("mending instead of reviewing")
        fix.add_argument(
            "--fix",
            action="store_true",
            help="have the runner edit a copy of each note with open findings, and show the diff",
        )
        fix.add_argument(
            "--apply", action="store_true", help="with --fix: put what changed into the notes"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        _check(options)
        from review.management.kit.sweep_command import run_fixes, run_sweep
        from review.management.output.sweep import sweep_exit_code, sweep_lines

        config = settings.current()
        if options["fix"]:
            answer = run_fixes(options, config=config)
        else:
            answer = run_sweep(self, options, config=config)
        answer.schema = self.schema
        if self.as_json:
            self.write_json(answer)
        else:
            self.write_lines(sweep_lines(answer))
        self.finish(sweep_exit_code(answer))


def _check(options: dict[str, Any]) -> None:
    if options["batch_size"] is not None and options["grouping"] == Grouping.NOTE:
        raise UsageRefused("--batch-size goes with --grouping gate")
    if options["apply"] and not options["fix"]:
        raise UsageRefused("--apply goes with --fix")
    if options["batch"] and options["fix"]:
        raise UsageRefused("--fix edits notes; a batch cannot")
    if options["model"] is None and not options["fix"]:
        raise UsageRefused(
            "a sweep reviews for one model partition",
            hint=f"add --model {'rules' if options['runner'] == 'rules' else 'and the name of the model'}",
        )
