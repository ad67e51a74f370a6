"""Reads and checks `kb/review.toml`; every refusal names the file, the key and what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

from review.errors import InputRejected

_DURATION_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "notes": {"roots": "note_roots", "excludes": "excludes", "max_bytes": "max_note_bytes"},
    "gates": {"folder": "gates_folder"},
    "jobs": {"abandoned_after": "abandoned_after", "max_prompt_tokens": "max_prompt_tokens"},
}
_PARTITION_KEYS = ("aliases", "any_effort")


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
        elif section in _SECTIONS:
            changes.update(_section(path, section, values))
        else:
            _unknown(path, section, (*_SECTIONS, "partitions"))
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
    declared: dict[str, Partition] = {}
    owner: dict[str, str] = {}
    for name, table in values.items():
        key = f"partitions.{name}"
        if not isinstance(table, dict):
            _refuse(path, key, "a table with `aliases`", table)
        for word in table:
            if word not in _PARTITION_KEYS:
                _unknown(path, f"{key}.{word}", [f"{key}.{known}" for known in _PARTITION_KEYS])
        aliases = _strings(path, f"{key}.aliases", table.get("aliases", []))
        for alias in aliases:
            if owner.setdefault(alias, name) != name:
                _refuse(path, f"{key}.aliases", f"{alias!r} in one partition only", alias)
        any_effort = table.get("any_effort", False)
        if not isinstance(any_effort, bool):
            _refuse(path, f"{key}.any_effort", "true or false", any_effort)
        declared[name] = Partition(name, aliases, any_effort)
    return declared


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
}


def _unknown(path: Path, key: str, known: Sequence[str]) -> NoReturn:
    import difflib

    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigRefused(f"{path}: unknown key {key!r}; {hint}known: {', '.join(known)}")


def _refuse(path: Path, key: str, expected: str, got: object) -> NoReturn:
    raise ConfigRefused(f"{path}: {key}: expected {expected}, got {got!r}")
