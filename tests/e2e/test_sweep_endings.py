"""Sweeps that are interrupted, killed, or not alone."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from tests.helpers.scripted import is_running, make_scripted, note
from tests.helpers.sweeping import SWEEP, command, listed, reviewed, start, sweep, wait_for

pytestmark = pytest.mark.own_stores(on_server="soak")

GATES = ("prose/x", "prose/y")


class TestInterrupted:
    @pytest.mark.parametrize(
        "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT]
    )
    def test_ends_its_children_keeps_what_they_had_and_says_130(self, tmp_path, number):
        base = make_scripted(tmp_path, notes=12, gates=GATES, script={"*": "half"})
        process = start(base, *SWEEP, "--json")
        wait_for(lambda: len(base.blocks()) == 4)

        process.send_signal(number)
        began = time.monotonic()
        out, _err = process.communicate(timeout=30)

        assert process.returncode == 130
        assert time.monotonic() - began < 20
        answer = json.loads(out)
        assert answer["stopped"] == "interrupted"
        assert answer["pairs"]["pass"] == 4
        assert answer["pairs"]["missing"] == 4
        assert answer["failures"][0]["failure_code"] == "interrupted"
        assert not any(is_running(pid) for pid in base.pids())
        jobs = listed(base)
        assert {job["status"] for job in jobs.values()} == {"failed"}
        assert {job["failure_code"] for job in jobs.values()} == {"interrupted"}
        assert len(reviewed(base)) == 4

    def test_says_so_too_where_every_job_was_under_way(self, tmp_path):
        base = make_scripted(tmp_path, notes=3, gates=GATES, script={"*": "half"})
        process = start(base, *SWEEP, "--json")
        wait_for(lambda: len(base.blocks()) == 3)

        process.send_signal(signal.SIGINT)
        out, _err = process.communicate(timeout=30)

        assert (process.returncode, json.loads(out)["stopped"]) == (130, "interrupted")
        assert len(reviewed(base)) == 3

    def test_the_next_sweep_does_the_rest_and_nothing_again(self, tmp_path):
        script = {note(n): ["half", "finished"] for n in range(4)}
        base = make_scripted(tmp_path, notes=6, gates=GATES, script=script)
        process = start(base, *SWEEP)
        wait_for(lambda: len(base.blocks()) == 4)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)

        done = sweep(base)

        assert done.exit == 0
        assert reviewed(base) == [(note(n), gate) for n in range(6) for gate in GATES]

    def test_in_a_pause_before_another_run_it_does_not_wait_for_it(self, tmp_path):
        base = make_scripted(tmp_path, notes=1, script={"*": "overloaded"})
        process = start(base, *SWEEP, "--retry-pause", "10m")
        wait_for(lambda: '"run-again"' in process.complaints())

        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)

        (job,) = listed(base).values()
        assert job["failure_code"] == "interrupted"
        assert "529" in job["failure_reason"]


class TestKilled:
    def kill(self, base, *, when):
        process = start(base, *SWEEP)
        wait_for(when)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def test_its_jobs_are_known_to_be_abandoned_with_what_their_runs_left(self, tmp_path):
        base = make_scripted(tmp_path, notes=2, gates=GATES, script={"*": "half"})
        self.kill(base, when=lambda: len(base.blocks()) == 2)

        found = command(base, "recover_review_jobs", "--json").json

        assert len(found["abandoned"]) == 2
        assert {job["output"] for job in found["abandoned"]} == {"partial"}
        assert all("is gone" in job["because"] for job in found["abandoned"])
        assert any(is_running(pid) for pid in base.pids()), "to list is not to act"
        command(base, "recover_review_jobs", "--action", "fail")
        assert not any(is_running(pid) for pid in base.pids())

    def test_an_operator_takes_in_what_its_runs_left_and_nothing_goes_on(self, tmp_path):
        base = make_scripted(tmp_path, notes=2, gates=GATES, script={"*": "half"})
        self.kill(base, when=lambda: len(base.blocks()) == 2)
        assert any(is_running(pid) for pid in base.pids())

        done = command(base, "recover_review_jobs", "--action", "ingest", "--json")

        assert len(done.json["done"]) == 2
        assert len(reviewed(base)) == 2
        assert not any(is_running(pid) for pid in base.pids())

    def test_the_next_sweep_ends_its_children_and_closes_its_jobs_first(self, tmp_path):
        script = {note(n): ["half", "finished"] for n in range(2)}
        base = make_scripted(tmp_path, notes=2, gates=GATES, script=script)
        self.kill(base, when=lambda: len(base.blocks()) == 2)

        done = sweep(base)

        salvaged = done.json["salvaged"]
        assert [(job["status"], job["pairs_kept"]) for job in salvaged] == [("failed", 1)] * 2
        assert done.json["pairs"]["pass"] == 2
        assert reviewed(base) == [(note(n), gate) for n in range(2) for gate in GATES]
        assert not any(is_running(pid) for pid in base.pids())

    def test_a_run_that_went_on_to_its_end_is_not_paid_for_twice(self, tmp_path):
        base = make_scripted(tmp_path, notes=2, gates=GATES, script={"*": "hold"})
        self.kill(base, when=lambda: base.calls().total() == 2)
        base.let_go()
        wait_for(lambda: len(base.blocks()) == 4)

        done = sweep(base)

        assert [job["status"] for job in done.json["salvaged"]] == ["completed"] * 2
        assert base.calls().total() == 2
        assert done.json["targets"] == 0
        assert len(reviewed(base)) == 4

    def test_what_it_had_queued_is_run_by_the_next(self, tmp_path):
        script = {note(n): ["hold", "finished"] for n in range(4)}
        base = make_scripted(tmp_path, notes=8, script=script)
        self.kill(base, when=lambda: base.calls().total() == 4)
        queued = [job for job in listed(base).values() if job["status"] == "queued"]

        done = sweep(base)

        assert len(queued) == 4
        assert done.json["jobs"]["completed"] == 8
        assert base.calls() == {note(n): 2 if n < 4 else 1 for n in range(8)}
        assert {listed(base)[job["review_job_id"]]["status"] for job in queued} == {"completed"}
        assert len(reviewed(base)) == 8


class TestTwoAtOnce:
    def test_share_the_work_and_review_no_pair_twice(self, tmp_path):
        base = make_scripted(tmp_path, notes=24, gates=GATES, seconds=0.02)

        processes = [start(base, *SWEEP, "--json") for _ in range(2)]
        answers = [json.loads(process.communicate(timeout=60)[0]) for process in processes]

        assert [process.returncode for process in processes] == [0, 0]
        assert all(answer["jobs"]["completed"] > 0 for answer in answers)
        assert sum(answer["jobs"]["completed"] for answer in answers) == 24
        assert reviewed(base) == [(note(n), gate) for n in range(24) for gate in GATES]
        assert base.calls() == {note(n): 1 for n in range(24)}

    def test_leave_a_live_sweep_s_jobs_alone(self, tmp_path):
        base = make_scripted(tmp_path, notes=1, script={"*": "hold"})
        first = start(base, *SWEEP)
        wait_for(lambda: base.calls().total() == 1)

        second = sweep(base)
        refused = command(base, "recover_review_jobs", "--action", "fail", 1)
        base.let_go()
        first.communicate(timeout=30)

        assert second.json["salvaged"] == []
        assert second.json["skipped"] == {"already-queued": 1}
        assert refused.exit == 4
        assert len(reviewed(base)) == 1
        assert base.calls() == {note(0): 1}
