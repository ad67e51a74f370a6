"""`review_target_selector`: lists stale pairs and why they are."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from review import conf, store
from review.errors import ExitCode
from review.management.base import ReviewCommand
from review.management.knowledge_base import open_corpus
from review.management.options import positive_int, text, word
from review.management.problem_output import problem_lines
from review.management.selection_output import json_chunks, text_lines
from review.queries.targets import STALE, SelectionRequest, select_targets
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
        add_selection_arguments(parser)
        parser.add_argument("--current", action="store_true", help="notes with status: current")
        parser.add_argument("--model", type=word, metavar="PARTITION")
        parser.add_argument("--mode", choices=(STALE, REQUESTED), default=STALE)
        parser.add_argument("--reason", choices=Staleness.values, nargs="+", action="extend")
        parser.add_argument("--rules-only", action="store_true", help="gates that name a rule")
        parser.add_argument("--skip-trivial", action="store_true")
        parser.add_argument("--diff", action="store_true", default=None)
        parser.add_argument("--no-diff", action="store_false", dest="diff")
        parser.add_argument("--limit", type=positive_int, metavar="N")
        parser.add_argument("--no-cache", action="store_true", help="read every file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Select and print."""
        request = _request(options, as_json=self.as_json)
        with open_corpus(conf.current(), use_cache=not options["no_cache"]) as corpus:
            selection = select_targets(corpus, request)
            if self.as_json:
                self.write_json_chunks(json_chunks(selection))
            else:
                self.write_lines(text_lines(selection))
                for line in problem_lines(selection.problems):
                    self.warn(line)


def add_selection_arguments(parser: CommandParser) -> None:
    """Declare the options that name gates and notes; acks and sweeps have the same."""
    parser.add_argument("gates", nargs="*", type=text, metavar="GATE_OR_BUNDLE")
    parser.add_argument("--all-gates", action="store_true")
    parser.add_argument("--note", nargs="+", action="extend", type=text, metavar="PATH")


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
        skip_trivial=options["skip_trivial"],
        with_diffs=as_json if options["diff"] is None else options["diff"],
        limit=options["limit"],
    )
