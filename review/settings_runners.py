"""Reads the `[runners.NAME]` tables of `kb/review.toml`: how other reviewers are called."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from review.settings_values import (
    not_empty,
    refuse,
    refuse_unknown,
    strings,
    table_of_strings,
    truth,
)

RUNNER_FIELDS = (
    "answer", "error", "model", "session_id", "cost_usd", "input_tokens", "output_tokens",
)  # fmt: skip
# What a runner's command may name. Not the prompt: it is given on stdin, or as a file.
PLACEHOLDERS = ("model", "effort", "scratch", "output_file", "last_message", "prompt_file")


class RunnerOutput(StrEnum):
    """Where the answer of a declared runner stands: all of stdout, JSON on it, or a file."""

    TEXT = "text"
    JSON = "json"
    JSON_LINES = "jsonl"
    FILE = "file"


@dataclass(frozen=True)
class RunnerSettings:
    """A declared runner, or changes to a built-in one.

    :param like: the built-in runner whose output it has and whose other settings it takes.
    :param model: as it calls the model that it runs where only the partition is known.
    :param fields: where a JSON answer holds what (`RUNNER_FIELDS`), as dotted paths.
    :param where: dotted path to the value that an answer's JSON object has.
    :param edits: whether the command may be used to edit a note in its working directory.
    """

    name: str
    like: str = ""
    command: tuple[str, ...] = ()
    model: str = ""
    model_options: tuple[str, ...] = ()
    effort_options: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    output: RunnerOutput | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    join: bool = False
    edits: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


def read_runners(path: Path, values: object) -> dict[str, RunnerSettings]:
    """The declared runners by their names.

    :raises ConfigRefused: a key or value is not understood.
    """
    if not isinstance(values, dict):
        refuse(path, "runners", "a table of tables", values)
    return {name: _runner(path, name, table) for name, table in values.items()}


def _runner(path: Path, name: str, table: object) -> RunnerSettings:
    key = f"runners.{name}"
    if not isinstance(table, dict):
        refuse(path, key, "a table with `command` or `like`", table)
    changes: dict[str, Any] = {}
    for word, value in table.items():
        if word not in _READERS:
            refuse_unknown(path, f"{key}.{word}", [f"{key}.{known}" for known in _READERS])
        changes[word] = _READERS[word](path, f"{key}.{word}", value)
    for word in changes.get("fields", ()):
        if word not in RUNNER_FIELDS:
            known = [f"{key}.fields.{field}" for field in RUNNER_FIELDS]
            refuse_unknown(path, f"{key}.fields.{word}", known)
    return RunnerSettings(name, **changes)


def _argv(path: Path, key: str, value: object) -> tuple[str, ...]:
    arguments = strings(path, key, value)
    for argument in arguments:
        for word in re.findall(r"\{([a-z_]+)\}", argument):
            if word == "prompt":
                refuse(path, key, "no {prompt}: it is given on stdin", argument)
            if word not in PLACEHOLDERS:
                refuse(path, key, f"one of {{{'}, {'.join(PLACEHOLDERS)}}}", argument)
    return arguments


def _variables(path: Path, key: str, value: object) -> dict[str, str]:
    variables = table_of_strings(path, key, value)
    for name, text in variables.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or "\0" in text:
            refuse(path, key, "names of environment variables", name)
        _argv(path, f"{key}.{name}", [text] if text else [])
    return variables


def _output(path: Path, key: str, value: object) -> RunnerOutput:
    if not isinstance(value, str) or value not in list(RunnerOutput):
        refuse(path, key, f"one of {', '.join(RunnerOutput)}", value)
    return RunnerOutput(value)


_READERS: Mapping[str, Callable[[Path, str, object], object]] = {
    "like": not_empty,
    "command": _argv,
    "model": not_empty,
    "model_options": _argv,
    "effort_options": _argv,
    "options": _argv,
    "output": _output,
    "fields": table_of_strings,
    "where": table_of_strings,
    "join": truth,
    "edits": truth,
    "environment": _variables,
}
