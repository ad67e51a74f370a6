"""`review_doctor`: checks the store, the files of jobs and what surrounds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser

from review import store
from review.errors import ExitCode, UsageRefused
from review.management.base import ReviewCommand
from review.management.options import word

if TYPE_CHECKING:
    from review.contracts.doctor import DoctorJson
    from review.orchestration.doctoring import Pruning
    from review.queries.checks import Check


class Command(ReviewCommand):
    """Check that everything is as it must be."""

    help = (
        "Check the store, the files of jobs, the file index and the installation. With --repair,"
        " make again what can be made from the store: current acceptances, result files, manifests."
        " No review, decision or event is ever changed. With --prune,"
        " name what could be removed of jobs that are closed."
    )
    schema = "review-doctor/1"
    store_use = store.Use.NONE
    examples = ("commonplace review_doctor", "commonplace review_doctor --repair --json")
    exit_codes = {ExitCode.FAILED: "problems remain; each names what to do"}

    def add_arguments(self, parser: CommandParser) -> None:
        """Whether to mend."""
        parser.add_argument(
            "--repair", action="store_true", help="make again what the store can tell"
        )
        parser.add_argument(
            "--prune",
            action="store_true",
            help="name the folders of closed jobs, whose reviews are in the store; remove nothing",
        )
        parser.add_argument("--yes", action="store_true", help="with --prune: remove them")
        parser.add_argument(
            "--actor", dest="by", type=word, metavar="A", help="with --yes: who removes them"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, and tell check by check."""
        from review.orchestration.doctoring import examine
        from review.queries.checks import CheckState

        problems = 0
        done = []
        for check in examine(repair=options["repair"], pruning=self._pruning(options)):
            problems += check.state in (CheckState.PROBLEM, CheckState.SKIPPED)
            done.append(check)
            if not self.as_json:
                self.write_lines(_lines(check))
        if self.as_json:
            self.write_json(_document(done, problems))
        self.finish(ExitCode.FAILED if problems else ExitCode.DONE)

    def _pruning(self, options: dict[str, Any]) -> Pruning | None:
        from review.orchestration.doctoring import Pruning

        if options["yes"] and not options["prune"]:
            raise UsageRefused("--yes goes with --prune")
        if not options["prune"]:
            return None
        named = {"actor": options["by"]}
        self._fill_actor(named)
        return Pruning(remove=options["yes"], actor=named["actor"], now=self.now)


def _lines(check: Check) -> Iterator[str]:
    yield f"{check.state:<8}  {check.name}: {check.message}"
    yield from (f"            {detail}" for detail in check.details)


def _document(checks: list[Check], problems: int) -> DoctorJson:
    from review.contracts.doctor import CheckJson, DoctorJson

    return DoctorJson(
        checks=[
            CheckJson(
                name=check.name,
                state=check.state,
                message=check.message,
                details=list(check.details),
            )
            for check in checks
        ],
        problems=problems,
    )
