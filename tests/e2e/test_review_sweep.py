"""`review_sweep` and `run_gate_sweep`: scope, packing, plans, progress and refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.helpers.commands import REPOSITORY, process_environment
from tests.helpers.forked import run_forked
from tests.helpers.scripted import MODEL, make_scripted, note
from tests.helpers.sweeping import SWEEP, command, listed, reviewed, sweep

pytestmark = pytest.mark.own_stores

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

    def test_rules_are_swept_like_any_model_in_one_job_a_note(self, tmp_path):
        base = make_scripted(tmp_path, notes=2, gates=("prose/x",))
        gates = base.root / "kb/instructions/review-gates"
        for lens, rule in (("prose", "missing-title"), ("links", "bare-urls")):
            (gates / lens).mkdir(exist_ok=True)
            head = f"gate_id: {lens}/rule\nname: rule\nlens: {lens}\nrule: {rule}"
            (gates / f"{lens}/rule.md").write_text(f"---\n{head}\n---\n\nWell?\n")

        done = command(
            base, "review_sweep", "--all-gates", "--runner", "rules", "--model", "rules", "--json"
        )

        assert done.exit == 0
        assert done.json["pairs"]["pass"] == 4
        gate_ids = ("links/rule", "prose/rule")
        assert reviewed(base) == [(note(at), gate_id) for at in (0, 1) for gate_id in gate_ids]
        assert done.json["jobs"]["completed"] == 2  # one reading of a note serves all its rules

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


class TestOnATerminal:
    def watched(self, base, **env):
        """What a sweep draws on a terminal of its own, and what it answers."""
        ours, theirs = os.openpty()
        process = subprocess.Popen(
            [sys.executable, str(REPOSITORY / "manage.py"), *SWEEP],
            cwd=base.root,
            env=process_environment(base.root)
            | base.env
            | {"TERM": "xterm", "COLUMNS": "150"}
            | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
        )
        os.close(theirs)
        drawn = b""
        # The end of a terminal whose other side is closed is an error to the reader.
        with suppress(OSError):
            while chunk := os.read(ours, 65536):
                drawn += chunk
        os.close(ours)
        return drawn.decode(), process.communicate(timeout=30)[0]

    def test_shows_pairs_rate_cost_and_time_left_and_what_fails(self, tmp_path):
        base = make_scripted(tmp_path, notes=4, script={note(1): "broken"}, seconds=0.2)

        drawn, answer = self.watched(base)

        assert "4/4" in drawn
        assert "/min" in drawn
        assert "cost unknown" in drawn
        assert "left" in drawn
        assert "job 2: failed: runner-error: it broke" in drawn
        assert "sweep-event" not in drawn
        assert "jobs: completed 3, failed 1" in answer

    def test_that_cannot_redraw_a_line_gets_the_events(self, tmp_path):
        base = make_scripted(tmp_path, notes=1)

        drawn, _answer = self.watched(base, TERM="dumb")

        assert '"event":"job-finished"' in drawn


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
                ("--runner", "scripted", "--model", MODEL, "--dispatch", "celery"),
                5,
                id="no-broker",
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
    return run_forked(
        "review_sweep", "--all-gates", "--runner", "scripted", "--model", MODEL,
        root=base.root, env=base.env | env,
    )  # fmt: skip


def queue(base, *arguments):
    """Jobs that somebody else has queued."""
    selection = command(
        base, "review_target_selector", "--all-gates", "--model", MODEL, "--json", *arguments
    )
    command(base, "create_review_jobs", "--input", "-", "--grouping", "note", stdin=selection.out)
