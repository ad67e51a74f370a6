"""`review_target_selector`: lists stale pairs and why they are."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.documents.problems import no_note_found
from review.errors import ExitCode
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.options import partition, positive_int
from review.management.kit.scope_options import add_scope_arguments
from review.management.output.problems import problem_lines
from review.management.output.selection import (
    json_chunks,
    left_out_lines,
    summary_line,
    text_lines,
)
from review.selection.select import STALE, SelectionRequest, select_targets
from review.vocabulary import REQUESTED, Staleness


class Command(ReviewCommand):
    """List the pairs to review."""

    help = "List the (note, gate) pairs that are stale for a model partition, and why."
    schema = "review-target-selector/1"
    store_use = store.Use.READ
    examples = (
        "commonplace review_target_selector --all-gates",
        "commonplace review_target_selector prose --model claude-opus-4-6 --note kb/notes --json",
        "commonplace review_target_selector --all-gates --model m --json | commonplace create_review_jobs --input - --grouping note",
    )
    exit_codes = {ExitCode.INPUT_REJECTED: "an unknown gate or note; near matches are named"}

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        add_scope_arguments(parser)
        parser.add_argument(
            "--model",
            type=partition,
            metavar="PARTITION",
            help="the partition to be fresh for; without it, pairs that no partition has reviewed",
        )
        parser.add_argument(
            "--mode",
            choices=(STALE, REQUESTED),
            default=STALE,
            help="requested lists every applicable pair, fresh or not (needs --model)",
        )
        parser.add_argument(
            "--reason",
            choices=Staleness.values,
            nargs="+",
            action="extend",
            help="only targets whose first reason is one of these",
        )
        rules = parser.add_mutually_exclusive_group()
        rules.add_argument(
            "--rules-only", action="store_true", help="only gates that name a rule: judged for free"
        )
        rules.add_argument(
            "--skip-rules", action="store_true", help="only gates that name no rule: for models"
        )
        parser.add_argument(
            "--skip-trivial",
            action="store_true",
            help="leave out note changes that the gate does not watch, or tolerates",
        )
        parser.add_argument(
            "--diff",
            action="store_true",
            default=None,
            help="with diffs from the accepted texts (--json has them unless --no-diff)",
        )
        parser.add_argument("--no-diff", action="store_false", dest="diff", help="without diffs")
        parser.add_argument(
            "--limit", type=positive_int, metavar="N", help="at most N targets; counts stay whole"
        )
        parser.add_argument(
            "--no-cache",
            action="store_true",
            help="read every file: for network shares, where no modification time can be trusted",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Select and print."""
        request = _request(options, as_json=self.as_json)
        config = settings.current()
        with open_corpus(config, use_cache=not options["no_cache"]) as corpus:
            selection = select_targets(corpus, request)
            if self.as_json:
                self.write_json_chunks(json_chunks(selection))
            else:
                self.write_lines(text_lines(selection))
                for line in problem_lines(selection.problems):
                    self.warn(line)
                for rename in selection.renames():
                    self.notice(rename.line)
                for line in left_out_lines(selection.left_out):
                    self.notice(line)
                self.notice(summary_line(selection))
        if not selection.has_notes:
            self.notice(no_note_found(request.notes or config.note_roots))


def _request(options: dict[str, Any], *, as_json: bool) -> SelectionRequest:
    return SelectionRequest(
        gates=tuple(options["gates"]),
        all_gates=options["all_gates"],
        notes=tuple(options["note"] or ()),
        current_only=options["current"],
        model_partition=options["model"],
        mode=options["mode"],
        reasons=tuple(Staleness(reason) for reason in options["reason"] or ()),
        rules_only=options["rules_only"],
        skip_rules=options["skip_rules"],
        skip_trivial=options["skip_trivial"],
        with_diffs=as_json if options["diff"] is None else options["diff"],
        limit=options["limit"],
    )
