"""The real CLIs, called as our runners call them, against a stand-in of their service."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from review.runners.outcome import RunnerOutcome
from review.runners.registry import BUILT_IN, Access, RunnerSpec
from review.runners.run import RunRequest, run_cli
from review.vocabulary import FailureCode
from tests.helpers.commands import REPOSITORY
from tests.helpers.fake_runners import OUTPUT, TOKEN, prompt
from tests.real_clis.stand_in import Script, serving
from tests.unit.runners.test_process import running_with

INSTALLED = REPOSITORY / ".venv" / "clis"
PATHS = (INSTALLED / "node_modules" / ".bin", INSTALLED / "llm" / "bin")
MODELS = {
    "claude-code": "claude-opus-4-6",
    "codex": "gpt-5.1-codex",
    "gemini": "gemini-2.5-pro",
    "llm": "gpt-4o-mini",
}
REVIEW = "".join(
    f"=== PAIR REVIEW START {TOKEN}/{n}: x :: y ===\nAll – well.\n## Result: PASS\n=== PAIR REVIEW END {TOKEN}/{n}: x :: y ===\n"
    for n in (1, 2)
)
KEYS = {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}
GEMINI_SETTINGS = {"security": {"auth": {"selectedType": "gemini-api-key"}}}


@dataclass(frozen=True)
class Real:
    """A real CLI at a stand-in of its service."""

    runner: str
    folder: Path
    url: str

    def run(
        self, *, timeout: float = 60, effort: str | None = None, **changes: object
    ) -> RunnerOutcome:
        """Run it on the tests' prompt."""
        values = {
            "spec": self.spec(),
            "prompt": prompt().encode(),
            "scratch": self.scratch,
            "files": self.folder / "files",
            "output": OUTPUT,
            "model": MODELS[self.runner],
            "effort": effort,
            "timeout": timeout,
            "environ": self.environ(),
            **changes,
        }
        return run_cli(RunRequest(**values), stop=threading.Event())

    @property
    def scratch(self) -> Path:
        """The worker's folder, made when it is asked for."""
        scratch = self.folder / "scratch"
        scratch.mkdir(exist_ok=True)
        return scratch

    def spec(self) -> RunnerSpec:
        """The built-in runner, told where the service is where only an option can say that."""
        spec = BUILT_IN[self.runner]
        program = next(path for path in programs(spec) if path.exists())
        provider = (
            f'model_providers.here={{name="here",base_url="{self.url}/v1",wire_api="responses",'
            'env_key="OPENAI_API_KEY",request_max_retries=1,stream_max_retries=1}'
        )
        options = ("-c", 'model_provider="here"', "-c", provider) if self.runner == "codex" else ()
        return replace(spec, command=(str(program), *spec.command[1:]), options=options)

    def environ(self) -> dict[str, str]:
        """A home of its own, and where the service is."""
        home = self.folder / "home"
        (home / ".gemini").mkdir(parents=True, exist_ok=True)
        (home / ".gemini" / "settings.json").write_text(json.dumps(GEMINI_SETTINGS))
        return {
            **KEYS,
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(self.folder),
            "ANTHROPIC_BASE_URL": self.url,
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "GOOGLE_GEMINI_BASE_URL": self.url,
        }


def programs(spec: RunnerSpec) -> list[Path]:
    """Where the program of a runner would be."""
    return [folder / spec.command[0] for folder in PATHS]


def needs(runner: str) -> pytest.MarkDecorator:
    """Skips where the runner's CLI is not installed."""
    there = any(path.exists() for path in programs(BUILT_IN[runner]))
    return pytest.mark.skipif(not there, reason=f"{runner} is not installed here; make clis")


def each(*runners: str) -> list[object]:
    """Parameters: runners, each skipped where its CLI is not installed."""
    return [pytest.param(name, id=name, marks=needs(name)) for name in runners]


@contextmanager
def real(runner: str, folder: Path, script: Script) -> Iterator[Real]:
    """The CLI while its service is there."""
    with serving(script) as url:
        yield Real(runner, folder, url)


def writing(path: Path) -> tuple[str, dict[str, str]]:
    """A call of the tool that writes a file."""
    return "Write", {"file_path": str(path), "content": REVIEW}


class TestSuccess:
    @pytest.mark.parametrize("runner", each("claude-code", "codex", "gemini", "llm"))
    def test_gives_the_answer_to_the_letter(self, runner, tmp_path):
        with real(runner, tmp_path, Script(answer=REVIEW)) as cli:
            outcome = cli.run()

        assert outcome.failure is None
        assert outcome.text.decode().strip() == REVIEW.strip()

    @pytest.mark.parametrize("runner", each("claude-code", "codex", "gemini", "llm"))
    def test_a_long_prompt_reaches_the_service_once_and_whole(self, runner, tmp_path):
        script = Script(answer=REVIEW)
        text = "--- dashes first\n" + prompt("line of a long note\n" * 10_000) + "the very end"

        with real(runner, tmp_path, script) as cli:
            outcome = cli.run(prompt=text.encode())

        assert outcome.failure is None
        assert script.prompts().count("the very end") == 1
        assert script.prompts().count("line of a long note") == 20_000

    @pytest.mark.parametrize("runner", each("claude-code", "codex", "gemini", "llm"))
    def test_gives_its_telemetry(self, runner, tmp_path):
        with real(runner, tmp_path, Script(answer=REVIEW)) as cli:
            outcome = cli.run()

        assert outcome.telemetry["input_tokens"] == 11
        assert outcome.telemetry["output_tokens"] == 7
        assert outcome.telemetry["session_id"]
        assert ("cost_usd" in outcome.telemetry) == (runner == "claude-code")
        names = [
            re.sub(r"-2026-01-15$", "", name)
            for name in (outcome.telemetry or {}).get("models", ())
        ]
        assert names == ([] if runner == "codex" else [MODELS[runner]])

    @pytest.mark.parametrize("runner", each("claude-code", "codex"))
    def test_takes_the_effort(self, runner, tmp_path):
        script = Script(answer=REVIEW)

        with real(runner, tmp_path, script) as cli:
            cli.run(effort="high")

        assert '"effort": "high"' in script.prompts()


class TestAccess:
    @pytest.mark.parametrize("runner", each("claude-code"))
    def test_only_reading_is_offered(self, runner, tmp_path):
        script = Script(answer=REVIEW)

        with real(runner, tmp_path, script) as cli:
            cli.run()

        assert [tool["name"] for tool in script.requests[0][1]["tools"]] == ["Read"]

    @needs("claude-code")
    def test_the_file_is_written_where_that_is_asked(self, tmp_path):
        script = Script(answer="Done.", calls=(writing(tmp_path / "scratch" / OUTPUT),))

        with real("claude-code", tmp_path, script) as cli:
            outcome = cli.run(spec=replace(cli.spec(), writes_file=True))

        assert outcome.failure is None
        assert outcome.text.decode() == REVIEW

    @needs("claude-code")
    def test_a_write_elsewhere_is_refused_and_named(self, tmp_path):
        elsewhere = tmp_path / "kb" / "note.md"
        script = Script(answer="I have written it.", calls=(writing(elsewhere),))

        with real("claude-code", tmp_path, script) as cli:
            outcome = cli.run(spec=replace(cli.spec(), writes_file=True))

        assert not elsewhere.exists()
        assert outcome.failure.code == FailureCode.NO_OUTPUT
        assert f"it was not allowed to write {elsewhere}" in outcome.failure.reason

    @needs("claude-code")
    def test_a_write_without_leave_is_refused_and_named(self, tmp_path):
        path = tmp_path / "scratch" / OUTPUT
        script = Script(answer="I have written it.", calls=(writing(path),))
        access = {Access.READ: ("--tools", "Read,Write", "--permission-mode", "dontAsk")}

        with real("claude-code", tmp_path, script) as cli:
            outcome = cli.run(spec=replace(cli.spec(), access=access))

        assert not path.exists()
        assert f"it was not allowed to write {path}" in outcome.failure.reason

    @pytest.mark.parametrize(
        ("name", "is_read"),
        [
            pytest.param("scratch/kb/notes/b.md", True, id="laid-out"),
            pytest.param("home/secret.md", False, id="elsewhere"),
        ],
    )
    @needs("claude-code")
    def test_only_what_was_laid_out_can_be_read(self, name, is_read, tmp_path):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("what stands in the file")
        script = Script(answer=REVIEW, calls=(("Read", {"file_path": str(path)}),))

        with real("claude-code", tmp_path, script) as cli:
            cli.run()

        assert "tool_result" in script.prompts()
        assert ("what stands in the file" in script.prompts()) == is_read


# status, code, and what else is true; gemini tries 429 and 500 again for minutes before it gives up
REFUSALS = [
    ("claude-code", 429, FailureCode.RATE_LIMITED, "retryable"),
    ("claude-code", 529, FailureCode.RATE_LIMITED, "retryable"),
    ("claude-code", 500, FailureCode.RUNNER_ERROR, "retryable"),
    ("claude-code", 401, FailureCode.RUNNER_ERROR, "unusable"),
    ("claude-code", 400, FailureCode.RUNNER_ERROR, ""),
    ("codex", 429, FailureCode.RATE_LIMITED, "retryable"),
    ("codex", 500, FailureCode.RATE_LIMITED, "retryable"),
    ("codex", 401, FailureCode.RUNNER_ERROR, "unusable"),
    ("codex", 400, FailureCode.RUNNER_ERROR, ""),
    ("gemini", 400, FailureCode.RUNNER_ERROR, ""),
    ("gemini", 401, FailureCode.RUNNER_ERROR, "unusable"),
    ("llm", 429, FailureCode.RATE_LIMITED, "retryable"),
    ("llm", 500, FailureCode.RUNNER_ERROR, "retryable"),
    ("llm", 401, FailureCode.RUNNER_ERROR, "unusable"),
    ("llm", 400, FailureCode.RUNNER_ERROR, ""),
]


class TestFailure:
    @pytest.mark.parametrize(
        ("runner", "status", "code", "traits"),
        [pytest.param(*row, id=f"{row[0]}-{row[1]}", marks=needs(row[0])) for row in REFUSALS],
    )
    def test_a_refusal_of_the_service_is_told_in_its_words(
        self, runner, status, code, traits, tmp_path
    ):
        with real(
            runner, tmp_path, Script(status=status, message="not now, said the stand-in")
        ) as cli:
            failure = cli.run().failure

        names = ("retryable", "exhausted", "unusable")
        assert (failure.code, " ".join(n for n in names if getattr(failure, n))) == (code, traits)
        assert "not now, said the stand-in" in failure.reason or runner == "codex"

    @pytest.mark.parametrize("runner", each("claude-code", "codex", "gemini", "llm"))
    def test_an_empty_answer_is_none(self, runner, tmp_path):
        with real(runner, tmp_path, Script(answer="")) as cli:
            outcome = cli.run()

        assert outcome.failure is not None
        assert outcome.text is None

    @pytest.mark.parametrize("runner", each("claude-code", "codex", "gemini", "llm"))
    def test_an_answer_without_a_review_is_none(self, runner, tmp_path):
        with real(runner, tmp_path, Script(answer="Sorry, I can't help with that.")) as cli:
            outcome = cli.run()

        assert outcome.failure.code == FailureCode.NO_OUTPUT
        assert "Sorry, I can't help with that." in outcome.failure.reason

    @pytest.mark.parametrize("runner", each("codex"))
    def test_a_stream_that_is_cut_can_be_tried_again(self, runner, tmp_path):
        with real(runner, tmp_path, Script(answer=REVIEW, cut=True)) as cli:
            failure = cli.run().failure

        assert failure.retryable
        assert "stream disconnected before completion" in failure.reason

    @pytest.mark.parametrize("runner", each("claude-code", "codex", "gemini", "llm"))
    def test_a_silent_service_ends_in_time_and_nothing_is_left(self, runner, tmp_path):
        mark = f"FAKE_MARK={os.urandom(8).hex()}"
        name, _, value = mark.partition("=")

        with real(runner, tmp_path, Script(silent=True)) as cli:
            outcome = cli.run(timeout=3, environ={**cli.environ(), name: value})

        assert outcome.failure.code == FailureCode.RUNNER_TIMEOUT
        assert outcome.telemetry["duration_seconds"] < 5
        assert not running_with(mark)

    @pytest.mark.parametrize("runner", each("claude-code"))
    def test_without_a_login_it_says_so(self, runner, tmp_path):
        with real(runner, tmp_path, Script()) as cli:
            environ = {k: v for k, v in cli.environ().items() if k != "ANTHROPIC_API_KEY"}
            failure = cli.run(environ=environ).failure

        assert failure.unusable
        assert "/login" in failure.reason

    @pytest.mark.parametrize("runner", each("llm"))
    def test_without_a_key_it_says_so(self, runner, tmp_path):
        with real(runner, tmp_path, Script()) as cli:
            environ = {k: v for k, v in cli.environ().items() if k != "OPENAI_API_KEY"}
            failure = cli.run(environ=environ).failure

        assert failure.unusable
        assert "No key found" in failure.reason
