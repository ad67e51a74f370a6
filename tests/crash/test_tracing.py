"""The harness itself: a kill strikes where it says, and a refusal refuses."""

from __future__ import annotations

import errno
import os

import pytest

from tests.crash.tracing import Moment, Plan, can_change_calls, can_trace, follow, spawn

pytestmark = pytest.mark.skipif(not can_trace(), reason="no child can be traced here")
NEEDS_REGISTERS = pytest.mark.skipif(not can_change_calls(), reason="not known for this processor")


@pytest.fixture
def run(tmp_path):
    """Traces a child that makes a file, writes twice to it, and renames it."""

    def work():
        opened = os.open(tmp_path / "draft", os.O_WRONLY | os.O_CREAT)
        try:
            os.write(opened, b"first ")
            os.write(opened, b"second")
        except OSError as error:
            return error.errno
        (tmp_path / "draft").rename(tmp_path / "done")
        return 0

    return lambda plan: follow(spawn(work), plan)


class TestPlan:
    def test_counts_what_writes_and_nothing_else(self, run, tmp_path):
        traced = run(Plan())

        assert traced.status == 0
        assert traced.calls == ["openat draft", "write draft", "write draft", "rename draft done"]
        assert (tmp_path / "done").read_bytes() == b"first second"

    @pytest.mark.parametrize(
        ("at", "moment", "content"),
        [
            pytest.param(2, Moment.BEFORE, b"", id="before-the-first-write"),
            pytest.param(2, Moment.AFTER, b"first ", id="after-the-first-write"),
            pytest.param(3, Moment.BEFORE, b"first ", id="before-the-second-write"),
            pytest.param(3, Moment.HALFWAY, b"first sec", id="in-the-second-write",
                         marks=NEEDS_REGISTERS),
            pytest.param(4, Moment.BEFORE, b"first second", id="before-the-rename"),
        ],
    )  # fmt: skip
    def test_kills_exactly_there(self, run, tmp_path, at, moment, content):
        traced = run(Plan(at=at, moment=moment))

        assert traced.status == -9
        assert (tmp_path / "draft").read_bytes() == content

    def test_kills_after_a_rename_that_is_done(self, run, tmp_path):
        run(Plan(at=4, moment=Moment.AFTER))

        assert [path.name for path in tmp_path.iterdir()] == ["done"]

    @NEEDS_REGISTERS
    def test_refuses_from_there_on(self, run, tmp_path):
        traced = run(Plan(at=3, error=errno.ENOSPC, below=str(tmp_path)))

        assert traced.status == errno.ENOSPC
        assert (tmp_path / "draft").read_bytes() == b"first "

    @NEEDS_REGISTERS
    def test_refuses_nothing_elsewhere(self, run, tmp_path):
        traced = run(Plan(at=1, error=errno.ENOSPC, below=str(tmp_path / "other")))

        assert traced.status == 0

    def test_runs_a_command_and_lets_the_child_go_on(self, run, tmp_path):
        traced = run(Plan(at=4, command=("touch", str(tmp_path / "witness"))))

        assert traced.status == 0
        assert sorted(path.name for path in tmp_path.iterdir()) == ["done", "witness"]
