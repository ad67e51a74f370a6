"""The search for what a run left: processes older than the run are passed by."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from review.runners import leftovers

pytestmark = pytest.mark.skipif(not Path("/proc/1/stat").exists(), reason="there is no /proc")

MARK = "COMMONPLACE_TEST_RUN=leftovers"


@pytest.fixture
def leader() -> Iterator[subprocess.Popen[bytes]]:
    """The first process of a run, in a session of its own."""
    command = [sys.executable, "-c", "input()"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files below `/proc` that were read whole: environments."""
    real, found = Path.read_bytes, []

    def recorded(path: Path) -> bytes:
        found.append(str(path))
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", recorded)
    return found


class TestSearch:
    def test_asks_no_older_process_for_its_environment(self, leader, asked):
        found = list(leftovers._find(MARK.encode(), leader.pid))

        assert found == [leader.pid]
        assert "/proc/1/environ" not in asked

    def test_asks_every_process_where_no_session_is_known(self, leader, asked):
        leftovers._find(MARK.encode(), None).close()
        list(leftovers._find(MARK.encode(), None))

        assert f"/proc/{leader.pid}/environ" in asked

    def test_passes_by_a_session_that_is_gone(self, leader):
        leader.kill()
        leader.wait()

        assert leftovers._started_at(leader.pid) == 0
        assert leader.pid not in list(leftovers._find(MARK.encode(), leader.pid))
