"""Reads and checks `kb/review.toml`; every refusal names the file, the key and what was expected."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from review.settings_runners import read_runners
from review.settings_values import (
    ConfigRefused,
    anchors,
    duration,
    flavour,
    folder,
    folders,
    money,
    positive,
    refuse,
    refuse_unknown,
    strings,
    truth,
)

_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "notes": {
        "roots": "note_roots",
        "excludes": "excludes",
        "max_bytes": "max_note_bytes",
        "cache": "uses_cache",
        "flavour": "flavour",
        "anchors": "anchors",
        "site_root": "site_root",
    },
    "prompt": {"strip_comments": "strips_comments"},
    "gates": {"folder": "gates_folder"},
    "jobs": {"abandoned_after": "abandoned_after", "max_prompt_tokens": "max_prompt_tokens"},
    "sweeps": {
        "jobs": "sweep_jobs",
        "timeout": "sweep_timeout",
        "max_attempts": "sweep_attempts",
        "max_cost_usd": "sweep_max_cost_usd",
    },
}

_MAX_BYTES = 1_000_000
_PARTITION_KEYS = ("aliases", "any_effort")


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
    document = _document(path)
    changes: dict[str, Any] = {}
    for section, values in document.items():
        if section == "partitions":
            changes["partitions"] = _partitions(path, values)
        elif section == "runners":
            changes["runners"] = read_runners(path, values)
        elif section in _SECTIONS:
            changes.update(_section(path, section, values))
        else:
            refuse_unknown(path, section, (*_SECTIONS, "partitions", "runners"))
    return changes


def _document(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(_bytes(path).decode("utf-8"))
    except ValueError as error:  # bad TOML, bad UTF-8, and numbers longer than Python reads
        raise ConfigRefused(f"{path}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise ConfigRefused(f"{path}: not valid TOML: nested too deeply") from error
    except OSError as error:
        raise ConfigRefused(f"{path}: cannot be read: {error.strerror}") from error


def _bytes(path: Path) -> bytes:
    # Not to be kept waiting by a pipe or a terminal, nor filled by a device.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigRefused(f"{path}: cannot be read: not a regular file")
        if status.st_size > _MAX_BYTES:
            raise ConfigRefused(f"{path}: {status.st_size} bytes; at most {_MAX_BYTES} are read")
        return file.read(_MAX_BYTES)


def _section(path: Path, section: str, values: object) -> dict[str, Any]:
    known = _SECTIONS[section]
    if not isinstance(values, dict):
        refuse(path, section, "a table", values)
    changes = {}
    for key, value in values.items():
        if key not in known:
            refuse_unknown(path, f"{section}.{key}", [f"{section}.{name}" for name in known])
        changes[known[key]] = _READERS[known[key]](path, f"{section}.{key}", value)
    return changes


def _partitions(path: Path, values: object) -> dict[str, Partition]:
    if not isinstance(values, dict):
        refuse(path, "partitions", "a table of tables", values)
    declared = {name: _partition(path, name, table) for name, table in values.items()}
    owner: dict[str, str] = {}
    for name, partition in declared.items():
        for alias in partition.aliases:
            if owner.setdefault(alias, name) != name:
                refuse(path, f"partitions.{name}.aliases", "each alias in one partition", alias)
    return declared


def _partition(path: Path, name: str, table: object) -> Partition:
    key = f"partitions.{name}"
    if not isinstance(table, dict):
        refuse(path, key, "a table with `aliases`", table)
    for word in table:
        if word not in _PARTITION_KEYS:
            refuse_unknown(path, f"{key}.{word}", [f"{key}.{known}" for known in _PARTITION_KEYS])
    any_effort = truth(path, f"{key}.any_effort", table.get("any_effort", False))
    return Partition(name, strings(path, f"{key}.aliases", table.get("aliases", [])), any_effort)


_READERS: Mapping[str, Callable[[Path, str, object], object]] = {
    "note_roots": folders,
    "excludes": strings,
    "max_note_bytes": positive,
    "uses_cache": truth,
    "flavour": flavour,
    "anchors": anchors,
    "site_root": folder,
    "strips_comments": truth,
    "gates_folder": folder,
    "abandoned_after": duration,
    "max_prompt_tokens": positive,
    "sweep_jobs": positive,
    "sweep_timeout": duration,
    "sweep_attempts": positive,
    "sweep_max_cost_usd": money,
}
