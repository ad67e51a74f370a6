"""Reads Gemini CLI's account of a run: `-o json`, on stdout, or on stderr when it failed early."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from review.runners.cli.error_texts import failure_of, tells_of_the_limit
from review.runners.cli.json_output import (
    count,
    encoded,
    known,
    objects_in,
    summed,
    table,
    text,
    tokens_of,
)
from review.runners.outcome import Account, Captured, RunnerFailure
from review.runners.spec import Reading

_TOKENS = {
    "input_tokens": ("tokens.prompt", "tokens.input"),
    "output_tokens": ("tokens.candidates",),
    "cached_input_tokens": ("tokens.cached",),
    "reasoning_tokens": ("tokens.thoughts",),
}
# Its own exit codes under which every other run fails alike: auth, sandbox, settings, trust.
_UNUSABLE_EXITS = (41, 44, 52, 55)
_HTTP_ERRORS = range(400, 600)
_WRITING_TOOLS = ("write_file", "replace", "edit")


def read_gemini(captured: Captured, _reading: Reading) -> Account:
    """The last object that answers or fails; noise around it does not matter."""
    objects = [item for item in objects_in(captured.stdout) if _is_account(item)]
    if not objects:
        objects = [item for item in objects_in(captured.stderr) if "error" in item]
    if not objects:
        return Account()
    account = objects[-1]
    warnings = _warnings(account)
    models = table(table(account.get("stats")).get("models"))
    return Account(
        answer=encoded(account.get("response")),
        failure=_failure(account, captured.exit_code),
        telemetry=_telemetry(account, models),
        models=tuple(models),
        refused_writes=_refused_writes(account),
        cut_off=next(filter(tells_of_the_limit, warnings), ""),
        notices=warnings,
    )


def _is_account(item: Mapping[str, Any]) -> bool:
    return "response" in item or "error" in item or "stats" in item


def _failure(account: Mapping[str, Any], exit_code: int | None) -> RunnerFailure | None:
    error = account.get("error")
    if not error:
        return None
    code = count(table(error).get("code"))
    failure = failure_of(
        text(table(error).get("message")) or text(error) or "",
        status=code if code in _HTTP_ERRORS else None,
        fallback=str(table(error).get("type") or "it failed, without a word"),
    )
    if code in _UNUSABLE_EXITS or exit_code in _UNUSABLE_EXITS:
        return replace(failure, unusable=True, retryable=False)
    return failure


def _telemetry(account: Mapping[str, Any], models: Mapping[str, Any]) -> dict[str, Any]:
    usage = {name: tokens_of(used, _TOKENS) for name, used in models.items()}
    session = text(account.get("session_id"))
    return known(session_id=session, models_usage=usage or None, **summed(usage.values()))


def _warnings(account: Mapping[str, Any]) -> tuple[str, ...]:
    warnings = account.get("warnings")
    told = map(text, warnings if isinstance(warnings, list) else [])
    return tuple(words for words in told if words)


def _refused_writes(account: Mapping[str, Any]) -> tuple[str, ...]:
    tools = table(table(table(account.get("stats")).get("tools")).get("byName"))
    return tuple(name for name in _WRITING_TOOLS if count(table(tools.get(name)).get("fail")))
