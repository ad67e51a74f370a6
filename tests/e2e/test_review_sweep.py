"""`review_sweep` and `run_gate_sweep`: scope, packing, limits, retries and answers."""

from __future__ import annotations

import json

import pytest

from tests.helpers.scripted import MODEL, is_running, make_scripted, note
from tests.helpers.sweeping import command, listed, reviewed, sweep

GATES = ("prose/x", "prose/y", "links/z")


class TestSweep:
    def test_reviews_what_is_stale_and_nothing_twice(self, tmp_path):
        base = make_scripted(tmp_path, notes=3, gates=GATES)

        first = sweep(base)
        second = sweep(base)

        assert (first.exit, second.exit) == (0, 0)
        assert first.json["counts"]["missing-review"] == 9
        assert first.json["jobs"]["completed"] == 6
        assert first.json["pairs"]["pass"] == 9
        assert second.json["counts"]["fresh"] == 9
        assert second.json["targets"] == 0
        assert reviewed(base) == [(note(n), gate) for n in range(3) for gate in sorted(GATES)]

    def test_its_claims_say_which_process_saw_to_them(self, tmp_path):
        base = make_scripted(tmp_path, notes=1)

        sweep(base)

        (job,) = listed(base).values()
        assert job["claimed_by"].startswith("sweep:")
        assert (job["runner"], job["runner_model"]) == ("scripted", MODEL)

    def test_packs_by_gate_and_batch_where_that_is_asked_for(self, tmp_path):
        base = make_scripted(tmp_path, notes=5, gates=("prose/x", "prose/y"))

        done = sweep(base, "--grouping", "gate", "--batch-size", "2")

        assert done.json["jobs"]["completed"] == 6
        assert sorted(job["pair_count"] for job in listed(base).values()) == [1, 1, 2, 2, 2, 2]

    def test_rules_are_swept_like_any_model(self, tmp_path):
        base = make_scripted(tmp_path, notes=2, gates=("prose/x",))
        gate = base.root / "kb/instructions/review-gates/prose/rule.md"
        gate.write_text(
            "---\ngate_id: prose/rule\nname: rule\nlens: prose\nrule: missing-title\n---\n\nTitle?\n"
        )

        done = command(
            base, "review_sweep", "--all-gates", "--runner", "rules", "--model", "rules", "--json"
        )

        assert done.exit == 0
        assert done.json["pairs"]["pass"] == 2
        assert reviewed(base) == [(note(0), "prose/rule"), (note(1), "prose/rule")]

    def test_tells_people_the_numbers_and_each_reason_of_failure_once(self, tmp_path):
        script = {note(0): "broken", note(1): "broken", note(2): "empty"}
        base = make_scripted(tmp_path, notes=4, script=script)

        done = command(
            base, "review_sweep", "--all-gates", "--runner", "scripted", "--model", MODEL
        )

        assert done.exit == 1
        assert "jobs: completed 1, failed 3" in done.out
        rows = [line for line in done.out.splitlines() if line.startswith(("runner-e", "no-outp"))]
        assert len(rows) == 2
        assert "it broke" in rows[0]

    def test_gives_one_line_of_json_for_each_event_where_nobody_watches(self, tmp_path):
        base = make_scripted(tmp_path, notes=2)

        done = sweep(base)

        events = [json.loads(line) for line in done.err.splitlines()]
        assert {event["schema"] for event in events} == {"sweep-event/1"}
        names = [event["event"] for event in events]
        assert names[0] == "selected"
        assert sorted(names[1:]) == ["job-finished"] * 2 + ["job-started"] * 2
        assert events[-1]["pairs_done"] == events[-1]["pairs_in_all"] == 2

    def test_says_nothing_of_it_when_it_is_to_be_quiet(self, tmp_path):
        base = make_scripted(tmp_path, notes=1)

        assert sweep(base, "-q").err == ""

    def test_one_gate_over_notes_has_a_command_of_its_own(self, tmp_path):
        base = make_scripted(tmp_path, notes=3, gates=GATES)

        done = command(
            base, "run_gate_sweep", "prose/y", "--runner", "scripted", "--model", MODEL,
            "--batch-size", "2", "--json",
        )  # fmt: skip

        assert done.json["schema"] == "run-gate-sweep/1"
        assert done.json["jobs"]["completed"] == 2
        assert reviewed(base) == [(note(n), "prose/y") for n in range(3)]


class TestQueuedJobs:
    def test_of_somebody_else_are_worked_through_as_well(self, tmp_path):
        base = make_scripted(tmp_path, notes=2)
        queue(base)

        done = sweep(base)

        assert done.json["jobs"]["completed"] == 2
        assert len(listed(base)) == 2

    def test_that_ask_for_an_older_text_are_made_anew(self, tmp_path):
        base = make_scripted(tmp_path, notes=2)
        queue(base)
        (base.root / note(0)).write_text("# Note 0\n\nAnother text.\n")

        sweep(base)

        jobs = listed(base)
        assert [job["status"] for job in jobs.values()] == ["failed", "completed", "completed"]
        assert jobs[1]["failure_code"] == "replaced"
        assert jobs[3]["replaces"] == 1
        assert base.calls() == {note(0): 1, note(1): 1}


class TestDryRun:
    def test_writes_nothing_and_gives_jobs_and_tokens(self, tmp_path):
        base = make_scripted(tmp_path, notes=3, gates=GATES)

        done = sweep(base, "--dry-run")

        plan = done.json["plan"]
        assert (plan["new_jobs"], plan["new_pairs"]) == (6, 9)
        assert plan["estimated_prompt_tokens"] > 1000
        assert plan["estimated_cost_usd"] is None
        assert listed(base) == {}
        assert done.err == ""

    def test_estimates_the_cost_by_what_past_jobs_told(self, tmp_path):
        base = make_scripted(tmp_path, notes=4, cost=0.25)
        sweep(base, "--note", note(0), note(1), runner="priced")

        plan = sweep(base, "--dry-run", runner="priced").json["plan"]

        assert plan["estimated_from_jobs"] == 2
        assert plan["estimated_cost_usd"] == pytest.approx(0.5, rel=0.05)

    def test_counts_queued_jobs_that_would_be_run_too(self, tmp_path):
        base = make_scripted(tmp_path, notes=3)
        queue(base, "--note", note(0))

        plan = sweep(base, "--dry-run").json["plan"]

        assert (plan["new_jobs"], plan["queued_jobs"], plan["queued_pairs"]) == (2, 1, 1)


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
        assert 10 <= base.calls().total() <= 12

    def test_jobs_that_hang_are_ended_in_time_while_the_others_finish(self, tmp_path):
        script = {note(0): "hang", note(3): "hang", "*": "finished"}
        base = make_scripted(tmp_path, notes=6, script=script)

        done = sweep(base, "--jobs", "6", "--timeout", "2s", "--max-attempts", "1")

        assert done.json["jobs"]["completed"] == 4
        (group,) = done.json["failures"]
        assert (group["failure_code"], group["jobs"]) == ("runner-timeout", 2)
        assert done.json["seconds"] < 8
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


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "exit_code"),
        [
            pytest.param(("--runner", "rules", "--model", MODEL), 4, id="rules-are-no-model"),
            pytest.param(("--runner", "nobody", "--model", MODEL), 5, id="unknown-runner"),
            pytest.param(("--runner", "llm", "--model", MODEL), 5, id="not-installed"),
            pytest.param(
                ("--runner", "scripted", "--model", MODEL, "--batch-size", "2"), 2, id="batch"
            ),
            pytest.param(
                ("--runner", "scripted", "--model", MODEL, "--dispatch", "celery"), 2, id="celery"
            ),
            pytest.param(("--runner", "scripted"), 2, id="no-partition"),
        ],
    )
    def test_come_before_anything_is_made(self, tmp_path, arguments, exit_code):
        base = make_scripted(tmp_path, notes=1)

        done = command(base, "review_sweep", "--all-gates", *arguments)

        assert done.exit == exit_code
        assert listed(base) == {}

    def test_a_partition_of_several_models_wants_one_named(self, tmp_path):
        settings = '\n[partitions."big"]\naliases = ["big-1", "big-2"]\n'
        base = make_scripted(tmp_path, notes=1, settings=settings)

        refused = command(
            base, "review_sweep", "--all-gates", "--runner", "scripted", "--model", "big"
        )
        done = command(
            base, "review_sweep", "--all-gates", "--runner", "scripted", "--model", "big",
            "--runner-model", "big-2",
        )  # fmt: skip

        assert refused.exit == 2
        assert "big-1, big-2" in refused.err
        assert done.exit == 0

    def test_a_number_of_jobs_that_is_none_is_named(self, tmp_path):
        base = make_scripted(tmp_path, notes=1)

        done = command_with(base, {"REVIEW_SWEEP_JOBS": "many"})

        assert done.exit == 5
        assert "REVIEW_SWEEP_JOBS" in done.err


def command_with(base, env):
    from tests.helpers.commands import run_process

    return run_process(
        "review_sweep", "--all-gates", "--runner", "scripted", "--model", MODEL,
        root=base.root, env=base.env | env,
    )  # fmt: skip


def queue(base, *arguments):
    """Jobs that somebody else has queued."""
    selection = command(
        base, "review_target_selector", "--all-gates", "--model", MODEL, "--json", *arguments
    )
    command(base, "create_review_jobs", "--input", "-", "--grouping", "note", stdin=selection.out)
