"""`review_doctor`: checks the store, the files of jobs and what surrounds them; backs it up; prunes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode, UsageRefused
from review.management.kit.command import ReviewCommand, request_of, require_option
from review.management.kit.options import duration, path, word
from review.management.kit.streams import refuse_knowledge_base
from review.store.backup import back_up
from review.upkeep.checks import BusyCheck, CheckResult, CheckState, DoctorBackupJson, DoctorJson
from review.upkeep.job_files import Pruning


class Command(ReviewCommand):
    help = (
        "Check the store, the files of jobs, the file index and the installation. With --check, ask"
        " the store for every invariant, and hash every kept text of a note or gate again. With --repair, make again what can be made from the"
        " store: current acceptances, prompts, result files, manifests. No review, decision or event"
        " is ever changed, and no store is made. With --backup, write the store as it is now into a"
        " file, while others use it. With --prune, name what could be removed of jobs that are"
        " closed."
    )
    schema = "review-doctor/1"
    store_use = store.Use.NONE
    examples = (
        "commonplace review_doctor",
        "commonplace review_doctor --check --json",
        "commonplace review_doctor --repair",
        "commonplace review_doctor --backup ~/backups/review-store.sqlite",
        "commonplace review_doctor --prune --older-than 30d --superseded --yes",
    )
    exit_codes = {
        ExitCode.FAILED: "problems remain, each names what to do; or the backup was not made",
        ExitCode.CONFLICT: "--backup: the file is there already, is in use, is no backup or the store itself",
        ExitCode.INPUT_REJECTED: "--backup: there is no such folder, or it is one of notes or gates",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--quick",
            action="store_true",
            help="kept for callers: checks all that it checks without",
        )
        parser.add_argument(
            "--check",
            action="store_true",
            help="judge the store by every invariant and hash;"
            " files it can write again are repairable, no problem",
        )
        parser.add_argument(
            "--repair", action="store_true", help="make again what the store can tell"
        )
        parser.add_argument(
            "--backup",
            type=path,
            metavar="FILE",
            help="write the store into FILE, check it, and do nothing else",
        )
        parser.add_argument(
            "--overwrite", action="store_true", help="with --backup: replace an earlier one"
        )
        parser.add_argument(
            "--prune",
            action="store_true",
            help="name the folders of closed jobs, whose reviews are in the store; remove nothing",
        )
        parser.add_argument(
            "--older-than",
            type=duration,
            metavar="30d",
            help="with --prune: only jobs that were closed so long ago",
        )
        parser.add_argument(
            "--superseded",
            action="store_true",
            help="with --prune: only jobs whose reviews no current acceptance rests on, and nobody"
            " has to look at",
        )
        parser.add_argument("--yes", action="store_true", help="with --prune: remove them")
        parser.add_argument(
            "--actor", dest="by", type=word, metavar="A", help="with --yes: who removes them"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        require_option(options, "prune", "yes", "older_than", "superseded")
        require_option(options, "backup", "overwrite")
        if options["backup"]:
            self._back_up(options)
            return
        remaining = {CheckState.PROBLEM, CheckState.SKIPPED}
        if not options["check"]:
            remaining.add(CheckState.REPAIRABLE)
        done = []
        for check in self._examine(options):
            done.append(check)
            if not self.as_json:
                self.write_lines(_lines(check))
        problems = sum(check.state in remaining for check in done)
        if self.as_json:
            self.write_json(DoctorJson(checks=done, problems=problems))
        if any(isinstance(check, BusyCheck) for check in done):
            self.finish(ExitCode.TRY_AGAIN)
        self.finish(ExitCode.FAILED if problems else ExitCode.DONE)

    def _examine(self, options: dict[str, Any]) -> Iterator[CheckResult]:
        # Its queries cannot be made before the database is configured.
        from review.upkeep.doctor import examine

        pruning = None
        if options["prune"]:
            named = {"actor": options["by"]}
            self._fill_actor(named)
            pruning = request_of(Pruning, options, remove=options["yes"], now=self.now, **named)
        return examine(thorough=options["check"], repair=options["repair"], pruning=pruning)

    def _back_up(self, options: dict[str, Any]) -> None:
        others = [name for name in ("check", "repair", "prune") if options[name]]
        if others:
            raise UsageRefused(f"--backup does nothing else; run --{others[0]} before or after it")
        target, config = options["backup"].absolute(), settings.current()
        refuse_knowledge_base(target, config=config)
        made = back_up(target, overwrite=options["overwrite"], config=config)
        check = CheckResult("backup", CheckState.OK, f"{target} was written and checked")
        self.show(
            DoctorBackupJson(checks=[check], problems=0, backup=made),
            [f"backed up: {target} ({made.byte_size:,} bytes, checked)"],
        )


def _lines(check: CheckResult) -> Iterator[str]:
    yield f"{check.state:<10}  {check.name}: {check.message}"
    yield from (f"            {detail}" for detail in check.details)
