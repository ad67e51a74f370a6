"""Reads Codex's account of a run: the event lines of `codex exec --json`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from review.runners.cli.error_texts import failure_of
from review.runners.cli.json_output import encoded, known, objects_in, table, text, tokens_of
from review.runners.outcome import Account, Captured, RunnerFailure
from review.runners.spec import Reading

_ENDINGS = ("turn.completed", "turn.failed")
_TOKENS = {
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
    "cached_input_tokens": ("cached_input_tokens",),
    "cache_write_tokens": ("cache_write_input_tokens",),
    "reasoning_tokens": ("reasoning_output_tokens",),
}
_REVIEW = "PAIR REVIEW START"
_CUT = "stream ended before turn.completed"


def read_codex(captured: Captured, _reading: Reading) -> Account:
    """The last message of the agent is the answer; how the last turn ended is the verdict.

    Error items and `Reconnecting…` on the way are not fatal. Neither a model nor a cost is told.
    """
    events = [item for item in objects_in(captured.stdout) if isinstance(item.get("type"), str)]
    if not events:
        return Account()
    endings = [event for event in events if event["type"] in _ENDINGS]
    messages = [message for event in events if (message := _agent_message(event)) is not None]
    # Where the stream was cut, what was said last may be talk.
    reviews = [] if endings else [message for message in messages if _REVIEW in message]
    said = next(reversed(reviews or messages), None)
    return Account(
        answer=captured.last_message if said is None else encoded(said),
        failure=_failure(events, endings[-1] if endings else None, captured.exit_code),
        telemetry=_telemetry(events, endings),
        notices=tuple(_notices(events)),
    )


def _agent_message(event: Mapping[str, Any]) -> str | None:
    item = table(event.get("item"))
    # Builds of 2025 spelled the key `item_type`, and the kind `assistant_message`.
    kind = item.get("type") or item.get("item_type")
    if event["type"] != "item.completed" or kind not in ("agent_message", "assistant_message"):
        return None
    message = item.get("text")
    return message if isinstance(message, str) else None


def _failure(
    events: Sequence[Mapping[str, Any]], ending: Mapping[str, Any] | None, exit_code: int | None
) -> RunnerFailure | None:
    if ending is None:
        words = _last_error(events)
        return failure_of(words or _CUT) if words or exit_code == 0 else None
    if ending["type"] == "turn.completed":
        return None
    words = text(table(ending.get("error")).get("message")) or _last_error(events)
    return failure_of(words, fallback="the turn failed, without a word")


def _notices(events: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Errors that Codex went on from: it reconnects, or its event stream lags."""
    for event in events:
        item = table(event.get("item"))
        place = item if "error" in (item.get("type"), item.get("item_type")) else event
        if place is item or event["type"] == "error":
            yield text(place.get("message")) or text(place.get("text")) or ""


def _last_error(events: Sequence[Mapping[str, Any]]) -> str:
    told = [text(event.get("message")) for event in events if event["type"] == "error"]
    return next((message for message in reversed(told) if message), "")


def _telemetry(
    events: Sequence[Mapping[str, Any]], endings: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    # The usage of a thread is counted on from turn to turn: the last one is the sum.
    used = next((table(e["usage"]) for e in reversed(endings) if "usage" in e), {})
    sessions = [
        text(event.get("thread_id")) or text(event.get("session_id"))
        for event in events
        if event["type"] in ("thread.started", "session.created")
    ]
    return known(
        session_id=next(iter(sessions), None),
        turns=len(endings) or None,
        **tokens_of(used, _TOKENS),
    )
