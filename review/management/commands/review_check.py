"""Check notes as they are: gates with a rule are judged here and now, others by the reviews in the
store and in kb/review.lock. Stores nothing, and needs no store, key or network.

    commonplace review_check --rules-only --note kb/notes/a.md
    commonplace review_check --since origin/main --new-only --fail-on warn problem
    commonplace review_check --format sarif --output review.sarif
"""

from __future__ import annotations

from review import store
from review.check.check import FAIL_ON, CheckRequest, check_notes
from review.check.formats import FORMATS
from review.management import kit
from review.management.kit.output import write_report


class Command(kit.ReviewCommand):
    exit_codes = {
        kit.ExitCode.FAILED: "Git cannot be started, or the output file could not be written",
        kit.ExitCode.INPUT_REJECTED: "an unknown gate, note or revision, a shallow clone, or no folder"
        " for the output",
        kit.ExitCode.GATE_TRIPPED: "--fail-on found something; `tripped` says what",
    }
    arguments = {
        **kit.SCOPE,
        "--text F": "judge this in the place of the one note named",
        "--since REF": "notes that differ from the merge base with REF",
        "--new-only": "hide findings of the lock at that merge base",
        "--baseline FILE": "compare with this lock instead",
        "--model P...": "reviews of these partitions count",
        "--rules-only": "only gates with a rule",
        "--fail-on ...": kit.Option("exit 6 on open findings, stale pairs, problems", FAIL_ON),
        "--format": kit.Option("default: text; --json is json", FORMATS),
        "--output FILE": kit.Option("default: standard output", default="-"),
    }

    def use_of(self, options: kit.Options) -> store.Use:
        """Return that a store is read if there is one; none is made."""
        return store.Use.READ if store.is_there() else store.Use.NONE

    def run(self, options: kit.Options) -> None:
        is_json, is_one = options["format"] in (None, "json"), len(options["notes"]) == 1
        kit.refuse(
            {
                f"--json and --format {options['format']} contradict each other": (
                    self.as_json and not is_json
                ),
                "--text goes with one --note, and with --rules-only": (
                    options["text"] and not (is_one and options["rules_only"])
                ),
            }
        )
        given = {
            name: self.read_input(options[name]) if options[name] else None
            for name in ("text", "baseline")
        }
        gates = () if options["all_gates"] else options["gates"]
        request = kit.request_of(
            CheckRequest, options, gates=gates, models=options["model"], **given
        )
        has_store = store.is_there()
        # A folder of reports is not made for the cache alone.
        self.use_cache = self.config.index_path.parent.is_dir()
        report = check_notes(self.corpus, request, store=has_store)
        shape = "json" if self.as_json else options["format"] or "text"
        write_report(self, report, shape=shape, output=options["output"])
        for notice in report.document.notices:
            self.notice(notice)
        self.finish(kit.ExitCode.GATE_TRIPPED if report.document.tripped else kit.ExitCode.DONE)
