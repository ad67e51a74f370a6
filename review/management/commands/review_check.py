"""`review_check`: notes as they are, for hooks and continuous integration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode, UsageRefused
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.options import partition, path, source, text
from review.management.output.check import write_report


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
        ExitCode.INPUT_REJECTED: "an unknown gate, note or revision, or a clone that is shallow",
        ExitCode.GATE_TRIPPED: "--fail-on found something; `tripped` says what",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        from review.check.check import FailsOn
        from review.check.formats.registry import FORMATS

        many: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
        parser.add_argument(
            "gates",
            nargs="*",
            type=text,
            metavar="GATE_OR_BUNDLE",
            help="gate ids, gate paths or bundles; before --note (default: every gate)",
        )
        parser.add_argument("--all-gates", action="store_true", help="every gate there is")
        parser.add_argument(
            "--note", **many, type=text, metavar="PATH", help="notes and folders (default: all)"
        )
        parser.add_argument(
            "--text",
            type=source,
            metavar="F|-",
            help="judge this text in the place of the one note that is named, saved or not",
        )
        parser.add_argument(
            "--since",
            type=text,
            metavar="REF",
            help="only notes that differ from the merge base of HEAD and REF, or are untracked",
        )
        parser.add_argument(
            "--new-only",
            action="store_true",
            help="hide findings that the lock of that merge base, or the baseline, has",
        )
        parser.add_argument("--baseline", type=path, metavar="FILE", help="a lock to compare with")
        parser.add_argument(
            "--model", **many, type=partition, metavar="P", help="count reviews of these partitions"
        )
        parser.add_argument("--rules-only", action="store_true", help="only gates with a rule")
        parser.add_argument(
            "--fail-on",
            **many,
            choices=[level.value for level in FailsOn],
            help="exit 6 for an open fail; a warn or fail; a stale pair; a problem with a file",
        )
        parser.add_argument("--format", choices=FORMATS, help="default: text; --json is json")
        parser.add_argument(
            "--output", type=source, default="-", metavar="FILE", help="default: standard output"
        )

    def use_of(self, options: Mapping[str, Any]) -> store.Use:
        """Return that a store is read if there is one; none is made."""
        return store.Use.READ if store.is_there() else store.Use.NONE

    def handle(self, *args: Any, **options: Any) -> None:
        from review.check.check import CheckRequest, FailsOn, check_notes

        if options["gates"] and options["all_gates"]:
            raise UsageRefused("name gates, or give --all-gates, not both")
        if self.as_json and options["format"] not in (None, "json"):
            raise UsageRefused(f"--json and --format {options['format']} contradict each other")
        if options["text"] and (len(options["note"]) != 1 or not options["rules_only"]):
            raise UsageRefused("--text goes with one --note, and with --rules-only")
        config = settings.current()
        has_store = store.is_there()
        request = CheckRequest(
            gates=tuple(options["gates"]),
            notes=tuple(options["note"]),
            text=self.read_input(options["text"]) if options["text"] else None,
            since=options["since"],
            new_only=options["new_only"],
            baseline=options["baseline"],
            models=tuple(options["model"]),
            rules_only=options["rules_only"],
            fail_on=tuple(map(FailsOn, options["fail_on"])),
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
