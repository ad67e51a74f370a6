"""Reads the accounts that CLIs give of their runs: total, whatever the CLI printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from review.protocol.sentinels import read_sentinel
from review.runners.cli.output import (
    Places,
    count,
    encoded,
    failure_of,
    gather,
    known,
    limit_named_by,
    listed,
    look,
    money,
    objects_in,
    summed,
    table,
    tells_of_the_limit,
    text,
)
from review.runners.outcome import Account, RunnerFailure
from review.runners.process.run import ProcessResult
from review.runners.registry import Access, Dialect, RunnerSpec

_Object = Mapping[str, Any]
_SESSION: Places = {"session_id": (text, "session_id")}
_MODEL: Places = {"model": (text, "model")}
_CLAUDE: Places = {
    **_SESSION,
    "turns": (count, "num_turns"),
    "cost_usd": (money, "total_cost_usd", "cost_usd"),
}
_CLAUDE_TOKENS: Places = {
    "input_tokens": (count, "inputTokens", "input_tokens"),
    "output_tokens": (count, "outputTokens", "output_tokens"),
    "cached_input_tokens": (count, "cacheReadInputTokens", "cache_read_input_tokens"),
    "cache_write_tokens": (count, "cacheCreationInputTokens", "cache_creation_input_tokens"),
}
_CLAUDE_WRITES = ("Write", "Edit", "MultiEdit", "NotebookEdit")
_CODEX_ENDINGS = ("turn.completed", "turn.failed")
_CODEX_SESSION: Places = {"session_id": (text, "thread_id")}
_CODEX_TOKENS: Places = {
    "input_tokens": (count, "input_tokens"),
    "output_tokens": (count, "output_tokens"),
    "cached_input_tokens": (count, "cached_input_tokens"),
    "cache_write_tokens": (count, "cache_write_input_tokens"),
    "reasoning_tokens": (count, "reasoning_output_tokens"),
}
_GEMINI_TOKENS: Places = {
    "input_tokens": (count, "tokens.prompt", "tokens.input"),
    "output_tokens": (count, "tokens.candidates"),
    "cached_input_tokens": (count, "tokens.cached"),
    "reasoning_tokens": (count, "tokens.thoughts"),
}
_GEMINI_WRITES = ("write_file", "replace", "edit")
# Its own exit codes under which every other run fails alike: auth, sandbox, settings, trust.
_GEMINI_UNUSABLE = (41, 44, 52, 55)
_HTTP_ERRORS = range(400, 600)
_LLM: Places = {
    "model": (text, "response_json.model", "resolved_model", "model"),
    "session_id": (text, "conversation_id"),
    "input_tokens": (count, "input_tokens"),
    "output_tokens": (count, "output_tokens"),
}
# What a service said of the end of its answer, wherever the plugin of `llm` for it keeps that.
_LLM_STOPS = (
    "finish_reason", "choices.0.finish_reason", "stop_reason", "candidates.0.finishReason",
    "incomplete_details.reason",
)  # fmt: skip
_FAULT = re.compile(r"error|warn|retr[iy]|reconnect|lagg|compact", re.IGNORECASE)
_FAULT_WORDS = ("message", "error.data.message", "error.message", "error", "text")
_DECLARED = {
    "model": text, "session_id": text, "input_tokens": count, "output_tokens": count,
    "cost_usd": money,
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A run that has ended or ran out of its `timeout` seconds, and all that its CLI left behind.

    :param file: the review file that the prompt asks for, when it was written during the run.
    :param last_message: what the CLI itself wrote to `{last_message}`.
    :param result: None when nobody saw it end.
    """

    spec: RunnerSpec
    access: Access
    stdout: bytes
    stderr: bytes = b""
    file: bytes | None = None
    last_message: bytes | None = None
    result: ProcessResult | None = None
    timeout: float = 0.0

    @property
    def exit_code(self) -> int | None:
        return None if self.result is None else self.result.exit_code


def read_claude_code(run: Run) -> Account:
    """`--output-format json`, or the lines of `stream-json`: the last `result` object decides."""
    objects = objects_in(run.stdout)
    result = _last(objects, lambda item: item.get("type") == "result")
    models = _by_model(result.get("modelUsage"), _CLAUDE_TOKENS)
    # `usage` can say 0 where `modelUsage` knows better, after a stream that was cut and resumed.
    of_run = gather([result.get("usage")], _CLAUDE_TOKENS)
    tokens = summed(models.values()) if "modelUsage" in result else of_run
    beginning = _last(objects, lambda item: item.get("subtype") == "init")
    told = gather([result, beginning], _MODEL) if result else {}
    turns = [look(it, "message.content") for it in objects if it.get("type") == "assistant"]
    messages = [look(part, "text") for turn in turns for part in listed(turn)]
    failure = _claude_failure(result) if result else None
    if messages and not result:
        failure = _cut_off(run.stderr.decode("utf-8", "replace"), "its result")
    return Account(
        answer=_answer([*messages, result.get("result")]),
        failure=failure,
        telemetry=gather([result], _CLAUDE) | known(models_usage=models or None) | tokens,
        models=tuple(models) or tuple(told.values()),
        refused_writes=tuple(
            text(look(tool, "tool_input.file_path")) or str(tool["tool_name"])
            for tool in map(table, listed(result.get("permission_denials")))
            if tool.get("tool_name") in _CLAUDE_WRITES
        ),
        cut_off=limit_named_by(result.get("stop_reason")),
        notices=tuple(_notices(objects)),
    )


def _claude_failure(result: _Object) -> RunnerFailure | None:
    status, subtype = count(result.get("api_error_status")), result.get("subtype")
    ended = result.get("terminal_reason") or "completed"
    if not result.get("is_error") and not status and (subtype, ended) == ("success", "completed"):
        return None
    errors = filter(text, listed(result.get("errors")))
    words = text(result.get("result")) or "; ".join(errors)
    if isinstance(subtype, str) and subtype != "success":
        words = f"{subtype}: {words}" if words else subtype
    return failure_of(words, status=status, fallback=f"{subtype} ({ended})")


def read_codex(run: Run) -> Account:
    """`codex exec --json`: the messages answer, the last turn's end is the verdict."""
    events = [item for item in objects_in(run.stdout) if isinstance(item.get("type"), str)]
    if not events:
        return Account()
    endings = [event for event in events if event["type"] in _CODEX_ENDINGS]
    said = _answer(map(_codex_message, events))
    # The usage of a thread is counted on from turn to turn: the last one is the sum.
    return Account(
        answer=run.last_message if said is None else said,
        failure=_codex_failure(events, endings, run.exit_code),
        telemetry={
            **gather([e for e in events if e["type"] == "thread.started"][:1], _CODEX_SESSION),
            **known(turns=len(endings) or None),
            **gather([_last(endings, lambda event: "usage" in event).get("usage")], _CODEX_TOKENS),
        },
        notices=tuple(_notices(events)),
    )


def _codex_message(event: _Object) -> object:
    item = table(event.get("item"))
    is_message = (event["type"], item.get("type")) == ("item.completed", "agent_message")
    return item.get("text") if is_message else None


def _codex_failure(
    events: Sequence[_Object], endings: Sequence[_Object], exit_code: int | None
) -> RunnerFailure | None:
    told = _last(events, lambda event: event["type"] == "error" and text(event.get("message")))
    words = text(told.get("message")) or ""
    if not endings:
        return _cut_off(words, "turn.completed") if words or (exit_code or 0) <= 0 else None
    if endings[-1]["type"] == "turn.completed":
        return None
    words = text(look(endings[-1], "error.message")) or words
    return failure_of(words, fallback="the turn failed, without a word")


def _cut_off(words: str, end: str) -> RunnerFailure:
    """The failure of a stream without its end: it may pass, unless the words concern all jobs."""
    failure = failure_of(words.strip() or f"stream ended before {end}")
    return replace(failure, retryable=failure.retryable or not failure.concerns_all)


def read_gemini(run: Run) -> Account:
    """`-o json`: the last object that answers or fails; on stderr when it failed early."""
    account = _last(
        objects_in(run.stdout), lambda item: item.keys() & {"response", "error", "stats"}
    )
    account = account or _last(objects_in(run.stderr), lambda item: "error" in item)
    warnings = tuple(filter(text, listed(account.get("warnings"))))
    models = _by_model(look(account, "stats.models"), _GEMINI_TOKENS)
    tools = table(look(account, "stats.tools.byName"))
    return Account(
        answer=encoded(account.get("response")),
        failure=_gemini_failure(account.get("error"), run.exit_code),
        telemetry={
            **gather([account], _SESSION),
            **known(models_usage=models or None),
            **summed(models.values()),
        },
        models=tuple(models),
        refused_writes=tuple(name for name in _GEMINI_WRITES if count(look(tools, f"{name}.fail"))),
        cut_off=next(filter(tells_of_the_limit, warnings), ""),
        notices=warnings,
    )


def _gemini_failure(error: object, exit_code: int | None) -> RunnerFailure | None:
    if not error:
        return None
    code = count(look(error, "code"))
    failure = failure_of(
        text(look(error, "message")) or text(error) or "",
        status=code if code in _HTTP_ERRORS else None,
        fallback=str(look(error, "type") or "it failed, without a word"),
    )
    is_unusable = code in _GEMINI_UNUSABLE or exit_code in _GEMINI_UNUSABLE
    return replace(failure, unusable=True, retryable=False) if is_unusable else failure


def read_text(run: Run) -> Account:
    return Account(answer=run.stdout)


def read_llm(run: Run) -> Account:
    """The record of `llm prompt --json`; versions without it print the answer alone."""
    record = _last(objects_in(run.stdout), lambda item: "response" in item)
    if not record:
        return read_text(run)
    told = gather([record], _LLM)
    return Account(
        answer=encoded(record.get("response")),
        models=(told.pop("model"),) if "model" in told else (),
        telemetry=told,
        cut_off=next(
            filter(
                None, (limit_named_by(look(record, f"response_json.{it}")) for it in _LLM_STOPS)
            ),
            "",
        ),
    )


def read_fields(run: Run) -> Account:
    """The declared fields of JSON objects; the last of a field counts, or the joined answers."""
    objects, settings = objects_in(run.stdout), run.spec.settings
    fields: Mapping[str, str] = settings.fields
    fitting = (
        item
        for item in objects
        if all(_is(look(item, path), value) for path, value in settings.where.items())
    )
    said = (look(item, fields["answer"]) for item in fitting)
    answers = [answer for answer in said if isinstance(answer, str)]
    places = {name: (read, fields[name]) for name, read in _DECLARED.items() if name in fields}
    told = gather(reversed(objects), places)
    error = _last(objects, lambda item: look(item, fields.get("error", "")) is not None)
    return Account(
        answer=encoded("".join(answers)) if settings.join and answers else _answer(answers),
        failure=_declared_failure(look(error, fields.get("error", ""))),
        models=(told.pop("model"),) if "model" in told else (),
        telemetry=told,
        notices=tuple(_notices(objects)),
    )


def _declared_failure(error: object) -> RunnerFailure | None:
    if not error:
        return None
    told = filter(None, (text(look({"error": error}, path)) for path in _FAULT_WORDS))
    return failure_of(next(told, ""), fallback="it says that it failed, without a word")


def _is(value: object, wanted: str) -> bool:
    return value is not None and str(value).lower() == str(wanted).lower()


def _answer(said: Iterable[object]) -> bytes | None:
    """The messages with reviews, less those that a later one holds a review of again; or the last."""
    messages = [message for message in said if isinstance(message, str)]
    kept: list[str] = []
    seen: set[tuple[str, int]] = set()
    for message in reversed(messages):
        found = (read_sentinel(line) for line in message.split("\n") if "==" in line)
        opened = {(item.token, item.ordinal) for item in found if item is not None and item.opens}
        if opened and opened.isdisjoint(seen):
            kept.append(message)
            seen |= opened
    return encoded("\n".join(reversed(kept)) if kept else next(reversed(messages), None))


def _notices(events: Iterable[_Object]) -> Iterator[str]:
    """Events that tell of a fault, such as a broken connection; of a success it went on from them."""
    for event in events:
        place = next((table(event[key]) for key in ("item", "part") if key in event), event)
        kind = text(event.get("subtype")) or text(place.get("type")) or ""
        if _FAULT.search(kind):
            words = next(filter(None, (text(look(place, path)) for path in _FAULT_WORDS)), "")
            yield words if " " in words else f"{kind} {words}"


def _last(objects: Iterable[_Object], wanted: Callable[[_Object], object]) -> _Object:
    return next((item for item in reversed(list(objects)) if wanted(item)), {})


def _by_model(usage: object, tokens: Places) -> dict[str, dict[str, Any]]:
    places = {**tokens, "cost_usd": (money, "costUSD")}
    return {name: gather([used], places) for name, used in table(usage).items()}


READERS: Mapping[Dialect, Callable[[Run], Account]] = {
    Dialect.CLAUDE_CODE: read_claude_code,
    Dialect.CODEX: read_codex,
    Dialect.GEMINI: read_gemini,
    Dialect.LLM: read_llm,
    Dialect.TEXT: read_text,
    Dialect.JSON: read_fields,
    Dialect.JSON_LINES: read_fields,
}
