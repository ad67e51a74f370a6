"""Reads the cost of a run from the telemetry formats of harnesses, and limits what is stored."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

# Our own words first, then those of the harnesses' own documents.
_TOKENS: Mapping[str, tuple[str, ...]] = {
    "input_tokens": ("input_tokens", "inputTokens"),
    "output_tokens": ("output_tokens", "outputTokens"),
    "prompt_tokens": ("prompt_tokens",),
    "cached_input_tokens": ("cached_input_tokens", "cache_read_input_tokens", "cacheReadInputTokens"),
}  # fmt: skip
_SUMMED = (
    "duration_seconds", "turns", "input_tokens", "output_tokens", "cached_input_tokens",
    "cache_write_tokens", "prompt_tokens", "reasoning_tokens", "cost_usd",
)  # fmt: skip
_GEMINI_OUTPUT = ("candidates", "output")
_MODELS_USAGE = ("models_usage", "modelUsage")
_WITHOUT_COST = "runs_without_cost"
_ACCOUNT_KEYS = ("models", "modelUsage")
_NAME_KEYS = ("id", "name", "model")
_DEEPEST = 8
_NOTHING: tuple[object, ...] = (None, "", [], {})

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
    r"(?i)api[-_]?key|secret|password|passwd|authorization|cookie|credential"
    r"|(?:access|refresh|auth|bearer|id|session)[-_]?token$"
)
_MASK = "…"


@dataclass(frozen=True)
class Usage:
    """The known cost of a run or a job; None is unknown. Not `whole`: a part has no known cost."""

    cost_usd: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    prompt_tokens: int | None = None
    seconds: float | None = None
    whole: bool = True


def read_usage(telemetry: Mapping[str, Any] | None) -> Usage:
    """Read the usage from `telemetry`; values that are negative or no number are ignored."""
    if telemetry is None:
        return Usage()
    tokens = {name: _tokens(telemetry, words) for name, words in _TOKENS.items()}
    seconds, milliseconds = (_first(telemetry, [f"duration_{unit}"]) for unit in ("seconds", "ms"))
    if seconds is None and milliseconds is not None:
        seconds = milliseconds / 1000
    return Usage(
        cost_usd=_first(telemetry, ("cost_usd", "total_cost_usd")),
        seconds=seconds,
        whole=not telemetry.get(_WITHOUT_COST),
        **tokens,
    )


def merge_runs(runs: Sequence[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """Sum the telemetry of several runs; `runs_without_cost` counts those of unknown cost."""
    said = [dict(run) for run in runs if run is not None]
    if len(runs) < 2 or not said:
        return said[0] if said else None
    merged = {name: value for run in said for name, value in run.items()}
    for name in _SUMMED:
        known = [number for run in said if (number := _number(run.get(name))) is not None]
        if known:
            total = sum(known)
            merged[name] = int(total) if all(map(float.is_integer, known)) else total
    without = len(runs) - sum(_number(run.get("cost_usd")) is not None for run in said)
    if "cost_usd" in merged and without:
        merged[_WITHOUT_COST] = without
    return merged | {"runs": len(runs)}


def output_tokens_by_model(telemetry: Mapping[str, Any] | None) -> dict[str, int]:
    """Return output tokens by model, most first; empty if the harness does not report them."""
    said, words = telemetry or {}, _TOKENS["output_tokens"]
    for place in (*map(said.get, _MODELS_USAGE), _mapping(said.get("stats")).get("models")):
        found = {
            name: int(_first(used, words) or _first(used.get("tokens"), _GEMINI_OUTPUT) or 0)
            for name, used in _mapping(place).items()
            if isinstance(used, Mapping)
        }
        if any(found.values()):
            return dict(sorted(found.items(), key=lambda item: -item[1]))
    return {}


def telemetry_models(telemetry: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The models in `model`, `models`, `modelUsage` and `stats.models`, as harnesses write them."""
    if telemetry is None:
        return ()
    stats = _mapping(telemetry.get("stats"))
    accounts = [*map(telemetry.get, _ACCOUNT_KEYS), stats.get("models")]
    places = [_names(telemetry.get("model")), *(_names(it, by_name=True) for it in accounts)]
    return tuple(dict.fromkeys(chain(*places)))


def names_no_model(telemetry: Mapping[str, Any]) -> bool:
    """Return True if telemetry has a field for the model but no readable name in it."""
    said = any(telemetry.get(name) not in _NOTHING for name in ("model", *_ACCOUNT_KEYS))
    return said and not telemetry_models(telemetry)


def _names(place: object, *, by_name: bool = False, depth: int = 0) -> list[str]:
    """The models in a name, in a model's description, or in lists and accounts `by_name`."""
    if isinstance(place, str):
        return [place] if place.strip() else []
    if not isinstance(place, Mapping | list) or depth == _DEEPEST:
        return []
    parts = place if isinstance(place, list) else [place.get(key) for key in _NAME_KEYS]
    names = [name for part in parts for name in _names(part, depth=depth + 1)]
    if isinstance(place, list):
        return names
    if by_name and not names and not any(isinstance(value, str) for value in place.values()):
        return [name for name in place if name.strip()]
    return names[:1]


def masked(text: str) -> str:
    """Cut short what looks like a key, a bearer's token or a password in an address."""
    return _SECRET.sub(lambda found: f"{found[1] or found[2] or found[3]}{_MASK}", text)


def kept_telemetry(telemetry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is stored: without keys, and only top-level values, `cut`, where too large."""
    kept: dict[str, Any] = _kept(telemetry, 1)
    if len(json.dumps(kept, ensure_ascii=False).encode()) <= MAX_BYTES:
        return kept
    first = list(kept.items())[:MAX_ITEMS]
    plain = {name: value for name, value in first if not isinstance(value, dict | list)}
    return plain | {CUT: True}


def _kept(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        plain = value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
        return masked(plain if len(plain) <= MAX_TEXT else plain[:MAX_TEXT] + _MASK)
    if isinstance(value, Mapping | list | tuple) and depth > MAX_DEPTH:
        return _MASK
    if isinstance(value, Mapping):
        return {
            _kept(name, depth): _MASK
            if isinstance(item, str) and _SECRET_NAMES.search(name)
            else _kept(item, depth + 1)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_kept(item, depth + 1) for item in value]
    # Databases and JSON hold neither a larger integer nor an infinity or NaN.
    return None if isinstance(value, int | float) and not abs(value) < _MOST else value


def _tokens(telemetry: Mapping[str, Any], words: tuple[str, ...]) -> int | None:
    models = [usage for name in _MODELS_USAGE for usage in _mapping(telemetry.get(name)).values()]
    # The models' own accounts before the summary: the two can disagree, and those were right.
    for place in ([telemetry], models, [telemetry.get("usage")]):
        known = [number for item in place if (number := _first(item, words)) is not None]
        if known:
            return int(sum(known))
    return None


def _first(place: object, words: Iterable[str]) -> float | None:
    numbers = (_number(_mapping(place).get(word)) for word in words)
    return next((number for number in numbers if number is not None), None)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = float(value) if abs(value) < 1e300 else math.inf
    return number if math.isfinite(number) and number >= 0 else None
