"""What a command says when nobody can be told: a device without room, a reader that waits, closed streams."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.builders import NOTE, make_root
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
        assert "what the command stored is kept" in told["message"]
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
    def test_is_named_where_nothing_is_stored(self, root, argv, unbuffered):
        code, _out, err = run(root, *argv, unbuffered=unbuffered)

        assert code == 1
        assert f"the answer could not be written: {NO_ROOM}" in err
        assert "Traceback" not in err

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

    def test_that_nobody_reads_any_more_change_no_exit_code(self, root, selection, unbuffered):
        create = ("create_review_jobs", "--input", str(selection), "--grouping", "note")
        said = {}
        for argv in (create, ("render_review", "--note", "nope")):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run(
                [sys.executable, str(REPOSITORY / "manage.py"), *argv],
                cwd=root,
                env=process_environment(root) | {"PYTHONUNBUFFERED": unbuffered},
                stdout=subprocess.PIPE,
                stderr=writer,
                check=False,
            )
            os.close(writer)
            said[argv[0]] = (done.returncode, done.stdout[:6])

        assert said == {"create_review_jobs": (0, b"job 1:"), "render_review": (5, b"")}


PIPE_HOLDS = 65_536


SELECT = ("review_target_selector", "--all-gates", "--model", "m", "--json")


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A base with a store, and so many notes that a selection is longer than a pipe holds."""
    root = make_root(tmp_path, notes={f"n{number:04}.md": NOTE for number in range(800)})
    run_process(*SELECT, root=root)
    return root


def start(root: Path, *, out: int, unbuffered: str, limit: int = 0) -> subprocess.Popen[bytes]:
    bound = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit))
    return subprocess.Popen(
        [sys.executable, str(REPOSITORY / "manage.py"), *SELECT],
        cwd=root,
        env=process_environment(root) | {"PYTHONUNBUFFERED": unbuffered},
        stdout=out,
        stderr=subprocess.PIPE,
        preexec_fn=bound if limit else None,
    )


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until, "it did not come to that in a minute"
        time.sleep(0.02)


def held(pipe: int) -> int:
    """Bytes that wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"0000"), sys.byteorder)


@pytest.mark.parametrize("unbuffered", BUFFERING)
class TestLongAnswer:
    def test_to_a_file_that_may_not_grow_so_long_is_refused(self, many, tmp_path, unbuffered):
        # The last write takes a part, as one to a disk that fills up does.
        limit = len(run_process(*SELECT, root=many).out.encode()) - 10
        with (
            (tmp_path / "cut").open("wb") as out,
            start(many, out=out.fileno(), unbuffered=unbuffered, limit=limit) as running,
        ):
            _out, err = running.communicate(timeout=60)

        assert running.returncode == 1
        assert json.loads(err.splitlines()[-1])["code"] == "answer-not-written"

    @pytest.mark.parametrize("way", ["stopped", "not to wait"])
    def test_is_whole_though_its_reader_waits(self, many, unbuffered, way):
        whole = run_process(*SELECT, root=many).out.encode()
        reader, writer = os.pipe()
        os.set_blocking(writer, way == "stopped")
        with start(many, out=writer, unbuffered=unbuffered) as running:
            os.close(writer)
            # Short writes leave the pages of a full pipe partly empty.
            wait_until(lambda: held(reader) > PIPE_HOLDS // 2)
            if way == "stopped":
                running.send_signal(signal.SIGSTOP)
                time.sleep(0.1)
                running.send_signal(signal.SIGCONT)
            time.sleep(0.1)
            with os.fdopen(reader, "rb") as stream:
                read = stream.read()

        assert running.returncode == 0
        assert len(read) > PIPE_HOLDS
        assert read == whole

    def test_that_is_not_read_on_ends_as_a_broken_pipe(self, many, unbuffered):
        reader, writer = os.pipe()
        with start(many, out=writer, unbuffered=unbuffered) as running:
            os.close(writer)
            os.read(reader, 100)
            os.close(reader)

        assert running.returncode == 141


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
