"""Sweeps as processes on the store of the test, which is a server's where the suite runs on one."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.helpers.commands import shared_store
from tests.helpers.scripted import is_running, make_scripted, note
from tests.helpers.sweeping import SWEEP, reviewed, start, sweep, wait_for

GATES = ("prose/x", "prose/y")

pytestmark = pytest.mark.django_db(transaction=True)


class TestProcesses:
    def test_two_sweeps_at_once_share_the_work(self, tmp_path):
        base = make_scripted(tmp_path, notes=14, gates=GATES, seconds=0.02, store=shared_store())

        processes = [start(base, *SWEEP, "--json") for _ in range(2)]
        answers = [json.loads(process.communicate(timeout=60)[0]) for process in processes]

        assert sum(answer["jobs"]["completed"] for answer in answers) == 14
        assert reviewed(base) == [(note(n), gate) for n in range(14) for gate in GATES]
        assert base.calls() == {note(n): 1 for n in range(14)}

    def test_the_sweep_after_a_killed_one_ends_its_children_and_takes_in_what_they_wrote(
        self, tmp_path
    ):
        script = {note(n): ["half", "finished"] for n in range(2)}
        base = make_scripted(tmp_path, notes=2, gates=GATES, script=script, store=shared_store())
        killed = start(base, *SWEEP)
        wait_for(lambda: len(base.blocks()) == 2)
        os.kill(killed.pid, signal.SIGKILL)
        killed.communicate()

        done = sweep(base)

        assert [job["pairs_kept"] for job in done.json["salvaged"]] == [1, 1]
        assert reviewed(base) == [(note(n), gate) for n in range(2) for gate in GATES]
        assert not any(is_running(pid) for pid in base.pids())
