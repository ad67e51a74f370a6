"""Runners by name: built-in ones, those that kb/review.toml declares, and what it may not say."""

from __future__ import annotations

from pathlib import Path

import pytest

from review.runners.registry import (
    BUILT_IN,
    Access,
    Dialect,
    RunnerCannot,
    RunnerSpec,
    UnknownRunner,
    find_runner,
    installed_runner,
)
from review.runners.run import RunRequest, run_cli
from review.settings import Config
from review.settings.file import ConfigRefused, read_settings
from tests.helpers.fake_runners import Fake, fake_config, fake_path
from tests.helpers.refusals import refuses


def config_of(folder: Path, toml: str) -> Config:
    """The configuration that a kb/review.toml makes."""
    path = folder / "review.toml"
    path.write_text(toml, encoding="utf-8")
    settings = read_settings(path)
    return Config(root=folder, database="x", artifacts=folder, actor="", **settings)


def declared(folder: Path, body: str, *, name: str = "mine") -> RunnerSpec:
    """The runner that `[runners.NAME]` makes."""
    return find_runner(name, config=config_of(folder, f"[runners.{name}]\n{body}\n"))


class TestBuiltIn:
    def test_are_the_ones_that_the_documentation_names(self):
        assert set(BUILT_IN) == {"claude-code", "codex", "gemini", "llm", "rules"}

    def test_the_embedded_reviewer_starts_no_process(self, tmp_path):
        spec = find_runner("rules", config=fake_config(tmp_path))

        assert spec.in_process
        assert installed_runner(spec, root=tmp_path, environ={}) == spec

    def test_an_unknown_name_is_refused_with_near_ones(self, tmp_path):
        with pytest.raises(UnknownRunner, match="did you mean claude-code"):
            find_runner("claude-cod", config=fake_config(tmp_path))

    def test_declared_ones_are_listed_too(self, tmp_path):
        with pytest.raises(UnknownRunner) as refused:
            find_runner("nobody", config=fake_config(tmp_path))

        assert "llm, rules, text" in refused.value.hint


class TestInstalled:
    def test_a_program_is_found_on_the_path(self, tmp_path):
        found = installed_runner(
            BUILT_IN["codex"], root=tmp_path, environ={"PATH": fake_path(tmp_path)}
        )

        assert found.command[0] == str(tmp_path / "bin" / "codex")
        assert found.command[1:] == BUILT_IN["codex"].command[1:]

    def test_a_program_of_the_repository_is_relative_to_its_root(self, tmp_path):
        fake_path(tmp_path)
        spec = declared(tmp_path, 'command = ["bin/odd"]')

        found = installed_runner(spec, root=tmp_path, environ={"PATH": ""})

        assert found.command == (str(tmp_path / "bin" / "odd"),)

    def test_a_missing_program_is_refused_before_anything_is_claimed(self, tmp_path):
        with refuses("runner-not-installed", match="needs the program 'codex'"):
            installed_runner(BUILT_IN["codex"], root=tmp_path, environ={"PATH": str(tmp_path)})

    def test_a_program_that_vanished_meanwhile_concerns_every_job(self, tmp_path):
        fake = Fake("text")
        request = fake.request(tmp_path)
        (tmp_path / "bin" / "odd").unlink()

        failure = run_cli(request, stop=fake.stop).failure

        assert failure.concerns_all
        assert "No such file" in failure.reason

    def test_a_program_without_an_interpreter_is_named(self, tmp_path):
        fake = Fake("text")
        request = fake.request(tmp_path)
        (tmp_path / "bin" / "odd").write_text("no shebang, no program")

        failure = run_cli(request, stop=fake.stop).failure

        assert failure.unusable
        assert "Exec format error" in failure.reason


class TestDeclared:
    def test_a_command_answers_on_stdout(self, tmp_path):
        spec = declared(tmp_path, 'command = ["ollama", "run", "{model}", "--hidethinking"]')

        argv = spec.call(Access.READ, {"model": "llama3"})[0]

        assert argv == ("ollama", "run", "llama3", "--hidethinking")
        assert (spec.dialect, spec.review_access) == (Dialect.TEXT, Access.READ)

    def test_a_command_writes_a_file(self, tmp_path):
        spec = declared(tmp_path, 'command = ["x", "--out", "{output_file}"]\noutput = "file"')

        assert spec.review_access == Access.WRITE
        assert spec.call(Access.WRITE, {"output_file": "/s/o.md"})[0] == ("x", "--out", "/s/o.md")

    def test_model_and_effort_stand_where_they_are_known(self, tmp_path):
        body = (
            'command = ["x"]\nmodel_options = ["-m", "{model}"]\neffort_options = ["-e={effort}"]'
        )
        spec = declared(tmp_path, body)

        assert spec.call(Access.READ, {})[0] == ("x",)
        assert spec.call(Access.READ, {"model": "m", "effort": "e"})[0] == (
            "x",
            "-m",
            "m",
            "-e=e",
        )

    def test_what_is_given_is_no_template(self, tmp_path):
        spec = declared(tmp_path, 'command = ["x", "{model}", "{\\"a\\": {\\"b\\": 1}}"]')

        argv = spec.call(Access.READ, {"model": "{effort}", "effort": "high"})[0]

        assert argv == ("x", "{effort}", '{"a": {"b": 1}}')

    def test_a_built_in_one_can_be_changed_under_its_own_name(self, tmp_path):
        spec = declared(tmp_path, 'options = ["--max-budget-usd", "1"]', name="claude-code")

        assert spec.call(Access.READ, {})[0][-2:] == ("--max-budget-usd", "1")
        assert spec.dialect == Dialect.CLAUDE_CODE

    def test_one_like_a_built_in_one_writes_the_file(self, tmp_path):
        spec = declared(tmp_path, 'like = "codex"\noutput = "file"')

        assert "workspace-write" in spec.call(spec.review_access, {})[0]
        assert spec.name == "mine"

    def test_a_command_of_its_own_is_read_like_a_built_in_one(self, tmp_path):
        spec = declared(tmp_path, 'like = "codex"\ncommand = ["wrapper", "exec"]')

        assert spec.call(Access.READ, {"model": "m"})[0] == ("wrapper", "exec", "-m", "m")
        assert spec.dialect == Dialect.CODEX


class TestRefused:
    @pytest.mark.parametrize(
        ("body", "says"),
        [
            pytest.param('output = "text"', "needs `command`", id="no-command"),
            pytest.param("command = []", "needs `command`", id="empty-command"),
            pytest.param('command = ["x"]\noutput = "json"', "fields.answer", id="json-without-answer"),
            pytest.param('command = ["x"]\njoin = true', "has none", id="join-of-text"),
            pytest.param('like = "cursor"', "expected one of claude-code", id="like-nothing"),
            pytest.param('like = "rules"', "expected one of claude-code", id="like-the-embedded"),
            pytest.param('like = "llm"\noutput = "file"', "cannot write files", id="no-tools"),
            pytest.param('like = "codex"\noutput = "json"', "an output of its own", id="other-output"),
            pytest.param('like = "codex"\nedits = true', "a way of its own", id="other-reading"),
            pytest.param('command = "x"', "command: Expected a list, got text", id="command-as-string"),
            pytest.param('command = ["x", "{prompt}"]', "it is given on stdin", id="prompt-in-argv"),
            pytest.param('command = ["x", "{modle}"]', "one of {model}", id="unknown-placeholder"),
            pytest.param('comand = ["x"]', "'runners.mine.comand'; known: like, command", id="unknown-key"),
            pytest.param('command = ["x"]\noutput = "xml"', "one of text, json", id="unknown-output"),
            pytest.param('command = ["x"]\nenvironment = {A = 1}', "expected text, got 1", id="no-string"),
            pytest.param('command = ["x"]\nenvironment = {"A=B" = "1"}', "environment: Expected text matching", id="bad-variable"),
            pytest.param('command = ["x"]\nfields = {anser = "a"}', "fields: Expected text matching regex '^(answer|", id="unknown-field"),
        ],
    )  # fmt: skip
    def test_what_makes_no_runner_is_named(self, body, says, tmp_path):
        with pytest.raises(ConfigRefused) as refused:
            declared(tmp_path, body)

        assert says in refused.value.message
        assert "runners.mine" in refused.value.message

    @pytest.mark.parametrize(
        ("runner", "model", "effort", "access", "says"),
        [
            pytest.param(
                "llm", "m", None, Access.EDIT, "cannot edit files", id="edit-without-tools"
            ),
            pytest.param("gemini", "m", "high", Access.READ, "takes no effort", id="no-effort"),
            pytest.param("text", "m", None, Access.READ, "takes no model", id="no-model"),
            pytest.param("codex", "-m", None, Access.READ, "the model '-m'", id="an-option"),
            pytest.param("codex", "m\n", None, Access.READ, "the model", id="a-control-character"),
            pytest.param("codex", "m", " ", Access.READ, "the effort ' '", id="blank"),
        ],
    )
    def test_what_a_runner_cannot_be_told_is_named(
        self, runner, model, effort, access, says, tmp_path
    ):
        spec = find_runner(runner, config=fake_config(tmp_path))

        with pytest.raises(RunnerCannot) as refused:
            spec.check(model=model, effort=effort, access=access)

        assert says in refused.value.message

    def test_a_command_that_needs_a_model_says_so(self, tmp_path):
        spec = declared(tmp_path, 'command = ["ollama", "run", "{model}"]')

        with pytest.raises(RunnerCannot, match="needs the name of a model"):
            spec.check(model=None, effort=None, access=Access.READ)


def test_a_request_reads_the_environment_of_the_process(monkeypatch, tmp_path):
    monkeypatch.setenv("SOME_VARIABLE", "x")

    request = RunRequest(BUILT_IN["llm"], b"", tmp_path, tmp_path, "o.md")

    assert request.environ["SOME_VARIABLE"] == "x"
