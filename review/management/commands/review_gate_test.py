"""`review_gate_test`: tries gates on their cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import CommandParser

from review import settings, store
from review.errors import ExitCode, UsageRefused
from review.management.kit.command import ReviewCommand
from review.management.kit.gate_test import run_gate_test
from review.management.kit.options import duration, positive_int, text, word
from review.management.kit.sweep_options import add_runner_option
from review.trials.documents import CaseResultJson, GateTestJson

MISS = "miss"
_CLAIM = "take one: commonplace claim_review_job --next --trial --runner R"


class Command(ReviewCommand):
    help = (
        "Try gates on their cases: texts beside the gate that it is to flag or to pass. A model"
        " gets them as notes, in jobs of their own that no queue and no freshness counts; without"
        " --runner the jobs are made for claim_review_job --next --trial. Only what is not measured"
        " yet is run: call it again to read the results."
    )
    schema = "review-gate-test/1"
    examples = (
        "commonplace review_gate_test prose --model claude-opus-4-6 --runner claude-code",
        "commonplace review_gate_test semantic --model gpt-5.1-codex --repeat 2 --json",
        "commonplace review_gate_test links markup --rules --fail-on miss",
    )
    exit_codes = {
        ExitCode.FAILED: "a job failed; its cases are not measured",
        ExitCode.NOTHING_TO_DO: "none of the gates has a case",
        ExitCode.CONFLICT: "the runner's model is of another partition",
        ExitCode.INPUT_REJECTED: "unknown gate or runner, or the runner is not installed",
        ExitCode.GATE_TRIPPED: "--fail-on miss: a case is missed, not measured or not readable",
        ExitCode.INTERRUPTED: "interrupted: the jobs that ran were failed with what they had",
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "gates", nargs="+", type=text, metavar="GATE_OR_BUNDLE", help="gates to try"
        )
        judge = parser.add_mutually_exclusive_group(required=True)
        judge.add_argument(
            "--model", type=word, metavar="MODEL", help="the model, or its partition"
        )
        judge.add_argument(
            "--rules", action="store_true", help="gates with a rule, in this process"
        )
        add_runner_option(parser, required=False)
        parser.add_argument(
            "--repeat",
            type=positive_int,
            default=1,
            metavar="N",
            help="runs of each case (default 1)",
        )
        parser.add_argument(
            "--batch-size",
            type=positive_int,
            default=1,
            metavar="N",
            help="cases of a gate in a job (default 1)",
        )
        parser.add_argument(
            "--jobs", type=positive_int, metavar="N", help="how many at once, with --runner"
        )
        parser.add_argument("--timeout", type=duration, metavar="15m", help="for each job")
        parser.add_argument(
            "--fail-on", choices=(MISS,), help="exit 6 unless every case is answered as it expects"
        )
        self.add_actor_option(parser)

    def use_of(self, options: Mapping[str, Any]) -> store.Use:
        return store.Use.NONE if options["rules"] else store.Use.WRITE

    def handle(self, *args: Any, **options: Any) -> None:
        if options["runner"] and options["rules"]:
            raise UsageRefused("--runner goes with --model: rules run in this process")
        answer, interrupted = run_gate_test(options, config=settings.current(), now=self.now)
        if self.as_json:
            self.write_json(answer)
        else:
            self.write_lines(_lines(answer))
            if answer.stopped_because:
                self.warn(f"stopped: {answer.stopped_because}")
        self.finish(ExitCode.INTERRUPTED if interrupted else _exit_code(answer, options["fail_on"]))


def _exit_code(answer: GateTestJson, fail_on: str | None) -> ExitCode:
    if not answer.gates:
        return ExitCode.NOTHING_TO_DO
    if answer.failed_job_ids or answer.stopped_because:
        return ExitCode.FAILED
    missed = any(gate.missed or gate.problems for gate in answer.gates)
    return ExitCode.GATE_TRIPPED if missed and fail_on == MISS else ExitCode.DONE


def _lines(answer: GateTestJson) -> Iterator[str]:
    for gate in answer.gates:
        hits, alarms, flips = gate.hits, gate.false_alarms, gate.flips
        yield (
            f"{gate.gate_id} ({gate.model_partition}): hits {hits.count}/{hits.of}, false alarms"
            f" {alarms.count}/{alarms.of}, flips {flips.count}/{flips.of}"
        )
        yield from (f"  {item.path}: {item.message}" for item in gate.problems)
        yield from (_case_line(case) for case in gate.cases if case.missed or case.draft)
    if answer.open_job_ids:
        yield f"open jobs: {len(answer.open_job_ids)} ({_CLAIM})"
    if not answer.gates:
        yield "no gate to test: none of these has cases (in GATE.cases/ beside it) and, with --rules, a rule"


def _case_line(case: CaseResultJson) -> str:
    draft = " (draft)" if case.draft else ""
    answered = ", ".join(case.decisions) or case.state
    pairs = f" [pair {', '.join(map(str, case.review_pair_ids))}]" if case.review_pair_ids else ""
    return f"  {case.case_path}{draft}: expected {case.expect}: {answered}{pairs}"
