"""Reads and checks `kb/review.toml`; every refusal names the file, the key and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, NoReturn

from review.errors import InputRejected

_DURATION_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "notes": {"roots": "note_roots", "excludes": "excludes", "max_bytes": "max_note_bytes"},
    "gates": {"folder": "gates_folder"},
    "jobs": {"abandoned_after": "abandoned_after", "max_prompt_tokens": "max_prompt_tokens"},
    "sweeps": {
        "jobs": "sweep_jobs",
        "timeout": "sweep_timeout",
        "max_attempts": "sweep_attempts",
        "max_cost_usd": "sweep_max_cost_usd",
    },
}
_PARTITION_KEYS = ("aliases", "any_effort")
_RUNNER_KEYS = (
    "like", "command", "model_options", "effort_options", "options", "output", "fields", "where",
    "join", "edits", "environment",
)  # fmt: skip
RUNNER_FIELDS = (
    "answer", "error", "model", "session_id", "cost_usd", "input_tokens", "output_tokens",
)  # fmt: skip
# What a runner's command may name. Not the prompt: it is given on stdin, or as a file.
PLACEHOLDERS = ("model", "effort", "scratch", "output_file", "last_message", "prompt_file")


class ConfigRefused(InputRejected):
    """`kb/review.toml` holds a key or a value that is not understood."""


@dataclass(frozen=True)
class Partition:
    """A declared model partition.

    :param aliases: model names judged equivalent to it, as written.
    :param any_effort: whether a claim may name any reasoning effort.
    """

    name: str
    aliases: tuple[str, ...] = ()
    any_effort: bool = False


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
    :param fields: where a JSON answer holds what (`RUNNER_FIELDS`), as dotted paths.
    :param where: dotted path to the value that an answer's JSON object has.
    :param edits: whether the command may be used to edit a note in its working directory.
    """

    name: str
    like: str = ""
    command: tuple[str, ...] = ()
    model_options: tuple[str, ...] = ()
    effort_options: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    output: RunnerOutput | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    join: bool = False
    edits: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


def read_settings(path: Path) -> dict[str, Any]:
    """What `path` sets, by the field names of `review.conf.Config`.

    :raises ConfigRefused: the file is no TOML, or holds a key or value that is not understood.
    """
    import tomllib

    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigRefused(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise ConfigRefused(f"{path}: cannot be read: {error.strerror}") from error
    changes: dict[str, Any] = {}
    for section, values in document.items():
        if section == "partitions":
            changes["partitions"] = _partitions(path, values)
        elif section == "runners":
            changes["runners"] = _runners(path, values)
        elif section in _SECTIONS:
            changes.update(_section(path, section, values))
        else:
            _unknown(path, section, (*_SECTIONS, "partitions", "runners"))
    return changes


def parse_duration(raw: str) -> timedelta:
    """Read `90s`, `15m`, `2h` or `3d`.

    :raises ValueError: anything else, zero included.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", raw.strip())
    if match is None:
        raise ValueError(f"{raw!r} is not a duration such as 90s, 15m, 2h or 3d")
    return timedelta(**{_DURATION_UNITS[match[2]]: int(match[1])})


def _section(path: Path, section: str, values: object) -> dict[str, Any]:
    known = _SECTIONS[section]
    if not isinstance(values, dict):
        _refuse(path, section, "a table", values)
    changes = {}
    for key, value in values.items():
        if key not in known:
            _unknown(path, f"{section}.{key}", [f"{section}.{name}" for name in known])
        changes[known[key]] = _READERS[known[key]](path, f"{section}.{key}", value)
    return changes


def _partitions(path: Path, values: object) -> dict[str, Partition]:
    if not isinstance(values, dict):
        _refuse(path, "partitions", "a table of tables", values)
    declared = {name: _partition(path, name, table) for name, table in values.items()}
    owner: dict[str, str] = {}
    for name, partition in declared.items():
        for alias in partition.aliases:
            if owner.setdefault(alias, name) != name:
                _refuse(path, f"partitions.{name}.aliases", "each alias in one partition", alias)
    return declared


def _partition(path: Path, name: str, table: object) -> Partition:
    key = f"partitions.{name}"
    if not isinstance(table, dict):
        _refuse(path, key, "a table with `aliases`", table)
    for word in table:
        if word not in _PARTITION_KEYS:
            _unknown(path, f"{key}.{word}", [f"{key}.{known}" for known in _PARTITION_KEYS])
    any_effort = _truth(path, f"{key}.any_effort", table.get("any_effort", False))
    return Partition(name, _strings(path, f"{key}.aliases", table.get("aliases", [])), any_effort)


def _runners(path: Path, values: object) -> dict[str, RunnerSettings]:
    if not isinstance(values, dict):
        _refuse(path, "runners", "a table of tables", values)
    return {name: _runner(path, name, table) for name, table in values.items()}


def _runner(path: Path, name: str, table: object) -> RunnerSettings:
    key = f"runners.{name}"
    if not isinstance(table, dict):
        _refuse(path, key, "a table with `command` or `like`", table)
    changes: dict[str, Any] = {}
    for word, value in table.items():
        if word not in _RUNNER_KEYS:
            _unknown(path, f"{key}.{word}", [f"{key}.{known}" for known in _RUNNER_KEYS])
        changes[word] = _RUNNER_READERS[word](path, f"{key}.{word}", value)
    for word in changes.get("fields", ()):
        if word not in RUNNER_FIELDS:
            known = [f"{key}.fields.{field}" for field in RUNNER_FIELDS]
            _unknown(path, f"{key}.fields.{word}", known)
    return RunnerSettings(name, **changes)


def _argv(path: Path, key: str, value: object) -> tuple[str, ...]:
    arguments = _strings(path, key, value)
    for argument in arguments:
        for word in re.findall(r"\{([a-z_]+)\}", argument):
            if word == "prompt":
                _refuse(path, key, "no {prompt}: it is given on stdin", argument)
            if word not in PLACEHOLDERS:
                _refuse(path, key, f"one of {{{'}, {'.join(PLACEHOLDERS)}}}", argument)
    return arguments


def _words(path: Path, key: str, value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        _refuse(path, key, "a table of strings", value)
    return value


def _variables(path: Path, key: str, value: object) -> dict[str, str]:
    variables = _words(path, key, value)
    for name, text in variables.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or "\0" in text:
            _refuse(path, key, "names of environment variables", name)
        _argv(path, f"{key}.{name}", [text] if text else [])
    return variables


def _output(path: Path, key: str, value: object) -> RunnerOutput:
    if not isinstance(value, str) or value not in list(RunnerOutput):
        _refuse(path, key, f"one of {', '.join(RunnerOutput)}", value)
    return RunnerOutput(value)


def _word(path: Path, key: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        _refuse(path, key, "a name", value)
    return value


def _truth(path: Path, key: str, value: object) -> bool:
    if not isinstance(value, bool):
        _refuse(path, key, "true or false", value)
    return value


def _strings(path: Path, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        _refuse(path, key, "a list of non-empty strings", value)
    return tuple(value)


def _folders(path: Path, key: str, value: object) -> tuple[str, ...]:
    folders = _strings(path, key, value)
    if not folders:
        _refuse(path, key, "at least one folder", value)
    return tuple(_folder(path, key, item) for item in folders)


def _folder(path: Path, key: str, value: object) -> str:
    if not isinstance(value, str):
        _refuse(path, key, "a folder below the root", value)
    parts = [part for part in value.split("/") if part not in ("", ".")]
    if value.startswith("/") or ".." in parts or not parts:
        _refuse(path, key, "a folder below the root", value)
    return "/".join(parts)


def _positive(path: Path, key: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        _refuse(path, key, "a whole number above 0", value)
    return value


def _money(path: Path, key: str, value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        _refuse(path, key, "an amount above 0, such as 2.50", value)
    return Decimal(str(value))


def _duration(path: Path, key: str, value: object) -> object:
    if not isinstance(value, str):
        _refuse(path, key, "a duration such as 90s, 15m, 2h or 3d", value)
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ConfigRefused(f"{path}: {key}: {error}") from error


_READERS: Mapping[str, Callable[[Path, str, object], object]] = {
    "note_roots": _folders,
    "excludes": _strings,
    "max_note_bytes": _positive,
    "gates_folder": _folder,
    "abandoned_after": _duration,
    "max_prompt_tokens": _positive,
    "sweep_jobs": _positive,
    "sweep_timeout": _duration,
    "sweep_attempts": _positive,
    "sweep_max_cost_usd": _money,
}


_RUNNER_READERS: Mapping[str, Callable[[Path, str, object], object]] = {
    "like": _word,
    "command": _argv,
    "model_options": _argv,
    "effort_options": _argv,
    "options": _argv,
    "output": _output,
    "fields": _words,
    "where": _words,
    "join": _truth,
    "edits": _truth,
    "environment": _variables,
}


def _unknown(path: Path, key: str, known: Sequence[str]) -> NoReturn:
    import difflib

    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigRefused(f"{path}: unknown key {key!r}; {hint}known: {', '.join(known)}")


def _refuse(path: Path, key: str, expected: str, got: object) -> NoReturn:
    raise ConfigRefused(f"{path}: {key}: expected {expected}, got {got!r}")
