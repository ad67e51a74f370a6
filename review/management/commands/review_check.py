"""`review_check`: notes as they are, for hooks and continuous integration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.check.check import FAIL_ON, CheckRequest, check_notes
from review.errors import ExitCode, UsageRefused
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.options import partition, source, text
from review.management.kit.scope_options import add_scope_arguments
from review.management.output.check import FORMATS, write_report


class Command(ReviewCommand):
    help = (
        "Check notes as they are: gates with a rule are judged here and now, others by the reviews"
        " in the store and in kb/review.lock. Stores nothing, and needs no store, key or network."
    )
    schema = "review-check/1"
    examples = (
        "commonplace review_check --rules-only --note kb/notes/a.md",
        "commonplace review_check --since origin/main --new-only --fail-on warn problem",
        "commonplace review_check --format sarif --output review.sarif",
    )
    exit_codes = {
        ExitCode.FAILED: "Git cannot be started, or the output file could not be written",
        ExitCode.INPUT_REJECTED: "an unknown gate, note or revision, a shallow clone, or no folder"
        " for the output",
        ExitCode.GATE_TRIPPED: "--fail-on found something; `tripped` says what",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        many: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
        add_scope_arguments(parser)
        add(
            "--text", type=source, metavar="F", help="judge this in the place of the one note named"
        )
        add(
            "--since",
            type=text,
            metavar="REF",
            help="notes that differ from the merge base with REF",
        )
        add("--new-only", action="store_true", help="hide findings of the lock at that merge base")
        add("--baseline", type=source, metavar="FILE", help="compare with this lock instead")
        add(
            "--model", **many, type=partition, metavar="P", help="reviews of these partitions count"
        )
        add("--rules-only", action="store_true", help="only gates with a rule")
        add(
            "--fail-on",
            **many,
            choices=FAIL_ON,
            help="exit 6 on open findings, stale pairs, problems",
        )
        add("--format", choices=FORMATS, help="default: text; --json is json")
        add("--output", type=source, default="-", metavar="FILE", help="default: standard output")

    def use_of(self, options: Mapping[str, Any]) -> store.Use:
        """Return that a store is read if there is one; none is made."""
        return store.Use.READ if store.is_there() else store.Use.NONE

    def handle(self, *args: Any, **options: Any) -> None:
        if self.as_json and options["format"] not in (None, "json"):
            raise UsageRefused(f"--json and --format {options['format']} contradict each other")
        if options["text"] and (len(options["notes"]) != 1 or not options["rules_only"]):
            raise UsageRefused("--text goes with one --note, and with --rules-only")
        config, named = settings.current(), options["baseline"]
        has_store = store.is_there()
        request = CheckRequest(
            gates=() if options["all_gates"] else tuple(options["gates"]),
            notes=tuple(options["notes"]),
            text=self.read_input(options["text"]) if options["text"] else None,
            current_only=options["current_only"],
            since=options["since"],
            new_only=options["new_only"],
            baseline=self.read_input(named) if named else None,
            models=tuple(options["model"]),
            rules_only=options["rules_only"],
            fail_on=tuple(options["fail_on"]),
        )
        # A folder of reports is not made for the cache alone.
        use_cache = config.index_path.parent.is_dir()
        with open_corpus(config, use_cache=use_cache) as corpus:
            report = check_notes(corpus, request, config=config, store=has_store)
        shape = "json" if self.as_json else options["format"] or "text"
        write_report(self, report, shape=shape, output=options["output"])
        for notice in report.document.notices:
            self.notice(notice)
        self.finish(ExitCode.GATE_TRIPPED if report.document.tripped else ExitCode.DONE)
