"""Finds JSON objects in what a CLI printed, among noise; total, and linear in the input."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from review.runners.cli.error_texts import without_escapes

# What reads a value (`text`, `count`, `money`), then the dotted paths where it may stand.
Places = Mapping[str, tuple[Any, ...]]
_OPENING = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
_DECODER = json.JSONDecoder(strict=False)
_MOST = 2**53
_MOST_MONEY = 1e12
_MOST_TRIES = 20  # of what does not end on its line: each may read all of the text


def objects_in(data: bytes) -> list[dict[str, Any]]:
    """Every JSON object that begins a line, in order; those in a list one by one."""
    text = without_escapes(data).decode("utf-8", "replace").removeprefix("\ufeff")
    found: list[object] = []
    at, tries = 0, _MOST_TRIES
    while match := _OPENING.search(text, at):
        start = match.end()
        at = text.find("\n", start) + 1 or len(text)
        value, length = _decode(text[start:at])
        if not length and tries:
            value, length = _decode(text, start)
            tries -= not length
        if length:
            at = start + length
            found += value if isinstance(value, list) else [value]
    return [item for item in found if isinstance(item, dict)]


def _decode(source: str, start: int = 0) -> tuple[object, int]:
    """A value and its length; 0: there is none."""
    try:
        value, end = _DECODER.raw_decode(source, start)
    except (ValueError, RecursionError):  # no JSON, a number that is too long, or too deep
        return None, 0
    return value, end - start


def look(value: object, path: str) -> object:
    """Return the value at a dotted path (`message.content.0.text`), or None."""
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def table(value: object) -> Mapping[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    """`value` where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str | None:
    """`value` where it is a text that is not blank."""
    return value if isinstance(value, str) and value.strip() else None


def encoded(value: object) -> bytes | None:
    """`value` where it is a text, as bytes."""
    return value.encode("utf-8", "replace") if isinstance(value, str) else None


def count(value: object) -> int | None:
    """`value` where it counts something: a whole number from 0, and no truth value."""
    return value if type(value) is int and 0 <= value < _MOST else None


def money(value: object) -> float | None:
    """`value` where it can be an amount: a number from 0, and no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _MOST_MONEY else None


def known(**values: object) -> dict[str, Any]:
    """Drop unknown values instead of storing them as null."""
    return {name: value for name, value in values.items() if value is not None}


def gather(documents: Iterable[object], places: Places) -> dict[str, Any]:
    """Read values by our own names; the first that is found, over the documents and their paths."""
    documents, found = list(documents), {}
    for name, (reader, *paths) in places.items():
        values = (reader(look(item, path)) for item in documents for path in paths)
        found[name] = next((value for value in values if value is not None), None)
    return known(**found)


def summed(usages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums of what is known of several models."""
    sums: Counter[str] = Counter()
    for usage in usages:
        sums.update({name: value for name, value in usage.items() if isinstance(value, int)})
    return dict(sums)
