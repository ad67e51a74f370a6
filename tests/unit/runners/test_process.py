"""What a process may do: hang, ignore signals, leave children, flood; the run still ends in time."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from review.runners.process.run import (
    ProcessRequest,
    ProcessResult,
    ProgramNotStarted,
    new_mark,
    run_process,
)
from review.vocabulary import FailureCode
from tests.helpers.fake_runners import TOKEN, Fake

TIMEOUT = 0.6
SLACK = 2.0
MB = 1_000_000


def request_for(folder: Path, *argv: str, **changes: object) -> ProcessRequest:
    """A request that runs `argv` in `folder`."""
    values = {
        "argv": argv,
        "stdin_path": None,
        "cwd": folder,
        "env": dict(os.environ),
        "stdout_path": folder / "out",
        "stderr_path": folder / "err",
        "timeout": 20.0,
        "max_bytes": MB,
        "mark": new_mark(),
        **changes,
    }
    return ProcessRequest(**values)  # type: ignore[arg-type]


def run_python(folder: Path, code: str, **changes: object) -> ProcessResult:
    """Run a line of Python."""
    request = request_for(folder, sys.executable, "-S", "-c", code, **changes)
    return run_process(request, stop=threading.Event())


def running_with(mark: str) -> list[int]:
    """The processes of this machine whose environment holds `mark`, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes() if entry.name.isdecimal() else b""
        except OSError:
            continue
        if mark.encode() in environment.split(b"\0"):
            found.append(int(entry.name))
    return found


def zombies_of(parent: int) -> list[str]:
    """Children of `parent` that ended and were not waited for."""
    states = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, ppid = stat.read_text().rpartition(")")[2].split()[:2]
            states += [stat.parent.name] if (state, ppid) == ("Z", str(parent)) else []
    return states


def marked(fake: Fake) -> tuple[Fake, str]:
    """The fake with a variable of its own, which all that it starts inherits."""
    mark = f"FAKE_MARK={os.urandom(8).hex()}"
    name, _, value = mark.partition("=")
    return Fake(
        fake.runner, fake.case, timeout=fake.timeout, stop=fake.stop, environ={name: value}
    ), mark


class TestEndsInTime:
    @pytest.mark.parametrize(
        "case", ["hangs", "ignores-signals", "hangs-with-grandchildren", "half-a-block", "flood"]
    )
    def test_within_the_timeout_and_two_seconds_and_nothing_is_left(self, case, tmp_path):
        fake, mark = marked(Fake("text", case, timeout=TIMEOUT))

        ran = fake.run(tmp_path, max_bytes=MB)

        assert ran.seconds < TIMEOUT + SLACK
        assert ran.outcome.failure.code == FailureCode.RUNNER_TIMEOUT
        assert not running_with(mark)

    @pytest.mark.parametrize("runner", ["claude-code", "codex", "gemini"])
    def test_when_the_service_is_silent(self, runner, tmp_path):
        ran = Fake(runner, "silent", timeout=TIMEOUT).run(tmp_path)

        assert ran.seconds < TIMEOUT + SLACK
        assert ran.outcome.failure.code == FailureCode.RUNNER_TIMEOUT
        assert "not done within 0.6 seconds" in ran.outcome.failure.reason

    def test_at_once_when_it_is_done_though_grandchildren_hold_its_streams(self, tmp_path):
        fake, mark = marked(Fake("text", "keeps-grandchildren", timeout=30))

        ran = fake.run(tmp_path)

        assert ran.outcome.failure is None
        assert ran.seconds < SLACK
        assert not running_with(mark)

    def test_when_it_is_stopped(self, tmp_path):
        stop = threading.Event()
        fake, mark = marked(Fake("text", "hangs-with-grandchildren", timeout=60, stop=stop))
        threading.Timer(0.4, stop.set).start()

        ran = fake.run(tmp_path)

        assert ran.seconds < 0.4 + SLACK
        assert ran.outcome.failure.code == FailureCode.INTERRUPTED
        assert not running_with(mark)

    def test_before_it_began_when_it_was_stopped_already(self, tmp_path):
        stop = threading.Event()
        stop.set()

        ran = Fake("text", stop=stop).run(tmp_path)

        assert ran.outcome.failure.code == FailureCode.INTERRUPTED
        assert not (tmp_path / "files").exists()

    def test_six_at_a_time_of_which_two_hang(self, tmp_path):
        cases = ["ok", "hangs-with-grandchildren", "ok", "ok", "ignores-signals", "ok"]
        fakes = [marked(Fake("text", case, timeout=2.0)) for case in cases]
        folders = [tmp_path / str(number) for number in range(len(cases))]
        for folder in folders:
            folder.mkdir()
        begun = time.monotonic()

        with ThreadPoolExecutor(len(cases)) as pool:
            runs = list(
                pool.map(lambda pair: pair[0][0].run(pair[1]), zip(fakes, folders, strict=True))
            )

        assert time.monotonic() - begun < 2.0 + SLACK
        failures = [ran.outcome.failure for ran in runs]
        assert [failure is None for failure in failures] == [case == "ok" for case in cases]
        assert not any(running_with(mark) for _fake, mark in fakes)


class TestKeepsWhatWasWritten:
    def test_half_a_block_and_the_whole_one_before_it(self, tmp_path):
        outcome = Fake("text", "half-a-block", timeout=TIMEOUT).run(tmp_path).outcome

        assert f"PAIR REVIEW END {TOKEN}/1".encode() in outcome.text
        assert f"PAIR REVIEW END {TOKEN}/2".encode() not in outcome.text

    def test_the_answer_of_a_cli_that_is_done_and_hangs(self, tmp_path):
        outcome = Fake("claude-code", "done-but-hangs", timeout=TIMEOUT).run(tmp_path).outcome

        assert outcome.failure.code == FailureCode.RUNNER_TIMEOUT
        assert f"PAIR REVIEW END {TOKEN}/2".encode() in outcome.text

    def test_bytes_that_are_no_text(self, tmp_path):
        outcome = Fake("text", "invalid-utf8").run(tmp_path).outcome

        assert outcome.text.endswith(b"\xff\xfe\x80 tail\n")

    def test_ten_megabytes_to_the_last_byte(self, tmp_path):
        ran = Fake("text", "ten-megabytes").run(tmp_path)

        assert len(ran.outcome.text) > 10 * MB
        assert ran.outcome.text == (ran.files / "stdout").read_bytes()


class TestCap:
    def test_a_flood_is_cut_off_and_the_beginning_kept(self, tmp_path):
        code = "import sys\nfor n in range(400000): sys.stdout.write(f'{n:09}\\n')"

        result = run_python(tmp_path, code, max_bytes=MB)

        kept = (tmp_path / "out").read_bytes()
        assert result.stdout_truncated
        assert len(kept) == MB
        assert kept == b"".join(b"%09d\n" % n for n in range(MB // 10))

    def test_an_answer_that_was_cut_off_is_no_success(self, tmp_path):
        outcome = Fake("text", "ten-megabytes").run(tmp_path, max_bytes=MB).outcome

        assert (
            outcome.failure.reason == "it printed more than 1,000,000 bytes; the rest was cut off"
        )

    def test_what_fits_exactly_is_whole(self, tmp_path):
        result = run_python(tmp_path, f"print('x' * {MB}, end='')", max_bytes=MB)

        assert not result.stdout_truncated


class TestStart:
    def test_stdin_is_the_prompt_to_its_end(self, tmp_path):
        (tmp_path / "prompt").write_bytes(b"--- not an option\n" * 8_000)
        code = "import sys; print(len(sys.stdin.buffer.read()))"

        run_python(tmp_path, code, stdin_path=tmp_path / "prompt")

        assert (tmp_path / "out").read_text() == "144000\n"

    def test_without_a_prompt_stdin_is_at_its_end(self, tmp_path):
        run_python(tmp_path, "import sys; print(sys.stdin.buffer.read())")

        assert (tmp_path / "out").read_text() == "b''\n"

    def test_the_process_leads_a_session_of_its_own(self, tmp_path):
        run_python(tmp_path, "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0))")

        assert (tmp_path / "out").read_text() == "True\n"

    def test_no_file_of_ours_is_open_in_it(self, tmp_path):
        with (tmp_path / "secret").open("w") as held:
            os.set_inheritable(held.fileno(), True)

            run_python(tmp_path, f"import os; os.fstat({held.fileno()})")

        assert "Bad file descriptor" in (tmp_path / "err").read_text()

    def test_a_signal_is_told_from_an_exit_code(self, tmp_path):
        killed = run_python(tmp_path, "import os; os.kill(os.getpid(), 9)")
        left = run_python(tmp_path, "import sys; sys.exit(137)")

        assert killed.exit_code == -9
        assert left.exit_code == 137

    @pytest.mark.parametrize(
        ("argv", "says"),
        [
            pytest.param(["no-such-program"], "'no-such-program': No such file", id="missing"),
            pytest.param(["/"], "Permission denied", id="no-program"),
            pytest.param(["/bin/true", "x" * 200_000], "Argument list too long", id="too-long"),
            pytest.param(["/bin/true", "a\0b"], "null byte", id="nul"),
        ],
    )
    def test_what_cannot_be_started_is_named(self, argv, says, tmp_path):
        request = request_for(tmp_path, *argv)

        with pytest.raises(ProgramNotStarted) as refused:
            run_process(request, stop=threading.Event())

        assert says in refused.value.message

    def test_no_zombie_stays(self, tmp_path):
        run_python(tmp_path, "pass")

        assert not zombies_of(os.getpid())
