"""What a sweep tells on stderr: one JSON object a line, or a line for people."""

from __future__ import annotations

import json

import pytest

from review.errors import ExitCode
from review.management.commands.review_sweep import sweep_exit_code, sweep_lines
from review.management.kit.sweeping import json_lines, line_of, numbers_of
from review.sweeps.progress import (
    FailureGroupJson,
    PlanJson,
    SweepCostJson,
    SweepEvent,
    SweepJson,
    Tally,
)


def answer(**changes):
    fields = {
        "dry_run": False,
        "model_partition": "m-1",
        "runner": "r",
        "runner_model": None,
        "runner_effort": None,
        "grouping": "note",
        "counts": {"fresh": 1, "missing-review": 2},
        "targets": 2,
        "salvaged": [],
        "plan": None,
        "stopped": None,
        "stopped_because": None,
        "jobs": {"completed": 1, "failed": 0, "refused": 0},
        "pairs": {"pass": 2, "missing": 0},
        "failures": [],
        "skipped": {},
        "skipped_pairs": [],
        "cost": SweepCostJson(usd=None, jobs_without_cost=0, input_tokens=None, output_tokens=None),
        "seconds": 3671.2,
        "problems": [],
    }
    return SweepJson(**fields | changes)


def cost(usd, without=0):
    return SweepCostJson(usd=usd, jobs_without_cost=without, input_tokens=None, output_tokens=None)


class TestJsonLines:
    def lines(self, *events, write=None):
        written = []
        lines = json_lines(write or written.append, clock=iter([10.0, 11.5, 12.0]).__next__)
        for event in events:
            lines(event, Tally(pairs_in_all=4, pairs_done=1))
        return written

    def test_has_one_object_a_line_with_the_numbers_so_far(self):
        (line,) = self.lines(SweepEvent("job-started", {"review_job_id": 7}))

        assert line.endswith("}\n")
        assert json.loads(line) == {
            "schema": "sweep-event/1", "event": "job-started", "seconds": 1.5, "review_job_id": 7,
            "pairs_done": 1, "pairs_in_all": 4, "running": 0, "spent_usd": None,
        }  # fmt: skip

    def test_holds_nothing_that_could_act_on_a_terminal(self):
        (line,) = self.lines(SweepEvent("job-finished", {"failure_reason": "\x1b[31m\u202eno"}))

        assert line.isascii()
        assert json.loads(line)["failure_reason"] == "\x1b[31m\u202eno"

    def test_goes_on_when_nobody_reads_it_any_more(self):
        def broken(text):
            raise BrokenPipeError

        self.lines(SweepEvent("selected"), SweepEvent("job-started"), write=broken)


class TestForPeople:
    @pytest.mark.parametrize(
        ("event", "line"),
        [
            pytest.param(
                SweepEvent(
                    "job-finished",
                    {"review_job_id": 7, "status": "failed", "failure_code": "runner-error",
                     "failure_reason": "it\nbroke"},
                ),
                "job 7: failed: runner-error: it\\nbroke",
                id="failed",
            ),
            pytest.param(
                SweepEvent("run-again", {"review_job_id": 7, "reason": "busy", "in_seconds": 60.0}),
                "job 7: run-again: busy (again in 60 s)",
                id="again",
            ),
        ],
    )  # fmt: skip
    def test_an_event_is_one_line(self, event, line):
        assert line_of(event) == line

    def test_the_numbers_say_what_is_not_known(self):
        assert numbers_of(Tally(), seconds=9.0) == "0 running · cost unknown"

    def test_the_summary_says_cost_and_time(self):
        lines = list(sweep_lines(answer(cost=cost(1.5, without=2))))

        assert "cost: $1.50, and 2 jobs that did not say; time: 1:01:11" in lines

    def test_an_unknown_cost_is_unknown_and_no_job_costs_nothing(self):
        assert any("cost: unknown" in line for line in sweep_lines(answer(cost=cost(None, 3))))
        assert any("cost: none" in line for line in sweep_lines(answer()))

    def test_rules_cost_nothing(self):
        free = answer(model_partition="rules", cost=cost(None, 3))

        assert "cost: none; time: 1:01:11" in sweep_lines(free)

    def test_each_reason_of_failure_is_one_row_however_long(self):
        group = FailureGroupJson(
            failure_code="runner-error",
            reason="first\n" + "x" * 500,
            jobs=3,
            pairs_missing=5,
            review_job_ids=[4, 5],
        )

        (row,) = [
            line for line in sweep_lines(answer(failures=[group])) if line.startswith("runner-e")
        ]

        assert row.split()[1:3] == ["3", "5"]
        assert row.endswith("… (job 4)")

    def test_a_plan_says_what_the_cost_is_estimated_by(self):
        plan = PlanJson(
            new_jobs=2,
            new_pairs=3,
            queued_jobs=1,
            queued_pairs=1,
            estimated_prompt_tokens=100,
            estimated_cost_usd=0.5,
            estimated_from_jobs=9,
        )

        text = "\n".join(sweep_lines(answer(plan=plan, dry_run=True)))

        assert "would run: 2 new jobs with 3 pairs" in text
        assert "and 1 queued jobs with 1 pairs" in text
        assert "cost: about $0.50, by 9 past jobs" in text


class TestExitCode:
    @pytest.mark.parametrize(
        ("changes", "code"),
        [
            pytest.param({}, ExitCode.DONE, id="done"),
            pytest.param({"jobs": {"failed": 1, "refused": 0}}, ExitCode.FAILED, id="failed"),
            pytest.param({"jobs": {"failed": 0, "refused": 1}}, ExitCode.CONFLICT, id="refused"),
            pytest.param({"skipped": {"too-many-attempts": 2}}, ExitCode.FAILED, id="given-up"),
            pytest.param({"skipped": {"fresh": 2}}, ExitCode.DONE, id="left-out-for-nothing"),
            pytest.param({"stopped": "jobs-not-made"}, ExitCode.FAILED, id="not-made"),
            pytest.param(
                {"stopped": "interrupted", "jobs": {"failed": 2, "refused": 0}},
                ExitCode.INTERRUPTED,
                id="interrupted",
            ),
            pytest.param({"stopped": "max-cost"}, ExitCode.DONE, id="a-limit-is-no-failure"),
        ],
    )
    def test_says_how_it_ended(self, changes, code):
        assert sweep_exit_code(answer(**changes)) is code
