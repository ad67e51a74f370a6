"""What a command says when nobody can be told: a device without room, and streams that are closed."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.builders import make_root
from tests.helpers.commands import REPOSITORY, process_environment, run_process

NO_ROOM = "No space left on device on standard output"
BUFFERING = [pytest.param("", id="buffered"), pytest.param("1", id="unbuffered")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


@pytest.fixture
def selection(root: Path) -> Path:
    chosen = root / "selection.json"
    options = ("--all-gates", "--model", "m", "--json")
    chosen.write_text(run_process("review_target_selector", *options, root=root).out)
    return chosen


def run(
    root: Path, *argv: object, out: object = "/dev/full", err: object = None, unbuffered: str = ""
) -> tuple[int, str, str]:
    """A real command; `out` and `err` are files to write to, or None to be read."""
    with ExitStack() as opened:
        streams = [
            opened.enter_context(Path(str(where)).open("wb")) if where else subprocess.PIPE
            for where in (out, err)
        ]
        done = subprocess.run(
            [sys.executable, str(REPOSITORY / "manage.py"), *map(str, argv)],
            cwd=root,
            env=process_environment(root) | {"PYTHONUNBUFFERED": unbuffered},
            stdin=subprocess.DEVNULL,
            stdout=streams[0],
            stderr=streams[1],
            check=False,
        )
    return done.returncode, (done.stdout or b"").decode(), (done.stderr or b"").decode()


def jobs(root: Path) -> int:
    return len(run_process("review_job_list", "--json", root=root).json["jobs"])


@pytest.mark.parametrize("unbuffered", BUFFERING)
class TestAnswerWithoutRoom:
    def test_is_named_and_what_was_done_is_kept(self, root, selection, unbuffered):
        create = ("create_review_jobs", "--input", selection, "--grouping", "note", "--json")

        code, _out, err = run(root, *create, unbuffered=unbuffered)

        told = json.loads(err.splitlines()[-1])
        assert (code, told["exit"], told["code"]) == (1, 1, "answer-not-written")
        assert NO_ROOM in told["message"]
        assert "what the command did is stored" in told["message"]
        assert jobs(root) == 1

    @pytest.mark.parametrize(
        "argv",
        [
            pytest.param(("review_status", "--json"), id="reads"),
            pytest.param(("resolve_gates",), id="needs-no-store"),
            pytest.param(("help",), id="help"),
            pytest.param(("version",), id="version"),
        ],
    )
    def test_of_what_stores_nothing_promises_nothing(self, root, argv, unbuffered):
        code, _out, err = run(root, *argv, unbuffered=unbuffered)

        assert code == 1
        assert f"the answer could not be written: {NO_ROOM}" in err
        assert "stored" not in err
        assert "Traceback" not in err

    def test_of_a_rehearsal_promises_nothing(self, root, selection, unbuffered):
        create = ("create_review_jobs", "--input", selection, "--grouping", "note", "--dry-run")

        _code, _out, err = run(root, *create, unbuffered=unbuffered)

        assert NO_ROOM in err
        assert "stored" not in err

    def test_hides_no_refusal(self, root, unbuffered):
        code, _out, err = run(
            root, *("create_review_jobs", "--input", "nowhere", "--grouping", "note"),
            unbuffered=unbuffered,
        )  # fmt: skip

        assert code == 5
        assert "nowhere" in err


@pytest.mark.parametrize("unbuffered", BUFFERING)
class TestNoticesWithoutRoom:
    def test_end_no_command(self, root, selection, unbuffered):
        create = ("create_review_jobs", "--input", selection, "--grouping", "note")

        code, out, _err = run(root, *create, out=None, err="/dev/full", unbuffered=unbuffered)

        assert code == 0
        assert out.startswith("job 1:")

    def test_change_no_exit_code(self, root, unbuffered):
        refused = run(root, "review_status", "--nope", err="/dev/full", unbuffered=unbuffered)
        lost = run(root, "review_status", err="/dev/full", unbuffered=unbuffered)

        assert (refused[0], lost[0]) == (2, 1)


class TestClosedStreams:
    @pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
    def test_are_streams_that_nobody_reads(self, root, selection, closed):
        command = f"exec '{sys.executable}' '{REPOSITORY}/manage.py' create_review_jobs"
        done = subprocess.run(
            ["/bin/sh", "-c", f"{command} --input '{selection}' --grouping note {closed}"],
            cwd=root,
            env=process_environment(root),
            capture_output=True,
            check=False,
        )

        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
        assert jobs(root) == 1
