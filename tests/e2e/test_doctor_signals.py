"""`review_doctor` that is asked to end in the middle: at once, in one line, and the next run finishes."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from review.store.opening import known_migrations
from tests.helpers.commands import REPOSITORY, process_environment
from tests.helpers.forked import run_forked
from tests.helpers.stopped_doctor import IN_A_STATEMENT
from tests.stores.make import FILES_OF_JOBS, STORE, unpack

TODAY = max(known_migrations())
HANGS = 60  # seconds; a guard, never a measure
ENDS = {"SIGINT": (130, "error: interrupted\n"), "SIGTERM": (-signal.SIGTERM, "")}
CHECK, REPAIR, PRUNE = ("--check",), ("--repair",), ("--prune", "--yes")
BOTH = [pytest.param("SIGINT", id="ctrl-c"), pytest.param("SIGTERM", id="sigterm")]


@pytest.fixture
def root(tmp_path):
    """A base in which everything occurred, whose files of jobs and acceptances want repair."""
    unpack(TODAY, tmp_path)
    for name in ("MANIFEST.json", "pair-*.md"):
        for file in (tmp_path / FILES_OF_JOBS).glob(f"*/{name}"):
            file.unlink()
    with closing(sqlite3.connect(tmp_path / STORE)) as connection, connection:
        connection.execute("DELETE FROM review_current_acceptances WHERE id % 2 = 0")
    return tmp_path


@pytest.fixture
def whole(root):
    """The same, after its repair."""
    assert run_forked("review_doctor", "--repair", root=root).exit == 0
    return root


def start(root, point, name, *args):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.stopped_doctor", point, str(name), *args],
        cwd=REPOSITORY,
        env=process_environment(root),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end_of(process):
    """Its exit code and its words."""
    try:
        _out, err = process.communicate(timeout=HANGS)
    finally:
        process.kill()
    return process.returncode, err


def files_of(root):
    """What lies in the folders of jobs; what was never finished there has a hidden name."""
    folder = root / FILES_OF_JOBS
    files = [file for file in folder.rglob("*") if file.is_file() and file.name[0] != "."]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def rows_of(root):
    """What a repair and a removal may write, but the moments of events."""
    with closing(sqlite3.connect(root / STORE)) as connection:
        current = "model_partition_id, note_id, gate_id, event_id, decision"
        statements = (
            f"SELECT {current} FROM review_current_acceptances ORDER BY {current}",  # noqa: S608
            "SELECT DISTINCT job_id, to_status, note FROM review_job_events ORDER BY 1, 2, 3",
        )
        return [connection.execute(statement).fetchall() for statement in statements]


def undisturbed(root, args, tmp_path_factory):
    """What the same run leaves that nobody asked to end."""
    other = tmp_path_factory.mktemp("undisturbed") / "root"
    subprocess.run(["cp", "-a", root, other], check=True)
    assert run_forked("review_doctor", *args, root=other).exit == 0
    return files_of(other), rows_of(other)


class TestInTheMiddle:
    @pytest.mark.parametrize(
        ("point", "name"),
        [
            ("among-invariants", "SIGINT"),
            ("among-hashes", "SIGINT"),
            ("among-files-of-jobs", "SIGINT"),
            ("among-files-of-jobs", "SIGTERM"),
        ],
    )
    def test_of_a_check_it_changes_nothing(self, whole, point, name):
        before = files_of(whole), rows_of(whole)

        assert end_of(start(whole, point, name, *CHECK)) == ENDS[name]

        assert (files_of(whole), rows_of(whole)) == before
        assert run_forked("review_doctor", *CHECK, root=whole).exit == 0

    @pytest.mark.parametrize("name", BOTH)
    @pytest.mark.parametrize("point", ["among-events", "in-a-file", "among-repairs"])
    def test_of_a_repair_the_next_one_finishes(self, root, point, name, tmp_path_factory):
        expected = undisturbed(root, REPAIR, tmp_path_factory)
        before = files_of(root), rows_of(root)

        assert end_of(start(root, point, name, *REPAIR)) == ENDS[name]

        assert (files_of(root), rows_of(root)) != expected
        is_begun = (files_of(root), rows_of(root)) != before
        assert is_begun is (point != "among-events")
        assert run_forked("review_doctor", *REPAIR, root=root).exit == 0
        assert (files_of(root), rows_of(root)) == expected
        assert run_forked("review_doctor", *CHECK, root=root).exit == 0

    @pytest.mark.parametrize("name", BOTH)
    @pytest.mark.parametrize("point", ["before-removals", "among-removals"])
    def test_of_a_removal_the_next_one_finishes(self, whole, point, name, tmp_path_factory):
        expected = undisturbed(whole, PRUNE, tmp_path_factory)

        assert end_of(start(whole, point, name, *PRUNE)) == ENDS[name]

        assert files_of(whole) != expected[0]
        assert run_forked("review_doctor", *CHECK, root=whole).exit == 0
        assert run_forked("review_doctor", *PRUNE, root=whole).exit == 0
        assert (files_of(whole), rows_of(whole)) == expected
        assert run_forked("review_doctor", *CHECK, root=whole).exit == 0


class TestInAStatement:
    """SQLite works outside of Python, where no signal is heard."""

    def test_ctrl_c_ends_it_at_once(self, whole, tmp_path):
        begun = tmp_path / "begun"
        process = start(whole, IN_A_STATEMENT, begun, *CHECK)
        wait_until_it_computes(process, begun)

        process.send_signal(signal.SIGINT)

        assert end_of(process) == ENDS["SIGINT"]
        assert run_forked("review_doctor", *CHECK, root=whole).exit == 0


def wait_until_it_computes(process, begun):
    """Wait until the process has used a processor for ten times what is left before the statement."""
    deadline = time.monotonic() + HANGS
    while time.monotonic() < deadline and process.poll() is None and not begun.exists():
        time.sleep(0.01)
    used = processor_seconds(process.pid)
    while time.monotonic() < deadline and processor_seconds(process.pid) < used + 0.2:
        time.sleep(0.01)


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
