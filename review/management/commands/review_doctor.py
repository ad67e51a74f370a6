"""Check the store, the files of jobs, the file index and the installation. With --check, ask the
store for every invariant, and hash every kept text of a note or gate again. With --repair, make
again what can be made from the store: current acceptances, prompts, result files, manifests. No
review, decision or event is ever changed, and no store is made. With --backup, write the store as
it is now into a file, while others use it. With --prune, name what could be removed of jobs that
are closed.

    commonplace review_doctor
    commonplace review_doctor --check --json
    commonplace review_doctor --repair
    commonplace review_doctor --backup ~/backups/review-store.sqlite
    commonplace review_doctor --prune --older-than 30d --superseded --yes
"""

from __future__ import annotations

from collections.abc import Iterator

from review.management import kit
from review.store.backup import back_up
from review.upkeep.documents import BusyCheck, CheckResult, CheckState, DoctorBackupJson, DoctorJson
from review.upkeep.job_files import Pruning


class Command(kit.StorelessCommand):
    exit_codes = {
        kit.ExitCode.FAILED: "problems remain, each names what to do; or the backup was not made",
        kit.ExitCode.CONFLICT: "--backup: the file is there already, is in use, is no backup or the store itself",
        kit.ExitCode.INPUT_REJECTED: "--backup: there is no such folder, or it is one of notes or gates",
    }
    arguments = {
        "--quick": "kept for callers: checks all that it checks without",
        "--check": "judge the store by every invariant and hash; files it can write again are"
        " repairable, no problem",
        "--repair": "make again what the store can tell",
        "--backup FILE": kit.Option(
            "write the store into FILE, check it, and do nothing else", type=kit.path
        ),
        "--overwrite": "with --backup: replace an earlier one",
        "--prune": "name the folders of closed jobs, whose reviews are in the store; remove"
        " nothing",
        "--older-than 30d": "with --prune: only jobs that were closed so long ago",
        "--superseded": "with --prune: only jobs whose reviews no current acceptance rests on, and"
        " nobody has to look at",
        "--yes": "with --prune: remove them",
        "--actor A": kit.Option("with --yes: who removes them", dest="by"),
    }

    def run(self, options: kit.Options) -> None:
        kit.require_option(options, "prune", "yes", "older_than", "superseded")
        kit.require_option(options, "backup", "overwrite")
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
                details = (f"            {detail}" for detail in check.details)
                self.write_lines([f"{check.state:<10}  {check.name}: {check.message}", *details])
        problems = sum(check.state in remaining for check in done)
        self.show(DoctorJson(checks=done, problems=problems), ())
        if any(isinstance(check, BusyCheck) for check in done):
            self.finish(kit.ExitCode.TRY_AGAIN)
        self.finish(kit.ExitCode.FAILED if problems else kit.ExitCode.DONE)

    def _examine(self, options: kit.Options) -> Iterator[CheckResult]:
        # Its queries cannot be made before the database is configured.
        from review.upkeep.doctor import examine

        pruning = None
        if options["prune"]:
            named = {"actor": options["by"]}
            self._fill_actor(named)
            pruning = kit.request_of(Pruning, options, remove=options["yes"], now=self.now, **named)
        return examine(thorough=options["check"], repair=options["repair"], pruning=pruning)

    def _back_up(self, options: kit.Options) -> None:
        others = [name for name in ("check", "repair", "prune") if options[name]]
        kit.refuse(
            {f"--backup does nothing else; run --{it} before or after it": it for it in others}
        )
        target = options["backup"].absolute()
        kit.refuse_knowledge_base(target, config=self.config)
        made = back_up(target, overwrite=options["overwrite"], config=self.config)
        check = CheckResult("backup", CheckState.OK, f"{target} was written and checked")
        self.show(
            DoctorBackupJson(checks=[check], problems=0, backup=made),
            [f"backed up: {target} ({made.byte_size:,} bytes, checked)"],
        )
