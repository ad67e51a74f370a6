"""What fails in a sweep, what is tried again, and what ends a sweep early."""

from __future__ import annotations

import json

import pytest

from tests.helpers.scripted import is_running, make_scripted, note
from tests.helpers.sweeping import command, listed, reviewed, sweep

pytestmark = pytest.mark.own_stores(on_server="soak")


class TestFailures:
    def test_what_may_succeed_later_is_tried_again_after_a_pause(self, tmp_path):
        base = make_scripted(tmp_path, notes=2, script={note(0): ["overloaded", "finished"]})

        done = sweep(base, "--retry-pause", "1s")

        assert done.exit == 0
        assert done.json["jobs"]["completed"] == 2
        assert base.calls() == {note(0): 2, note(1): 1}
        (again,) = [e for e in map(json.loads, done.err.splitlines()) if e["event"] == "run-again"]
        assert again["in_seconds"] == 1.0
        assert "529" in again["reason"]

    def test_what_cannot_is_not(self, tmp_path):
        base = make_scripted(tmp_path, notes=1, script={"*": "broken"})

        done = sweep(base, "--retry-pause", "1s")

        assert done.json["jobs"]["failed"] == 1
        assert base.calls() == {note(0): 1}

    @pytest.mark.parametrize(
        ("written", "code", "why"),
        [
            ("cut-off", "pairs-missing", "the START of pair 1 on line 1 is never closed"),
            (
                "labelled",
                "no-output",
                "line 1 looks like the START of pair 1, but 'Block:' stands ahead of ===",
            ),
        ],
    )
    def test_an_answer_that_comes_close_to_a_block_is_told_with_its_line(
        self, tmp_path, written, code, why
    ):
        base = make_scripted(tmp_path, notes=1, script={"*": written})

        sweep(base, "--max-attempts", "1")

        job = listed(base)[1]
        assert job["failure_code"] == code
        assert why in job["failure_reason"]

    def test_the_runs_of_a_job_end_with_the_attempts_that_are_allowed(self, tmp_path):
        base = make_scripted(tmp_path, notes=1, script={"*": "overloaded"})

        done = sweep(base, "--retry-pause", "1s", "--max-attempts", "2")

        assert base.calls() == {note(0): 2}
        (group,) = done.json["failures"]
        assert group["failure_code"] == "rate-limited"

    def test_a_pair_is_given_up_after_so_many_failed_jobs_on_the_same_texts(self, tmp_path):
        base = make_scripted(tmp_path, notes=2, script={note(0): "empty"})

        for _ in range(3):
            sweep(base, "--max-attempts", "2")
        given_up = sweep(base, "--max-attempts", "2")
        (base.root / note(0)).write_text("# Note 0\n\nAnother text.\n")
        again = sweep(base, "--max-attempts", "2")

        assert base.calls() == {note(0): 3, note(1): 1}
        assert given_up.json["skipped"] == {"too-many-attempts": 1}
        assert given_up.json["skipped_pairs"][0]["note_path"] == note(0)
        assert again.json["skipped"] == {}

    def test_a_limit_of_the_account_ends_the_sweep_at_once(self, tmp_path):
        base = make_scripted(tmp_path, notes=30, script={note(0): "limit", "*": "finished"})

        done = sweep(base, "--jobs", "1", "--retry-pause", "1s")

        assert done.exit == 1
        assert done.json["stopped"] == "account-exhausted"
        assert "You've hit your limit" in done.json["stopped_because"]
        assert base.calls() == {note(0): 1}
        assert {job["status"] for job in listed(base).values()} == {"failed"}
        assert done.json["jobs"]["failed"] == 1
        assert done.json["jobs"]["not-started"] > 0

    def test_a_runner_that_cannot_work_at_all_ends_the_sweep_at_once(self, tmp_path):
        base = make_scripted(tmp_path, notes=5, script={"*": "bad-flag"})

        done = sweep(base, "--jobs", "1")

        assert done.json["stopped"] == "runner-unusable"
        assert base.calls().total() == 1

    def test_a_sweep_of_which_nothing_succeeds_ends(self, tmp_path):
        base = make_scripted(tmp_path, notes=20, script={"*": "broken"})

        done = sweep(base, "--jobs", "2")

        assert done.json["stopped"] == "failing"
        assert 3 <= base.calls().total() <= 5

    def test_jobs_that_hang_are_ended_in_time_while_the_others_finish(self, tmp_path):
        script = {note(0): "hang", note(3): "hang", "*": "finished"}
        base = make_scripted(tmp_path, notes=6, script=script)

        done = sweep(base, "--jobs", "6", "--timeout", "2s", "--max-attempts", "1")

        assert done.json["jobs"]["completed"] == 4
        (group,) = done.json["failures"]
        assert (group["failure_code"], group["jobs"]) == ("runner-timeout", 2)
        assert done.json["seconds"] < 30
        assert not any(is_running(pid) for pid in base.pids())

    def test_reviews_of_another_model_are_kept_and_not_accepted_and_end_the_sweep(self, tmp_path):
        base = make_scripted(tmp_path, notes=8, model="another-9")

        done = sweep(base, "--jobs", "1", runner="priced")

        assert done.json["stopped"] == "partition-mismatch"
        assert base.calls().total() == 2
        assert done.json["pairs"]["not-accepted"] == 2
        assert len(reviewed(base)) == 2
        status = command(base, "review_status", "--json").json
        assert status["uncovered"] == 8


class TestLimits:
    def test_no_more_jobs_are_started_than_are_allowed(self, tmp_path):
        base = make_scripted(tmp_path, notes=5)

        done = sweep(base, "--max-jobs", "2")

        assert done.exit == 0
        assert done.json["stopped"] == "max-jobs"
        assert base.calls().total() == 2
        assert {job["status"] for job in listed(base).values()} <= {"completed", "failed"}

    def test_a_limit_that_cuts_nothing_off_stops_nothing(self, tmp_path):
        base = make_scripted(tmp_path, notes=2)

        assert sweep(base, "--max-jobs", "2").json["stopped"] is None

    def test_no_job_is_started_that_may_cost_more_than_is_left(self, tmp_path):
        base = make_scripted(tmp_path, notes=10, cost=0.4)

        done = sweep(base, "--max-cost-usd", "1.0", runner="priced")

        assert done.json["stopped"] == "max-cost"
        assert done.json["cost"]["usd"] == pytest.approx(0.8)
        assert base.calls().total() == 2

    def test_a_limit_that_cannot_be_kept_ends_the_sweep(self, tmp_path):
        base = make_scripted(tmp_path, notes=10)

        done = sweep(base, "--max-cost-usd", "1.0")

        assert done.json["stopped"] == "cost-unknown"
        assert base.calls().total() == 1

    def test_costs_are_told_and_unknown_ones_are_not_zero(self, tmp_path):
        base = make_scripted(tmp_path, notes=2, cost=0.25)

        known = sweep(base, "--note", note(0), runner="priced").json["cost"]
        unknown = sweep(base, "--note", note(1)).json["cost"]

        assert known == {
            "usd": 0.25, "jobs_without_cost": 0, "input_tokens": 1000, "output_tokens": 100,
        }  # fmt: skip
        assert unknown == {
            "usd": None, "jobs_without_cost": 1, "input_tokens": None, "output_tokens": None,
        }  # fmt: skip

    def test_settings_and_environment_give_the_defaults(self, tmp_path):
        settings = "\n[sweeps]\nmax_cost_usd = 0.5\nmax_attempts = 1\n"
        base = make_scripted(tmp_path, notes=3, cost=0.4, settings=settings)

        done = sweep(base, runner="priced")

        assert done.json["stopped"] == "max-cost"
        assert base.calls().total() == 1
