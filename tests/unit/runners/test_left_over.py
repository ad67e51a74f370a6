"""What a run leaves whose parent was killed: it is ended, and what it wrote is found again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from review.runners.registry import UnknownRunner
from review.runners.run import collect_run, end_left_over, forget_run
from review.vocabulary import FailureCode
from tests.helpers.commands import REPOSITORY
from tests.helpers.fake_runners import OUTPUT, TOKEN, Fake, fake_config
from tests.unit.runners.test_process import running_with

PARENT = """
import sys
from django.conf import settings
settings.configure()
from pathlib import Path
from tests.helpers.fake_runners import Fake
Fake(sys.argv[1], sys.argv[2], timeout=600).run(Path(sys.argv[3]))
"""


def until(condition: Callable[[], bool]) -> None:
    """Wait for something, not for ever."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def killed_run(folder: Path, runner: str, case: str, *, when: Callable[[], bool]) -> str:
    """Run a fake in a parent that is killed; the mark of all that the parent started."""
    mark = f"FAKE_MARK={os.urandom(8).hex()}"
    name, _, value = mark.partition("=")
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, runner, case, str(folder)],
        cwd=REPOSITORY,
        env={**os.environ, name: value},
    )
    try:
        until(when)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    return mark


class TestAfterTheParentWasKilled:
    def test_its_worker_is_ended_with_all_that_it_started(self, tmp_path):
        files = tmp_path / "files"
        mark = killed_run(
            tmp_path, "text", "hangs-with-grandchildren",
            when=lambda: len(running_with_session(tmp_path)) >= 3,
        )  # fmt: skip
        assert running_with(mark)

        left = end_left_over(files)

        assert not left
        assert not running_with(mark)

    def test_half_of_its_answer_is_found(self, tmp_path):
        files = tmp_path / "files"
        killed_run(tmp_path, "text", "half-a-block", when=lambda: b"/2:" in read(files / "stdout"))
        end_left_over(files)

        outcome = collect_run(files, config=fake_config(tmp_path))

        assert outcome.failure.code == FailureCode.INTERRUPTED
        assert f"PAIR REVIEW END {TOKEN}/1".encode() in outcome.text

    def test_the_file_in_its_scratch_folder_is_found(self, tmp_path):
        ran = Fake("file", "wrote-file").run(tmp_path)
        forget_how_it_ended(ran.files)

        outcome = collect_run(ran.files, config=fake_config(tmp_path))

        assert outcome.text == (tmp_path / "scratch" / OUTPUT).read_bytes()

    def test_the_file_is_found_though_the_scratch_folder_is_gone(self, tmp_path):
        ran = Fake("file", "wrote-file").run(tmp_path)
        shutil.rmtree(ran.scratch)

        assert collect_run(ran.files, config=fake_config(tmp_path)) == ran.outcome

    def test_a_run_that_had_ended_is_judged_as_if_its_parent_lived(self, tmp_path):
        ran = Fake("claude-code").run(tmp_path)

        assert collect_run(ran.files, config=fake_config(tmp_path)) == ran.outcome

    def test_a_failure_that_had_ended_stays_one(self, tmp_path):
        ran = Fake("claude-code", "rate-limited").run(tmp_path)

        assert collect_run(ran.files, config=fake_config(tmp_path)) == ran.outcome


class TestWithoutARun:
    def test_nothing_is_ended_and_nothing_found(self, tmp_path):
        assert not end_left_over(tmp_path)
        assert collect_run(tmp_path, config=fake_config(tmp_path)) is None
        forget_run(tmp_path)

    @pytest.mark.parametrize("record", ["", "[]", "{}", '{"mark": 3}', '{"mark": "A=b"}', "\0"])
    def test_a_record_that_is_none_is_no_run(self, record, tmp_path):
        (tmp_path / "run.json").write_text(record)

        assert collect_run(tmp_path, config=fake_config(tmp_path)) is None
        assert not end_left_over(tmp_path)

    def test_no_record_makes_us_kill_what_is_not_a_runs_own(self, tmp_path):
        files = Fake("text").run(tmp_path).files
        record = json.loads((files / "run.json").read_text())
        name, _, value = f"FAKE_MARK={os.urandom(8).hex()}".partition("=")
        (files / "run.json").write_text(json.dumps({**record, "mark": f"{name}={value}"}))
        bystander = subprocess.Popen(["/bin/sleep", "60"], env={name: value})

        end_left_over(files)

        assert bystander.poll() is None
        bystander.kill()
        bystander.wait()

    def test_a_runner_that_is_declared_no_more_is_named(self, tmp_path):
        files = Fake("text").run(tmp_path).files
        record = json.loads((files / "run.json").read_text())
        (files / "run.json").write_text(json.dumps({**record, "runner": "gone"}))

        with pytest.raises(UnknownRunner, match="gone"):
            collect_run(files, config=fake_config(tmp_path))


class TestForget:
    def test_removes_a_scratch_folder_of_ours_only(self, tmp_path):
        ran = Fake("text").run(tmp_path)
        ours = tmp_path / "commonplace-run-x"
        ours.mkdir()

        forget_run(ran.files)
        assert ran.scratch.exists()

        record = json.loads((ran.files / "run.json").read_text())
        (ran.files / "run.json").write_text(json.dumps({**record, "scratch": str(ours)}))
        forget_run(ran.files)
        assert not ours.exists()


def read(path: Path) -> bytes:
    """A file's bytes, none while it is not there."""
    return path.read_bytes() if path.exists() else b""


def running_with_session(folder: Path) -> list[int]:
    """What runs with the mark that the run's record names."""
    record = read(folder / "files" / "run.json")
    return running_with(json.loads(record)["mark"]) if record else []


def forget_how_it_ended(files: Path) -> None:
    """As if the parent had been killed before it saw the end."""
    record = json.loads((files / "run.json").read_text())
    (files / "run.json").write_text(json.dumps({**record, "result": None}))
    (files / "output.md").unlink(missing_ok=True)
