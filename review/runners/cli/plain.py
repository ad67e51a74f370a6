"""Reads the answer of CLIs that give no account: text, a record of `llm`, or declared JSON fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from review.runners.cli.error_texts import failure_of, limit_named_by, without_escapes
from review.runners.cli.json_output import (
    count,
    encoded,
    known,
    look,
    money,
    objects_in,
    table,
    text,
    tokens_of,
)
from review.runners.outcome import Account, Captured, RunnerFailure
from review.runners.spec import Reading

_TOKENS = {"input_tokens": ("input_tokens",), "output_tokens": ("output_tokens",)}
_STOP_PATHS = (
    "finish_reason", "choices.0.finish_reason", "stop_reason", "candidates.0.finishReason",
    "incomplete_details.reason",
)  # fmt: skip


def read_text(captured: Captured, _reading: Reading) -> Account:
    """All of stdout is the answer."""
    return Account(answer=without_escapes(captured.stdout))


def read_llm(captured: Captured, reading: Reading) -> Account:
    """The record of `llm prompt --json`; versions without it print the answer alone."""
    records = [item for item in objects_in(captured.stdout) if "response" in item]
    if not records:
        return read_text(captured, reading)
    record = records[-1]
    names = (look(record, "response_json.model"), record.get("resolved_model"), record.get("model"))
    model = next((name for name in map(text, names) if name), None)
    # What a service said of the end of its answer, wherever the plugin for it keeps that.
    stops = (look(record, f"response_json.{path}") for path in _STOP_PATHS)
    return Account(
        answer=encoded(record.get("response")),
        telemetry=known(
            session_id=text(record.get("conversation_id")),
            **tokens_of(record, _TOKENS),
        ),
        models=(model,) if model else (),
        cut_off=next(filter(None, map(limit_named_by, stops)), ""),
    )


def read_fields(captured: Captured, reading: Reading) -> Account:
    """The JSON objects that `reading` names; the last of a field counts, or the joined answers."""
    objects = objects_in(captured.stdout)
    if not objects:
        return Account()
    fields = reading.fields
    answers = [
        answer
        for item in objects
        if all(_is(look(item, path), value) for path, value in reading.where.items())
        and isinstance(answer := look(item, fields["answer"]), str)
    ]
    whole = "".join(answers) if reading.join else next(reversed(answers), None)
    model = text(_last(objects, fields, "model"))
    return Account(
        answer=encoded(whole) if answers else None,
        failure=_failure(_last(objects, fields, "error")),
        telemetry=known(
            session_id=text(_last(objects, fields, "session_id")),
            input_tokens=count(_last(objects, fields, "input_tokens")),
            output_tokens=count(_last(objects, fields, "output_tokens")),
            cost_usd=money(_last(objects, fields, "cost_usd")),
        ),
        models=(model,) if model else (),
    )


def _last(objects: Sequence[Mapping[str, Any]], fields: Mapping[str, str], name: str) -> object:
    if name not in fields:
        return None
    found = (look(item, fields[name]) for item in reversed(objects))
    return next((value for value in found if value is not None), None)


def _failure(error: object) -> RunnerFailure | None:
    if not error:
        return None
    told = text(error) or text(table(error).get("message"))
    return failure_of(told or "", fallback="it says that it failed, without a word")


def _is(value: object, wanted: str) -> bool:
    if isinstance(value, bool):
        return wanted == str(value).lower()
    return value is not None and str(value) == wanted
