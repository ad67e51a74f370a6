"""The entry point as a shell meets it: three spellings, exit codes, streams and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commonplace_site.catalogue import review_commands
from tests.helpers.commands import REPOSITORY, Result, process_environment, run_process

MANAGE = [sys.executable, str(REPOSITORY / "manage.py")]
LISTING = "review_job_list"
READER = ("create_review_jobs", "--grouping", "note", "--input", "-")
AS_SCRIPT = """
import sys
sys.path.insert(0, {repository!r})
sys.argv[0] = "/somewhere/bin/commonplace-review-job-list"
from commonplace_site.console import named
named()
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("console")
    (folder / "kb" / "notes" / "deep").mkdir(parents=True)
    return folder


def start(root: Path, *argv: str, **how: object) -> subprocess.Popen[bytes]:
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = process_environment(root) | how.pop("env", {})
    return subprocess.Popen([*MANAGE, *argv], cwd=root, env=environment, **(streams | how))


def in_shell(root: Path, line: str, **env: str) -> Result:
    """Run a shell's line, in which `$C` is the program."""
    done = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        check=False,
        cwd=root,
        env=process_environment(root) | {"C": " ".join(MANAGE)} | env,
        stdin=subprocess.DEVNULL,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


class TestSpellings:
    def test_three_ways_say_the_same(self, root):
        script = [sys.executable, "-c", AS_SCRIPT.format(repository=str(REPOSITORY)), "--json"]

        by_name = run_process(LISTING, "--json", root=root)
        by_dashes = run_process("review-job-list", "--json", root=root)
        by_script = subprocess.run(
            script, capture_output=True, check=True, cwd=root, env=process_environment(root)
        )

        assert by_name.exit == 0
        assert by_name.json["schema"] == "review-job-list/1"
        assert by_name.out == by_dashes.out == by_script.stdout.decode()

    def test_any_folder_below_the_root_will_do(self, root):
        result = in_shell(
            root / "kb" / "notes" / "deep",
            f"unset COMMONPLACE_ROOT COMMONPLACE_REVIEW_DB; $C {LISTING}",
        )

        assert result.exit == 0

    def test_outside_a_repository_it_says_how_to_start_one(self, empty_folder):
        result = in_shell(empty_folder, f"unset COMMONPLACE_ROOT; $C {LISTING} --json")

        assert result.exit == 5
        assert "review_init" in result.error["hint"]

    def test_the_version_is_told(self, root):
        assert run_process("--version", root=root).out.startswith("commonplace ")


class TestUsage:
    @pytest.mark.parametrize(
        ("argv", "word"),
        [
            pytest.param(("review_job_lst",), "review_job_list", id="unknown-command"),
            pytest.param((LISTING, "--jsn"), "--json", id="bad-option"),
            pytest.param(("--limit", LISTING), "help", id="option-before-command"),
            pytest.param(("help", "nonsense"), "help", id="help-about-nothing"),
            pytest.param(("help", "--nonsense"), "--nonsense", id="help-with-an-option"),
            pytest.param((LISTING, "extra"), "--help", id="extra-word"),
        ],
    )
    def test_exit_2_with_a_hint_and_no_traceback(self, root, argv, word):
        result = run_process(*argv, root=root)

        assert (result.exit, result.out) == (2, "")
        assert result.err.startswith("error: ")
        assert word in result.err
        assert "Traceback" not in result.err

    @pytest.mark.parametrize(
        "argv",
        [
            pytest.param(("nonsense", "--json"), id="unknown-command"),
            pytest.param((LISTING, "--nope", "--json"), id="bad-option"),
        ],
    )
    def test_is_one_json_line_where_json_was_asked_for(self, root, argv):
        result = run_process(*argv, root=root)

        assert result.exit == 2
        assert result.err.count("\n") == 1
        assert set(result.error) == {"schema", "code", "message", "hint", "exit"}
        assert result.error["schema"] == "error/1"

    def test_a_name_cannot_act_on_the_terminal(self, root):
        result = run_process("\x1b[2J\u202e", root=root)

        assert result.exit == 2
        assert "\x1b" not in result.err
        assert "\u202e" not in result.err

    def test_no_command_lists_them_on_stderr(self, root):
        result = run_process(root=root)

        assert (result.exit, result.out) == (2, "")
        assert LISTING in result.err


class TestHelp:
    def test_lists_every_command(self, root):
        result = run_process("help", root=root)

        assert (result.exit, result.err) == (0, "")
        assert all(name in result.out for name in [*review_commands(), "serve", "migrate"])

    def test_describes_every_command_as_json(self, root):
        commands = {c["name"]: c for c in run_process("help", "--json", root=root).json["commands"]}

        assert sorted(commands) == review_commands()
        assert commands[LISTING]["schema"] == "review-job-list/1"
        assert commands[LISTING]["script"] == "commonplace-review-job-list"
        assert "--json" in [flag for o in commands[LISTING]["options"] for flag in o["flags"]]

    def test_describes_one_command_as_json(self, root):
        document = run_process("help", "--json", "review-job-list", root=root).json

        assert document["schema"] == "help/1"
        assert [command["name"] for command in document["commands"]] == [LISTING]

    @pytest.mark.parametrize(
        "words", [("--help", "--json"), ("--json", "-h")], ids=["help-first", "json-first"]
    )
    def test_of_a_command_is_json_where_that_is_asked_for(self, root, words):
        document = run_process(LISTING, *words, root=root)

        assert document.out == run_process("help", "--json", LISTING, root=root).out

    def test_leaves_no_argument_unexplained(self, root):
        commands = run_process("help", "--json", root=root).json["commands"]

        assert [
            (command["name"], argument["name"])
            for command in commands
            for argument in command["arguments"] + command["options"]
            if not argument["help"].strip()
        ] == []

    @pytest.mark.parametrize("command", review_commands())
    def test_tells_examples_and_exit_codes(self, root, command):
        result = run_process("help", command, root=root)

        assert (result.exit, result.err) == (0, "")
        assert "examples:" in result.out
        assert "exit codes:" in result.out
        assert f"commonplace {command}" in result.out.split("examples:")[1]

    def test_works_where_there_is_no_repository(self, empty_folder):
        assert in_shell(empty_folder, "unset COMMONPLACE_ROOT; $C help").exit == 0


class TestStreams:
    def test_a_reader_that_went_away_is_141(self, root):
        result = in_shell(root, f"$C {LISTING} --json | true; exit ${{PIPESTATUS[0]}}")

        assert result.err == ""
        # The reader may also have been slower than we were.
        assert result.exit in (141, 0)

    def test_a_pipe_without_a_reader_is_141(self, root):
        reader, writer = os.pipe()
        os.close(reader)

        process = start(root, LISTING, "--json", stdout=writer)
        os.close(writer)
        _out, err = process.communicate(timeout=60)

        assert (process.returncode, err) == (141, b"")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
    def test_a_full_disk_under_stdout_is_told(self, root):
        result = in_shell(root, f"$C {LISTING} --json >/dev/full")

        assert result.exit == 1
        assert "No space left" in result.err
        assert "Traceback" not in result.err

    @pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
    def test_closed_streams_do_no_harm(self, root, closed):
        result = in_shell(root, f"$C {LISTING} {closed}")

        assert result.exit == 0
        assert "Traceback" not in result.err

    def test_words_are_utf8_in_the_c_locale(self, root):
        env = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}

        result = run_process("é", root=root, env=env)

        assert result.exit == 2
        assert "unknown command: é" in result.err

    def test_a_closed_input_is_a_usage_error(self, root):
        result = in_shell(root, f"$C {' '.join(READER)} <&-")

        assert result.exit == 2
        assert "closed" in result.err

    def test_a_terminal_for_input_is_a_usage_error_and_no_hang(self, root):
        controller, terminal = os.openpty()

        process = start(root, *READER, stdin=terminal)
        os.close(terminal)
        _out, err = process.communicate(timeout=60)
        os.close(controller)

        assert process.returncode == 2
        assert b"terminal" in err

    @pytest.mark.parametrize(
        ("environment", "coloured"),
        [
            pytest.param({"TERM": "xterm-256color"}, True, id="terminal"),
            pytest.param({"TERM": "xterm-256color", "NO_COLOR": "1"}, False, id="no-color"),
            pytest.param({"TERM": "dumb"}, False, id="dumb"),
        ],
    )
    def test_colour_is_for_a_terminal_whose_user_wants_it(self, root, environment, coloured):
        controller, terminal = os.openpty()

        process = start(root, "nonsense", stderr=terminal, env=environment)
        os.close(terminal)
        process.communicate(timeout=60)
        shown = os.read(controller, 10_000)
        os.close(controller)

        assert b"nonsense" in shown
        assert (b"\x1b" in shown) is coloured


class TestSignals:
    def signalled(self, root: Path, number: signal.Signals) -> tuple[int, bytes]:
        """Signal a command that waits for its input; gives exit code and stderr."""
        process = start(root, *READER)
        assert process.stdin is not None
        wait_until_it_reads(process.pid)
        process.send_signal(number)
        _out, err = process.communicate(timeout=60)
        return process.returncode, err

    def test_ctrl_c_is_130_without_a_traceback(self, root):
        assert self.signalled(root, signal.SIGINT) == (130, b"error: interrupted\n")

    def test_a_request_to_end_ends_it(self, root):
        code, err = self.signalled(root, signal.SIGTERM)

        assert (code, err) == (-signal.SIGTERM, b"")


def wait_until_it_reads(pid: int) -> None:
    """Wait until a process sleeps in a read: then it is in the command, not on the way there."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(") ", 1)[1][0]
        loaded = "_sqlite3" in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
        if state == "S" and loaded and "pipe" in Path(f"/proc/{pid}/wchan").read_text("ascii"):
            return
        time.sleep(0.02)


class TestStore:
    def test_a_server_that_does_not_answer_means_try_again(self, root):
        env = {"COMMONPLACE_REVIEW_DB": "postgres://ana:hunter2@127.0.0.1:1/kb"}

        result = run_process(LISTING, "--json", root=root, env=env)

        assert result.exit == 75
        assert result.error["code"] == "store-unreachable"
        assert "hunter2" not in result.err

    def test_a_store_that_is_none_is_refused_with_a_hint(self, root, tmp_path):
        (tmp_path / "store").write_bytes(b"not a database")

        result = run_process(
            LISTING, "--json", root=root, env={"COMMONPLACE_REVIEW_DB": str(tmp_path / "store")}
        )

        assert result.exit == 1
        assert result.error["code"] == "store-corrupt"
        assert result.error["hint"]

    def test_settings_that_are_not_understood_name_file_and_key(self, tmp_path):
        (tmp_path / "kb").mkdir()
        (tmp_path / "kb" / "review.toml").write_text("[notes]\nroot = 'kb/notes'\n")

        result = run_process(LISTING, "--json", root=tmp_path)

        assert result.exit == 5
        assert "review.toml" in result.error["message"]
        assert "'notes.root'; known: roots" in result.error["message"]

    def test_migrate_adds_the_admin_s_tables_to_a_store_that_agents_made(self, tmp_path):
        (tmp_path / "kb").mkdir()
        before = run_process(LISTING, "--json", root=tmp_path)

        migrated = run_process("migrate", root=tmp_path)
        again = run_process("migrate", root=tmp_path)
        user = run_process(
            "createsuperuser", "--noinput", "--username", "ana", "--email", "ana@localhost",
            root=tmp_path, env={"DJANGO_SUPERUSER_PASSWORD": "a-long-enough-one"},
        )  # fmt: skip

        assert before.exit == migrated.exit == again.exit == user.exit == 0
        assert "auth" in migrated.out
        assert "No migrations to apply" in again.out

    def test_migrate_does_not_touch_what_is_not_ours(self, tmp_path):
        (tmp_path / "kb" / "reports").mkdir(parents=True)
        file = tmp_path / "kb" / "reports" / "review-store.sqlite"
        file.write_bytes(b"not a database")

        result = run_process("migrate", root=tmp_path)

        assert result.exit == 1
        assert file.read_bytes() == b"not a database"
        assert "Traceback" not in result.err
