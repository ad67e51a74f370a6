"""The runners that can be named: the built-in ones, and those that `kb/review.toml` declares."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from review.domain.paths import near_matches
from review.errors import InputRejected, UsageRefused
from review.settings import (
    PLACEHOLDERS,
    ApiKind,
    Config,
    ConfigRefused,
    RunnerOutput,
    RunnerSettings,
)

_UNDECLARED = RunnerSettings(name="")
_PLACEHOLDER = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")


class RunnerCannot(UsageRefused): ...


class Access(StrEnum):
    """Access of a worker to files; never beyond its scratch folder."""

    READ = "read"
    WRITE = "write"
    EDIT = "edit"


class Dialect(StrEnum):
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    GEMINI = "gemini"
    LLM = "llm"
    TEXT = "text"
    JSON = "json"
    JSON_LINES = "jsonl"
    IN_PROCESS = "in-process"
    API = "api"


@dataclass(frozen=True)
class RunnerSpec:
    """Command line of one reviewer.

    The arguments are `command`, those of the access, of the model and of the effort where they are
    known, then `options` and `closing`. `{model}`, `{effort}`, `{scratch}`, `{output_file}`,
    `{last_message}` and `{prompt_file}` are filled in; the prompt itself has no place in them.

    :param writes_file: the review is expected in the file that the prompt names; else it is the
        CLI's final answer, and the worker may only read.
    :param settings: its declaration in `kb/review.toml`; a model API is called by it alone.
    """

    name: str
    dialect: Dialect
    command: tuple[str, ...] = ()
    access: Mapping[Access, tuple[str, ...]] = field(default_factory=dict)
    model_options: tuple[str, ...] = ()
    effort_options: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    closing: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    writes_file: bool = False
    settings: RunnerSettings = _UNDECLARED

    @property
    def in_process(self) -> bool:
        """True for the embedded reviewer, which starts no process."""
        return self.dialect is Dialect.IN_PROCESS

    @property
    def api(self) -> RunnerSettings | None:
        return None if self.settings.kind is None else self.settings

    @property
    def review_access(self) -> Access:
        return Access.WRITE if self.writes_file else Access.READ

    def mentions(self, word: str) -> bool:
        """Return whether the command has `{word}`; without `{prompt_file}` it reads stdin."""
        return any(
            f"{{{word}}}" in item
            for item in (*self._always, *self.model_options, *self.effort_options)
        )

    def check(self, *, model: str | None, effort: str | None, access: Access) -> None:
        """Refuse options that this runner does not support, before anything is claimed."""
        for word, value in (("model", model), ("effort", effort)):
            self._check_word(word, value)
        if access not in self.access:
            raise RunnerCannot(f"runner {self.name!r} cannot {access} files")

    def call(
        self, access: Access, values: Mapping[str, str]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """The arguments and the environment; `values` by the names of the placeholders."""

        def fill(template: str) -> str:
            return _PLACEHOLDER.sub(lambda match: values.get(match[1], ""), template)

        model = self.model_options if "model" in values else ()
        effort = self.effort_options if "effort" in values else ()
        begin = (*self.command, *self.access[access], *model, *effort)
        arguments = tuple(map(fill, (*begin, *self.options, *self.closing)))
        return arguments, {name: fill(value) for name, value in self.environment.items()}

    @property
    def _always(self) -> tuple[str, ...]:
        return (*self.command, *self.options, *self.closing, *self.environment.values())

    def _check_word(self, word: str, value: str | None) -> None:
        option = f"--runner-{word}"
        if value is None:
            if any(f"{{{word}}}" in item for item in self._always):
                raise RunnerCannot(
                    f"runner {self.name!r} needs the name of a {word}",
                    hint=f"add {option} {word[0].upper()}",
                )
        elif not value.strip() or value.startswith("-") or not value.isprintable():
            raise RunnerCannot(f"runner {self.name!r} cannot be told the {word} {value!r}")
        elif not self.mentions(word):
            raise RunnerCannot(
                f"runner {self.name!r} takes no {word}: its command has no {{{word}}}",
                hint=f"leave {option} out, or give the command a {{{word}}} in kb/review.toml",
            )


_OF_COMMANDS = (
    "like", "command", "options", "model_options", "effort_options", "output", "fields", "where",
    "join", "edits", "environment",
)  # fmt: skip
_DIALECTS = {
    RunnerOutput.TEXT: Dialect.TEXT,
    RunnerOutput.FILE: Dialect.TEXT,
    RunnerOutput.JSON: Dialect.JSON,
    RunnerOutput.JSON_LINES: Dialect.JSON_LINES,
}

# Tools are named before another option: `--tools` takes all words that follow it. Without the
# variable Claude Code sends the whole prompt a second time, for a title that nobody sees.
_SPECS = (
    RunnerSpec(
        "claude-code",
        Dialect.CLAUDE_CODE,
        ("claude", "-p", "--output-format", "json", "--safe-mode", "--no-session-persistence"),
        access={
            Access.READ: ("--tools", "Read", "--permission-mode", "dontAsk"),
            Access.WRITE: ("--tools", "Read,Write", "--permission-mode", "acceptEdits"),
            Access.EDIT: ("--tools", "Read,Edit,Write", "--permission-mode", "acceptEdits"),
        },
        model_options=("--model", "{model}"),
        effort_options=("--effort", "{effort}"),
        environment={"CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1"},
    ),
    RunnerSpec(
        "codex",
        Dialect.CODEX,
        (
            "codex", "exec", "--json", "-C", "{scratch}", "--skip-git-repo-check", "--ephemeral",
            "--ignore-user-config", "-o", "{last_message}",
        ),
        access={
            Access.READ: ("-s", "read-only"),
            Access.WRITE: ("-s", "workspace-write"),
            Access.EDIT: ("-s", "workspace-write"),
        },
        model_options=("-m", "{model}"),
        effort_options=("-c", 'model_reasoning_effort="{effort}"'),
        closing=("-",),
    ),
    RunnerSpec(
        "gemini",
        Dialect.GEMINI,
        ("gemini", "-p", "", "-o", "json", "--skip-trust"),
        access={
            Access.READ: ("--approval-mode", "default"),
            Access.WRITE: ("--approval-mode", "auto_edit"),
            Access.EDIT: ("--approval-mode", "auto_edit"),
        },
        model_options=("-m", "{model}"),
    ),
    RunnerSpec(
        "llm",
        Dialect.LLM,
        ("llm", "prompt", "--no-stream", "--no-log", "--json"),
        access={Access.READ: ()},
        model_options=("-m", "{model}"),
        effort_options=("-o", "reasoning_effort", "{effort}"),
    ),
    RunnerSpec("rules", Dialect.IN_PROCESS),
)  # fmt: skip
BUILT_IN: Mapping[str, RunnerSpec] = {spec.name: spec for spec in _SPECS}


class UnknownRunner(InputRejected): ...


def find_runner(name: str, *, config: Config) -> RunnerSpec:
    declared = config.runners.get(name)
    if declared is not None:
        return _declared(declared)
    if name in BUILT_IN:
        return BUILT_IN[name]
    known = sorted({*BUILT_IN, *config.runners})
    near = near_matches(name, known)
    raise UnknownRunner(
        f"no runner is called {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""),
        hint=f"known: {', '.join(known)}; declare another as [runners.{name}] in kb/review.toml",
    )


def installed_runner(
    spec: RunnerSpec, *, root: Path, environ: Mapping[str, str] = os.environ
) -> RunnerSpec:
    """The runner with its program's full path, found as a shell would, or from the root."""
    if spec.in_process or spec.api is not None:
        return spec
    named = spec.command[0]
    program = shutil.which(str(root / named) if "/" in named else named, path=environ.get("PATH"))
    if program is None:
        raise InputRejected(
            f"runner {spec.name!r} needs the program {named!r}, which is not installed",
            "runner-not-installed",
            hint=f"install it, put its folder on PATH, or set `command` of [runners.{spec.name}] in kb/review.toml",
        )
    return replace(spec, command=(program, *spec.command[1:]))


def _declared(settings: RunnerSettings) -> RunnerSpec:
    if settings.kind is not None or settings.address:
        return _from_kind(settings)
    like = settings.like or (settings.name if settings.name in BUILT_IN else "")
    base = _base_like(like, settings) if like else _base_of_command(settings)
    command = settings.command
    return replace(
        base,
        name=settings.name,
        command=command or base.command,
        access=dict.fromkeys(base.access, ()) if command else base.access,
        model_options=settings.model_options or base.model_options,
        effort_options=settings.effort_options or base.effort_options,
        options=settings.options,
        closing=() if command else base.closing,
        environment={**base.environment, **settings.environment},
        writes_file=settings.output is RunnerOutput.FILE,
        settings=settings,
    )


def _base_like(like: str, settings: RunnerSettings) -> RunnerSpec:
    known = [name for name, spec in BUILT_IN.items() if not spec.in_process]
    base, output = BUILT_IN.get(like, BUILT_IN["rules"]), settings.output
    reading = settings.fields or settings.where or settings.join or settings.edits
    cannot_write = output is RunnerOutput.FILE and Access.WRITE not in base.access
    own = output not in (None, RunnerOutput.FILE)
    _refuse_first(
        settings,
        ("like", base.in_process, f"expected one of {', '.join(known)}, got {like!r}"),
        ("output", own, f"{like} has an output of its own; only 'file' changes it"),
        ("fields", reading, f"{like} is read in a way of its own"),
        ("output", cannot_write, f"{like} cannot write files"),
    )
    return base


def _base_of_command(settings: RunnerSettings) -> RunnerSpec:
    output = settings.output or RunnerOutput.TEXT
    dialect = _DIALECTS[output]
    reads_json = dialect in (Dialect.JSON, Dialect.JSON_LINES)
    reading = settings.fields or settings.where or settings.join
    lacks_answer, needs = reads_json and "answer" not in settings.fields, "a runner needs `command`"
    _refuse_first(
        settings,
        ("command", not settings.command, f"{needs}, or `like` with a built-in one"),
        ("fields.answer", lacks_answer, f"output {output.value!r} needs it"),
        ("fields", not reads_json and reading, f"output {output.value!r} has none"),
    )
    access = [Access.READ, Access.WRITE, *([Access.EDIT] if settings.edits else [])]
    return RunnerSpec(settings.name, dialect, access=dict.fromkeys(access, ()))


def _from_kind(settings: RunnerSettings) -> RunnerSpec:
    kind = settings.kind
    why = f"a runner of kind {kind.value!r} has none" if kind else ""
    _refuse_first(
        settings,
        ("kind", kind is None, f"`address` needs one of {', '.join(ApiKind)}"),
        *((name, getattr(settings, name), why) for name in _OF_COMMANDS),
    )
    return RunnerSpec(
        name=settings.name,
        dialect=Dialect.API,
        access={Access.READ: ()},
        # Says that a model is needed and that an effort can be given.
        options=("{model}",),
        effort_options=("{effort}",),
        settings=settings,
    )


def _refuse_first(settings: RunnerSettings, *faults: tuple[str, object, str]) -> None:
    """Refuse for the first fault that is there: its key, a condition and the message."""
    for key, is_there, message in faults:
        if is_there:
            raise ConfigRefused(f"kb/review.toml: runners.{settings.name}.{key}: {message}")
