"""A process is alive when its number and its start time are; in doubt it is."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from review.runners.process_table import ProcessTable

BOOTED = datetime(2026, 1, 1, tzinfo=UTC)
TICKS = os.sysconf("SC_CLK_TCK")
STARTED = BOOTED + timedelta(seconds=100)


def table(*, name: str = "python", state: str = "S", started_after: float = 100.0) -> ProcessTable:
    """A host with one process, number 7."""
    before_start = " ".join("0" for _field in range(18))
    stat = f"7 ({name}) {state} {before_start} {int(started_after * TICKS)} 0 0"
    files = {"stat": f"cpu 1 2 3\nbtime {int(BOOTED.timestamp())}\n", "7/stat": stat}

    def read(path: str) -> str:
        try:
            return files[path]
        except KeyError:
            raise FileNotFoundError(path) from None

    return ProcessTable(read)


class TestAlive:
    def test_is_a_process_with_the_same_number_and_start(self):
        assert table().is_alive(7, started_at=STARTED)

    @pytest.mark.parametrize(
        "name",
        [
            pytest.param("a) S 1 (b", id="parentheses-in-its-name"),
            pytest.param("two words", id="blank-in-its-name"),
            pytest.param(")", id="only-a-parenthesis"),
        ],
    )
    def test_whatever_it_is_called(self, name):
        assert table(name=name).is_alive(7, started_at=STARTED)

    def test_a_little_off_is_the_same_start(self):
        assert table().is_alive(7, started_at=STARTED + timedelta(seconds=30))

    def test_without_a_known_start_the_number_is_enough(self):
        assert table().is_alive(7, started_at=None)

    def test_in_doubt_it_is(self):
        def unreadable(path: str) -> str:
            raise PermissionError(path)

        assert ProcessTable(unreadable).is_alive(os.getpid(), started_at=STARTED)


class TestGone:
    def test_is_a_number_nobody_has(self):
        assert not table().is_alive(8, started_at=STARTED)

    def test_is_a_number_that_was_given_out_again(self):
        assert not table(started_after=5000).is_alive(7, started_at=STARTED)

    @pytest.mark.parametrize("state", ["Z", "X"])
    def test_is_what_only_waits_to_be_collected(self, state):
        assert not table(state=state).is_alive(7, started_at=STARTED)

    def test_can_be_told_without_a_process_file_system(self):
        def absent(path: str) -> str:
            raise FileNotFoundError(path)

        child = subprocess.Popen([sys.executable, "-c", ""])
        child.wait()

        assert not ProcessTable(absent).is_alive(child.pid, started_at=None)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="no /proc here")  # noqa: PTH110
class TestThisHost:
    def test_knows_itself(self):
        processes = ProcessTable()
        me = processes.me()

        assert (me.host, me.pid) == (socket.gethostname(), os.getpid())
        assert processes.is_alive(me.pid, started_at=me.started_at)

    def test_sees_a_process_that_was_killed_and_not_yet_collected_as_gone(self):
        processes = ProcessTable()
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        assert processes.is_alive(child.pid, started_at=datetime.now(UTC))

        child.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

        assert not processes.is_alive(child.pid, started_at=datetime.now(UTC))
        child.communicate()
