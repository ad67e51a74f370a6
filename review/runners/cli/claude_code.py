"""Reads Claude Code's account of a run: `--output-format json`, or the lines of `stream-json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from review.runners.cli.error_texts import failure_of, limit_named_by
from review.runners.cli.json_output import (
    count,
    encoded,
    known,
    money,
    objects_in,
    summed,
    table,
    text,
    tokens_of,
)
from review.runners.outcome import Account, Captured, RunnerFailure
from review.runners.spec import Reading

_TOKENS = {
    "input_tokens": ("inputTokens", "input_tokens"),
    "output_tokens": ("outputTokens", "output_tokens"),
    "cached_input_tokens": ("cacheReadInputTokens", "cache_read_input_tokens"),
    "cache_write_tokens": ("cacheCreationInputTokens", "cache_creation_input_tokens"),
}
_WRITING_TOOLS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_COMPLETED = "completed"


def read_claude_code(captured: Captured, _reading: Reading) -> Account:
    """The last `result` object decides; without one there is no account."""
    objects = objects_in(captured.stdout)
    results = [item for item in objects if item.get("type") == "result"]
    if not results:
        return Account()
    result = results[-1]
    usage = table(result.get("modelUsage"))
    first = next((item for item in objects if item.get("subtype") == "init"), {})
    told = text(result.get("model")) or text(first.get("model"))
    models = tuple(usage) or ((told,) if told else ())
    return Account(
        answer=encoded(result.get("result")),
        failure=_failure(result),
        telemetry=_telemetry(result, usage),
        models=models,
        refused_writes=_refused_writes(result),
        cut_off=limit_named_by(result.get("stop_reason")),
    )


def _failure(result: Mapping[str, Any]) -> RunnerFailure | None:
    status, subtype = count(result.get("api_error_status")), result.get("subtype")
    ended = result.get("terminal_reason") or _COMPLETED
    if not result.get("is_error") and not status and subtype == "success" and ended == _COMPLETED:
        return None
    return failure_of(_message(result), status=status, fallback=f"{subtype} ({ended})")


def _message(result: Mapping[str, Any]) -> str:
    errors = result.get("errors")
    told = [item for item in errors if isinstance(item, str)] if isinstance(errors, list) else []
    words = text(result.get("result")) or "; ".join(told)
    subtype = result.get("subtype")
    if isinstance(subtype, str) and subtype != "success":
        return f"{subtype}: {words}" if words else subtype
    return words


def _telemetry(result: Mapping[str, Any], usage: Mapping[str, Any]) -> dict[str, Any]:
    models = {
        name: known(cost_usd=money(table(used).get("costUSD")), **tokens_of(used, _TOKENS))
        for name, used in usage.items()
    }
    # `usage` can say 0 where `modelUsage` knows better, after a stream that was cut and resumed.
    tokens = summed(models.values()) if "modelUsage" in result else None
    cost = money(result.get("total_cost_usd"))
    return known(
        session_id=text(result.get("session_id")),
        turns=count(result.get("num_turns")),
        cost_usd=money(result.get("cost_usd")) if cost is None else cost,
        models_usage=models or None,
        **(tokens_of(result.get("usage"), _TOKENS) if tokens is None else tokens),
    )


def _refused_writes(result: Mapping[str, Any]) -> tuple[str, ...]:
    denials = result.get("permission_denials")
    tools = map(table, denials if isinstance(denials, list) else [])
    return tuple(
        text(table(tool.get("tool_input")).get("file_path")) or str(tool["tool_name"])
        for tool in tools
        if tool.get("tool_name") in _WRITING_TOOLS
    )
