"""How a worker is called: where, with what, and what it cannot see."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from review.runners.registry import BUILT_IN, Access, Dialect, RunnerSpec
from review.runners.run import scratch_folder
from review.vocabulary import FailureCode
from tests.helpers.fake_runners import OUTPUT, Fake, prompt


def told(folder: Path, fake: Fake | None = None, **changes: object) -> dict[str, Any]:
    """What a worker says about how it was called."""
    ran = (fake or Fake("text", "report")).run(folder, **changes)
    return json.loads(ran.outcome.text.decode().splitlines()[-1])


class TestPrompt:
    def test_is_given_on_stdin_whatever_its_length_and_its_first_character(self, tmp_path):
        text = "--- dashes first\n" + prompt("x" * 3_000_000)

        facts = told(tmp_path, prompt=text.encode())

        assert facts["prompt_bytes"] == len(text.encode())
        assert facts["argv"] == []

    def test_is_a_file_where_the_command_asks_for_one(self, tmp_path):
        text = prompt()
        code = "import sys; print(sys.stdin.read() == '', open(sys.argv[1]).read())"
        spec = RunnerSpec(
            name="by-file",
            dialect=Dialect.TEXT,
            command=(sys.executable, "-c", code, "{prompt_file}"),
            access={Access.READ: ()},
        )

        ran = Fake("text").run(tmp_path, spec=spec, prompt=text.encode())

        assert (ran.files / "stdout").read_text() == f"True {text}\n"

    def test_is_not_kept_beside_the_run(self, tmp_path):
        ran = Fake("text").run(tmp_path)

        assert sorted(path.name for path in ran.files.iterdir()) == ["run.json", "stderr", "stdout"]


class TestEnvironment:
    def test_holds_nothing_of_a_harness_around_us_nor_of_ours(self, tmp_path):
        around = {
            "CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SSE_PORT": "1",
            "CODEX_SANDBOX": "seatbelt", "GEMINI_CLI": "1", "OPENCODE": "1", "GIT_DIR": "/x/.git",
            "COMMONPLACE_SECRET_KEY": "s", "COMMONPLACE_REVIEW_DB": "postgres://u:p@h/d",
            "DJANGO_SETTINGS_MODULE": "x",
        }  # fmt: skip

        seen = told(tmp_path, Fake("text", "report", environ=around))["env"]

        assert not set(around) & set(seen)

    def test_keeps_how_a_person_is_known_to_the_service(self, tmp_path):
        mine = {
            "CLAUDE_CODE_OAUTH_TOKEN": "t",
            "ANTHROPIC_API_KEY": "k",
            "CODEX_HOME": "/c",
            "HOME": "/h",
        }

        seen = told(tmp_path, Fake("text", "report", environ=mine))["env"]

        assert mine.items() <= seen.items()

    def test_has_what_the_runner_declares(self, tmp_path):
        spec = Fake("text").request(tmp_path).spec
        spec = replace(spec, environment={"NUM_CTX": "32768", "SCRATCH": "{scratch}"})

        seen = told(tmp_path, spec=spec)["env"]

        assert (seen["NUM_CTX"], seen["SCRATCH"]) == ("32768", str(tmp_path / "scratch"))


class TestScratch:
    def test_is_where_the_worker_stands(self, tmp_path):
        facts = told(tmp_path)

        assert facts["cwd"] == facts["env"]["PWD"] == str(tmp_path / "scratch")

    def test_holds_what_may_be_read_and_nothing_else(self, tmp_path):
        facts = told(tmp_path, reading={"kb/notes/b.md": b"# B\n"})

        files = [name for name in facts["files"] if (tmp_path / "scratch" / name).is_file()]
        assert files == ["kb/notes/b.md"]

    def test_a_folder_for_one_run_is_gone_after_it(self):
        with scratch_folder() as scratch:
            (scratch / "x").write_text("x")

        assert not scratch.exists()


class TestOutput:
    def test_of_an_earlier_run_is_not_taken_for_this_ones(self, tmp_path):
        earlier = tmp_path / "scratch" / OUTPUT
        earlier.parent.mkdir(parents=True)
        Fake("file", "wrote-file").run(tmp_path)
        assert earlier.exists()

        outcome = Fake("file", "claims-written").run(tmp_path).outcome

        assert outcome.failure.code == FailureCode.NO_OUTPUT
        assert outcome.text is None
        assert outcome.said == "I have written the file."

    def test_of_an_earlier_stdout_is_not_taken_for_this_ones(self, tmp_path):
        Fake("text").run(tmp_path)

        assert Fake("text", "empty").run(tmp_path).outcome.text is None

    def test_a_late_answer_of_codex_itself_is_not_taken_for_this_ones(self, tmp_path):
        Fake("codex", "no-message").run(tmp_path)

        assert Fake("codex", "empty").run(tmp_path).outcome.text is None

    def test_an_absolute_path_stands_in_the_scratch_folder_under_its_name(self, tmp_path):
        request = Fake("file", "report").request(tmp_path, output="/elsewhere/job/bundle-output.md")
        spec = replace(request.spec, environment={"WHERE": "{output_file}"}, writes_file=False)

        seen = told(tmp_path, spec=spec, output=request.output)["env"]

        assert seen["WHERE"] == str(tmp_path / "scratch" / "bundle-output.md")


class TestRoom:
    def test_that_the_disk_has_not_concerns_every_job(self, tmp_path):
        files = tmp_path / "files"
        files.mkdir()
        (files / "prompt.md").symlink_to("/dev/full")

        failure = Fake("text").run(tmp_path).outcome.failure

        assert failure.concerns_all
        assert failure.reason.startswith("cannot prepare the run: No space left on device")

    def test_that_one_job_has_not_concerns_that_one(self, tmp_path):
        (tmp_path / "files").write_text("in the way")

        failure = Fake("text").run(tmp_path).outcome.failure

        assert failure.reason.startswith("cannot prepare the run: ")
        assert not failure.concerns_all


class TestEditing:
    NOTE = "kb/notes/a.md"

    def edit(self, folder: Path, case: str) -> Any:
        """Let the fake edit a note with a mistake in it."""
        note = {self.NOTE: b"# A\n\nteh note\n"}
        return Fake("editor", case, edits=True).run(folder, output=self.NOTE, reading=note).outcome

    def test_gives_the_note_afterwards_and_what_was_said(self, tmp_path):
        outcome = self.edit(tmp_path, "edit")

        assert outcome.failure is None
        assert outcome.text == b"# A\n\nthe note\n"
        assert outcome.said == "I mended the spelling."

    def test_an_unchanged_note_is_a_success(self, tmp_path):
        outcome = self.edit(tmp_path, "edit-nothing")

        assert outcome.failure is None
        assert outcome.text == b"# A\n\nteh note\n"

    @pytest.mark.parametrize("case", ["remove-note", "exit-without-a-word", "killed"])
    def test_a_note_that_is_gone_or_half_done_is_none(self, case, tmp_path):
        outcome = self.edit(tmp_path, case)

        assert outcome.failure is not None
        assert outcome.text is None


class TestTelemetry:
    @pytest.mark.parametrize(
        ("runner", "case", "models", "known"),
        [
            pytest.param(
                "claude-code",
                "ok",
                ("claude-opus-4-6",),
                {
                    "session_id": "5f2d-session", "turns": 1, "cost_usd": 0.0421, "input_tokens": 120,
                    "output_tokens": 45, "cached_input_tokens": 3000, "cache_write_tokens": 7,
                },
                id="claude-code",
            ),
            pytest.param(
                "claude-code",
                "helper-model",
                ("claude-haiku-4-5-20251001", "claude-opus-4-6-20260115"),
                {"input_tokens": 240, "output_tokens": 90},
                id="two-models-are-summed",
            ),
            pytest.param(
                "claude-code", "usage-says-zero", ("claude-opus-4-6",), {"input_tokens": 120},
                id="the-models-usage-is-trusted",
            ),
            pytest.param(
                "claude-code", "old-cost-name", (), {"cost_usd": 0.0421, "input_tokens": 120},
                id="older-names",
            ),
            pytest.param("claude-code", "stream-json", ("claude-opus-4-6",), {}, id="model-of-the-stream"),
            pytest.param(
                "codex",
                "ok",
                (),
                {
                    "session_id": "01a2-thread", "turns": 1, "input_tokens": 500, "output_tokens": 60,
                    "cached_input_tokens": 400, "cache_write_tokens": 0, "reasoning_tokens": 32,
                },
                id="codex",
            ),
            pytest.param("codex", "two-turns", (), {"turns": 2, "input_tokens": 500}, id="the-last-sum-counts"),
            pytest.param(
                "gemini",
                "ok",
                ("gemini-2.5-flash-lite", "gemini-2.5-pro"),
                {"session_id": "b5f2-session", "input_tokens": 709, "output_tokens": 82, "reasoning_tokens": 5},
                id="gemini",
            ),
            pytest.param(
                "gemini-lines", "stream-json", (),
                {"session_id": "b5f2-session", "input_tokens": 709},
                id="gemini-stream",
            ),
            pytest.param(
                "llm", "ok", ("gpt-5-2026-01-15",),
                {"session_id": "01m8-talk", "input_tokens": 11, "output_tokens": 7},
                id="llm",
            ),
            pytest.param(
                "jsonl", "json-lines", ("some-model",),
                {"cost_usd": 0.5, "input_tokens": 3, "output_tokens": 4},
                id="declared-fields",
            ),
            pytest.param("text", "ok", (), {}, id="text"),
        ],
    )  # fmt: skip
    def test_is_what_the_cli_gives(self, runner, case, models, known, tmp_path):
        outcome = Fake(runner, case).run(tmp_path).outcome

        assert tuple(outcome.telemetry.get("models", ())) == models
        assert known.items() <= outcome.telemetry.items()
        assert outcome.telemetry["duration_seconds"] > 0

    @pytest.mark.parametrize(
        ("runner", "unknown"),
        [
            pytest.param("codex", {"cost_usd", "models"}, id="codex"),
            pytest.param("gemini", {"cost_usd"}, id="gemini"),
            pytest.param("llm", {"cost_usd"}, id="llm"),
            pytest.param("text", {"cost_usd", "models", "input_tokens", "session_id"}, id="text"),
        ],
    )
    def test_what_is_not_given_is_not_there(self, runner, unknown, tmp_path):
        assert not unknown & set(Fake(runner).run(tmp_path).outcome.telemetry)

    def test_is_kept_of_a_failure_too(self, tmp_path):
        outcome = Fake("claude-code", "max-turns").run(tmp_path).outcome

        assert outcome.telemetry["cost_usd"] == 0.0421

    def test_can_be_stored_as_json(self, tmp_path):
        outcome = Fake("claude-code").run(tmp_path).outcome

        assert json.loads(json.dumps(outcome.telemetry)) == outcome.telemetry


class TestCall:
    @pytest.mark.parametrize(
        ("runner", "argv"),
        [
            pytest.param(
                "claude-code",
                "claude -p --output-format json --safe-mode --no-session-persistence --tools Read"
                " --permission-mode dontAsk --model M --effort E",
                id="claude-code",
            ),
            pytest.param(
                "codex",
                "codex exec --json -C /s --skip-git-repo-check --ephemeral --ignore-user-config"
                ' -o /f/last -s read-only -m M -c model_reasoning_effort="E" -',
                id="codex",
            ),
            pytest.param(
                "llm", "llm prompt --no-stream --no-log --json -m M -o reasoning_effort E", id="llm"
            ),
        ],
    )
    def test_reads_only_and_names_model_and_effort(self, runner, argv):
        values = {"model": "M", "effort": "E", "scratch": "/s", "last_message": "/f/last"}

        assert " ".join(BUILT_IN[runner].call(Access.READ, values)[0]) == argv

    def test_names_no_model_where_none_is_known(self):
        assert (
            "-m"
            not in BUILT_IN["codex"].call(Access.READ, {"scratch": "/s", "last_message": "/f"})[0]
        )

    @pytest.mark.parametrize("runner", ["claude-code", "codex", "gemini"])
    def test_lets_write_only_where_that_is_asked(self, runner):
        spec = BUILT_IN[runner]
        reading, writing = (spec.call(access, {})[0] for access in (Access.READ, Access.WRITE))

        assert reading != writing
        assert not any(
            "Write" in item or item in ("workspace-write", "auto_edit", "yolo") for item in reading
        )
