"""What model providers answer, held against the types of their SDKs, and the check of what they are asked."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.fakes.answering import blocks

if TYPE_CHECKING:
    from tests.helpers.providers import Fault, Playing

PAIR = re.compile(r"^[0-9a-f]{8}/(\d+): (.+) :: (.+)$", re.MULTILINE)


def reviews(prompt: str, *, decision: str = "pass", **changes: Any) -> dict[str, Any]:
    """Structured reviews of each pair that a prompt requests."""
    entries = [
        {
            "pair": int(number),
            "summary": f"The note {note} holds.",
            "findings": [],
            "suggested_revision": "",
            "decision": decision,
        }
        | changes
        for number, note, _gate in PAIR.findall(prompt)
    ]
    return {"reviews": entries}


def prompt_of(body: Any) -> str:
    """The prompt in a request of either kind."""
    content = body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def anthropic_message(body: Any, text: str, **changes: Any) -> dict[str, Any]:
    """An answer of the Messages API, as its SDK's type has it."""
    from anthropic.types import Message

    caches = any("cache_control" in part for part in body["messages"][0]["content"])
    usage = {"input_tokens": 100, "output_tokens": 50}
    usage |= {"cache_read_input_tokens": 900 if caches else 0, "cache_creation_input_tokens": 0}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"],
        "content": [{"type": "text", "text": text, "citations": None}],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    return checked(Message, message | changes)


def openai_completion(body: Any, text: str, **changes: Any) -> dict[str, Any]:
    """An answer of the Chat Completions API, as its SDK's type has it."""
    from openai.types.chat import ChatCompletion

    refusal = changes.pop("refusal", None)
    message = {"role": "assistant", "content": None if refusal else text, "refusal": refusal}
    choice = {"index": 0, "finish_reason": changes.pop("finish_reason", "stop"), "logprobs": None}
    completion = {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_790_000_000,
        "model": f"{body['model']}-2026-09-01", "choices": [choice | {"message": message}],
        "usage": {
            "prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050,
            "prompt_tokens_details": {"cached_tokens": 900},
        },
    }  # fmt: skip
    return checked(ChatCompletion, completion | changes)


def checked(kind: Any, document: dict[str, Any]) -> dict[str, Any]:
    """The document, which the SDK's type takes."""
    kind.model_validate(document)
    return document


@cache
def _parameters(kind: str) -> Any:
    """The check of a request's parameters, by the SDK's own type; an unknown one is refused."""
    import pydantic

    if kind == "anthropic":
        from anthropic.types.message_create_params import MessageCreateParamsNonStreaming as Wanted
    else:
        from openai.types.chat.completion_create_params import (  # type: ignore[assignment]
            CompletionCreateParamsNonStreaming as Wanted,
        )
    return pydantic.TypeAdapter(Wanted), Wanted.__required_keys__ | Wanted.__optional_keys__


def check_parameters(kind: str, body: dict[str, Any]) -> None:
    """Refuse what the SDK's types do not have.

    :raises ValueError: says what is wrong.
    """
    adapter, names = _parameters(kind)
    if unknown := set(body) - names:
        raise ValueError(f"unknown parameters {sorted(unknown)}")
    adapter.validate_python(body)


def answer_document(kind: str, body: Any, fault: Fault | None = None) -> dict[str, Any]:
    """A good answer, in the structure that is asked for, changed as the fault says."""
    prompt = prompt_of(body)
    structured = "response_format" in body or "format" in body.get("output_config", {})
    text = json.dumps(reviews(prompt)) if structured else blocks(prompt)
    make = anthropic_message if kind == "anthropic" else openai_completion
    if fault is None:
        return make(body, text)
    return make(body, text if fault.text is None else fault.text, **fault.changes)


def error_body(message: str) -> dict[str, Any]:
    """An error, in the shape of either provider."""
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


def show_batch(batch: dict[str, Any]) -> dict[str, Any]:
    """A batch as its provider shows it, by the SDK's type."""
    ended = batch["ended"] or batch["cancelled"]
    expires = batch["at"] + timedelta(hours=24)
    fates = [fate_of(batch, name) for name in batch["requests"]]
    if batch["kind"] == "anthropic":
        from anthropic.types.messages import MessageBatch

        words = ("succeeded", "errored", "canceled", "expired")
        counts = {word: fates.count(word) if ended else 0 for word in words}
        counts["processing"] = 0 if ended else len(fates)
        return checked(
            MessageBatch,
            {
                "id": batch["id"], "type": "message_batch", "created_at": batch["at"].isoformat(),
                "expires_at": expires.isoformat(), "request_counts": counts,
                "processing_status": "ended" if ended else "in_progress",
                "results_url": f"{batch['playing'].url}/v1/messages/batches/{batch['id']}/results",
            },
        )  # fmt: skip
    from openai.types import Batch

    failed = batch.get("failed")
    output = make_openai_files(batch) if ended and not failed else {}
    status = "cancelled" if batch["cancelled"] else "completed" if ended else "in_progress"
    return checked(
        Batch,
        {
            "id": batch["id"], "object": "batch", "completion_window": "24h",
            "created_at": int(batch["at"].timestamp()), "expires_at": int(expires.timestamp()),
            "endpoint": "/v1/chat/completions", "input_file_id": "file-1",
            "status": "failed" if failed else status, "metadata": batch["metadata"],
            "errors": {"object": "list", "data": [{"message": failed}]} if failed else None, **output,
        },
    )  # fmt: skip


def fate_of(batch: dict[str, Any], name: str) -> str:
    """What becomes of a request."""
    usual = "canceled" if batch["cancelled"] and not batch["ended"] else "succeeded"
    return batch["playing"].fates.get(name, usual)


def anthropic_results(playing: Playing, batch_id: str) -> list[Any]:
    """The lines of a batch's results, in another order than the requests."""
    from anthropic.types.messages import MessageBatchIndividualResponse

    batch, lines = playing.batches[batch_id], []
    for name, body in reversed(batch["requests"].items()):
        fate = fate_of(batch, name)
        result: dict[str, Any] = {"type": fate}
        if fate == "succeeded":
            result["message"] = answer_document("anthropic", body)
        elif fate == "errored":
            inner = {"type": "invalid_request_error", "message": "the prompt is too long"}
            result["error"] = {"type": "error", "error": inner, "request_id": None}
        line = {"custom_id": name, "result": result}
        lines.append(checked(MessageBatchIndividualResponse, line))
    return lines


def make_openai_files(batch: dict[str, Any]) -> dict[str, str]:
    """The files of a batch that has ended; requests that were not run are in the error file."""
    playing = batch["playing"]
    done: list[Any] = []
    failed: list[Any] = []
    for name, body in reversed(batch["requests"].items()):
        fate = fate_of(batch, name)
        line: dict[str, Any] = {
            "id": f"r-{name}",
            "custom_id": name,
            "response": None,
            "error": None,
        }
        if fate == "succeeded":
            answer = answer_document("openai", body)
            line["response"] = {"status_code": 200, "request_id": "r", "body": answer}
        elif fate == "errored":
            body = error_body("the prompt is too long")
            line["response"] = {"status_code": 400, "request_id": "r", "body": body}
        else:
            code = "batch_expired" if fate == "expired" else "batch_cancelled"
            line["error"] = {"code": code, "message": "This request was not executed."}
        (done if fate == "succeeded" else failed).append(line)
    files = {}
    for kind, lines in (("output", done), ("error", failed)):
        if lines:
            name = f"{kind}-{batch['id']}"
            playing.files[name] = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
            files[f"{kind}_file_id"] = name
    return files
