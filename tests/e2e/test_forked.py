"""A command that is forked is what a new interpreter would have been; most tests of processes rest on it."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.builders import NOTE, make_gate, make_root
from tests.helpers.commands import process_environment, run_process
from tests.helpers.forked import Forked, run_forked

STALE = ("review_target_selector", "--all-gates", "--model", "m-1", "--json")


@pytest.fixture
def root(tmp_path):
    return make_root(
        tmp_path / "base", notes={"a.md": NOTE}, gates={"prose/x": make_gate("prose/x")}
    )


class TestForked:
    @pytest.mark.parametrize(
        ("argv", "stdin", "code"),
        [
            pytest.param(STALE, None, 0, id="an-answer"),
            pytest.param(("create_review_jobs", "--input", "-", "--json"), "{", 2, id="a-refusal"),
            pytest.param(("no_such_command",), None, 2, id="no-command"),
            pytest.param(("help",), None, 0, id="help"),
            pytest.param(("migrate", "--plan"), None, 0, id="a-command-of-django"),
            pytest.param(
                ("claim_review_job", "--review-job-id", "7", "--runner", "x"),
                None,
                5,
                id="no-such-job",
            ),
        ],
    )
    def test_answers_as_a_new_interpreter_does(self, root, argv, stdin, code):
        run_process("review_status", root=root)

        fresh = run_process(*argv, root=root, stdin=stdin)
        forked = run_forked(*argv, root=root, stdin=stdin)

        assert forked == fresh
        assert forked.exit == code

    def test_has_its_own_environment_and_no_other_s(self, root, tmp_path):
        other = make_root(
            tmp_path / "other", notes={"b.md": NOTE}, gates={"prose/y": make_gate("prose/y")}
        )

        answers = [run_forked(*STALE, root=place).json["targets"] for place in (root, other, root)]

        assert [[it["note_path"] for it in targets] for targets in answers] == [
            ["kb/notes/a.md"], ["kb/notes/b.md"], ["kb/notes/a.md"],
        ]  # fmt: skip

    def test_makes_the_store_below_its_root(self, root):
        run_forked("review_status", root=root)

        assert (root / "kb/reports/review-store.sqlite").is_file()

    def test_is_a_process_that_a_signal_ends(self, root):
        process = Forked(
            ("ingest_bundle_output", "--review-job-id", "1"),
            root=root, env=process_environment(root),
        )  # fmt: skip

        os.kill(process.pid, signal.SIGSTOP)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.kill()

        assert process.wait(60) == -signal.SIGKILL
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)

    def test_several_run_at_a_time(self, root):
        run_forked("review_status", root=root)
        many = [Forked(STALE, root=root, env=process_environment(root)) for _number in range(4)]

        answers = {process.communicate(60) for process in many}

        assert len({process.pid for process in many}) == 4
        assert len(answers) == 1
