"""What of a harness's telemetry is kept: bounded, without keys, and such that any database takes it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

MAX_BYTES = 65_536
MAX_DEPTH = 12
MAX_ITEMS = 200
MAX_TEXT = 2_000
CUT = "cut"
_MOST = 2**63
# Keys of the services that models are asked for at, and of those that repositories are kept at.
_SECRET = re.compile(
    r"\b((?:sk|rk|pk|gsk|ghp|gho|ghs|ghu|github_pat|glpat|xox[a-z]|hf)[-_]|AIza|AKIA|ya29\.)"
    r"[A-Za-z0-9_\-]{12,}"
    r"|\b(Bearer\s+)[A-Za-z0-9_\-.=+/]{12,}"
    r"|(://[^\s/:@]{1,200}:)[^\s/@]{1,200}(?=@)"
)
_SECRET_NAMES = re.compile(
    r"api[-_]?key|secret|password|passwd|authorization|cookie|credential"
    r"|(?:access|refresh|auth|bearer|id|session)[-_]?token$",
    re.IGNORECASE,
)
_MASK = "…"


def masked(text: str) -> str:
    """The text with what looks like a key, a bearer's token or a password in an address cut short."""
    return _SECRET.sub(lambda found: f"{found[1] or found[2] or found[3]}{_MASK}", text)


def kept_telemetry(telemetry: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of `telemetry`; where anything was left out for its size, `cut` is true."""
    keeper = _Keeper()
    found = keeper.table(telemetry, 1)
    if len(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")) > MAX_BYTES:
        keeper.has_cut = True
        found = {name: value for name, value in found.items() if not isinstance(value, dict | list)}
    return found | {CUT: True} if keeper.has_cut else found


class _Keeper:
    """Copies a value of JSON within the bounds."""

    def __init__(self) -> None:
        self.has_cut = False

    def table(self, values: Mapping[str, Any], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in values.items():
            if len(found) >= MAX_ITEMS or depth > MAX_DEPTH:
                self.has_cut = True
                break
            hidden = isinstance(value, str) and _SECRET_NAMES.search(name)
            found[self._text(name)] = _MASK if hidden else self._value(value, depth)
        return found

    def _value(self, value: object, depth: int) -> object:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return self.table(value, depth + 1)
        if isinstance(value, list | tuple):
            if len(value) > MAX_ITEMS or depth > MAX_DEPTH:
                self.has_cut = True
            kept = value[:MAX_ITEMS] if depth <= MAX_DEPTH else ()
            return [self._value(item, depth + 1) for item in kept]
        if isinstance(value, bool) or value is None:
            return value
        return _number(value)

    def _text(self, text: str) -> str:
        if len(text) > MAX_TEXT:
            self.has_cut = True
        plain = text[:MAX_TEXT].replace("\0", "\ufffd").encode("utf-8", "replace").decode()
        return masked(plain)


def _number(value: object) -> int | float | str | None:
    if isinstance(value, int):
        return value if abs(value) < _MOST else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)[:MAX_TEXT]
