"""A runner as data: the command line, the permissions, and the place of the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from review.errors import UsageRefused
from review.settings.file import PLACEHOLDERS, RunnerSettings

_UNDECLARED = RunnerSettings(name="")
_PLACEHOLDER = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")


class RunnerCannot(UsageRefused):
    """The runner has no place for a model or an effort, or cannot edit files."""


class Access(StrEnum):
    """Access of a worker to files; never beyond its scratch folder."""

    READ = "read"
    WRITE = "write"
    EDIT = "edit"


class Dialect(StrEnum):
    """Format in which a CLI reports its run; each has an adapter."""

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
        """Refuse options that this runner does not support, before anything is claimed or started.

        :raises RunnerCannot: it has no place for a model or effort, or needs one, or cannot edit.
        """
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
