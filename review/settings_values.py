"""Reads single values of `kb/review.toml`; a refusal names the file, the key and what was expected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

from review.errors import InputRejected

# Ten years: so long before now there is a date, and nobody waits longer.
MAX_DURATION = timedelta(days=3650)
FLAVOURS = (
    "commonmark",
    "dendron",
    "docusaurus",
    "github",
    "hugo",
    "jekyll",
    "mkdocs",
    "obsidian",
    "pandoc",
    "zola",
)
ANCHOR_STYLES = ("docusaurus", "github", "mkdocs", "obsidian", "pandoc")
_DURATION_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class ConfigRefused(InputRejected):
    """`kb/review.toml` holds a key or a value that is not understood."""


def parse_duration(raw: str) -> timedelta:
    """Read `90s`, `15m`, `2h` or `3d`.

    :raises ValueError: anything else, zero and more than ten years included.
    """
    match = re.fullmatch(r"([1-9][0-9]{0,6})([smhd])", raw.strip())
    if match is None:
        raise ValueError(f"{raw!r} is not a duration such as 90s, 15m, 2h or 3d")
    length = timedelta(**{_DURATION_UNITS[match[2]]: int(match[1])})
    if length > MAX_DURATION:
        raise ValueError(f"{raw!r} is longer than {MAX_DURATION.days}d")
    return length


def strings(path: Path, key: str, value: object) -> tuple[str, ...]:
    """A list of texts, none of them empty."""
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        refuse(path, key, "a list of non-empty strings", value)
    return tuple(value)


def table_of_strings(path: Path, key: str, value: object) -> dict[str, str]:
    """A table whose values are texts."""
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        refuse(path, key, "a table of strings", value)
    return value


def truth(path: Path, key: str, value: object) -> bool:
    """`true` or `false`."""
    if not isinstance(value, bool):
        refuse(path, key, "true or false", value)
    return value


def not_empty(path: Path, key: str, value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        refuse(path, key, "a name", value)
    return value


def folders(path: Path, key: str, value: object) -> tuple[str, ...]:
    """A list of folders below the root, one at least."""
    names = strings(path, key, value)
    if not names:
        refuse(path, key, "at least one folder", value)
    return tuple(folder(path, key, name) for name in names)


def folder(path: Path, key: str, value: object) -> str:
    """A folder below the root, as POSIX parts."""
    if not isinstance(value, str):
        refuse(path, key, "a folder below the root", value)
    parts = [part for part in value.split("/") if part not in ("", ".")]
    if value.startswith("/") or ".." in parts or not parts:
        refuse(path, key, "a folder below the root", value)
    return "/".join(parts)


def flavour(path: Path, key: str, value: object) -> str:
    """The name of a dialect of Markdown."""
    return _one_of(path, key, value, FLAVOURS)


def anchors(path: Path, key: str, value: object) -> str:
    """The name of a way to make anchors of headings."""
    return _one_of(path, key, value, ANCHOR_STYLES)


def _one_of(path: Path, key: str, value: object, known: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in known:
        refuse(path, key, f"one of {', '.join(known)}", value)
    return value


def positive(path: Path, key: str, value: object) -> int:
    """A whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        refuse(path, key, "a whole number above 0", value)
    return value


def money(path: Path, key: str, value: object) -> Decimal:
    """An amount above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        refuse(path, key, "an amount above 0, such as 2.50", value)
    return Decimal(str(value))


def duration(path: Path, key: str, value: object) -> object:
    """A duration, as `parse_duration` reads it."""
    if not isinstance(value, str):
        refuse(path, key, "a duration such as 90s, 15m, 2h or 3d", value)
    try:
        return parse_duration(value)
    except ValueError as error:
        raise ConfigRefused(f"{path}: {key}: {error}") from error


def refuse_unknown(path: Path, key: str, known: Sequence[str]) -> NoReturn:
    """Refuse a key that is not known, with the nearest that is."""
    import difflib

    near = difflib.get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ConfigRefused(f"{path}: unknown key {key!r}; {hint}known: {', '.join(known)}")


def refuse(path: Path, key: str, expected: str, got: object) -> NoReturn:
    """Refuse a value."""
    raise ConfigRefused(f"{path}: {key}: expected {expected}, got {got!r}")
