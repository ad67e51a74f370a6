"""A stand-in for the services behind reviewer CLIs: answers each API's requests as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Script:
    """What the service does with every request that asks a model.

    :param status: an HTTP status; the answer is given under 200, an error under any other.
    :param cut: ends the connection in the middle of the answer.
    :param silent: takes the request and says nothing.
    :param calls: the tools that the model calls before it answers, one after the other, and what it
        gives them: of the APIs of Anthropic and of OpenAI's responses.
    """

    answer: str = "Hello."
    status: int = 200
    message: str = "the stand-in says no"
    cut: bool = False
    silent: bool = False
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    requests: list[tuple[str, Any]] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)

    def prompts(self) -> str:
        """All that was asked, for a look at what reached the service."""
        return json.dumps([body for _path, body in self.requests], ensure_ascii=False)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Script

    def do_GET(self) -> None:
        self._send(200, {"data": [], "models": []})

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw.decode("utf-8", "replace")
        events = self._events(body)
        if events is None:
            self._send(200, {"totalTokens": 1, "input_tokens": 1})
            return
        self.script.requests.append((self.path, body))
        if self.script.silent:
            self.script.gone.wait()
        elif self.script.status != 200:
            self._send(self.script.status, _error(self.path, self.script))
        else:
            self._answer(events)

    def _events(self, body: Any) -> list[Any] | None:
        """The events of an answer (one: no stream), or None for a request that asks no model."""
        path = self.path.partition("?")[0]
        if path.endswith("/messages"):
            return _anthropic(body, self.script)
        if path.endswith("/chat/completions"):
            return [_chat(body, self.script.answer)]
        if path.endswith("/responses"):
            return _responses(body, self.script)
        if "GenerateContent" in path or "generateContent" in path:
            return [_gemini(path, self.script.answer)]
        return None

    def _answer(self, events: list[Any]) -> None:
        if len(events) == 1 and "stream" not in self.path:
            self._send(200, events[0])
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        sent = events[: len(events) // 2] if self.script.cut else events
        for event in sent:
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()
        self.close_connection = True

    def _send(self, status: int, document: Any) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, *_args: object) -> None:
        """Say nothing."""


def _error(path: str, script: Script) -> dict[str, Any]:
    error = {"type": "error", "message": script.message, "code": script.status, "status": "ERROR"}
    return {"type": "error", "error": error}


def _anthropic(body: Any, script: Script) -> list[Any]:
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"),
        "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 7},
    }  # fmt: skip
    done = json.dumps(body["messages"]).count('"type": "tool_result"')
    call = _next_call(script, done)
    reason = "tool_use" if call else "end_turn"
    return [
        {"type": "message_start", "message": message},
        *(_tool_call(*call, number=done) if call else _text(script.answer)),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]


def _next_call(script: Script, done: int) -> tuple[str, dict[str, Any]] | None:
    return script.calls[done] if done < len(script.calls) else None


def _text(answer: str) -> list[Any]:
    delta = {"type": "text_delta", "text": answer}
    return [_block({"type": "text", "text": ""}), _delta(delta)]


def _tool_call(name: str, given: dict[str, Any], *, number: int) -> list[Any]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
    delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
    return [_block(call), _delta(delta)]


def _block(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": block}


def _delta(delta: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def _chat(body: Any, answer: str) -> dict[str, Any]:
    return {
        "id": "chat-1", "object": "chat.completion", "created": 1, "model": f"{body['model']}-2026-01-15",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }  # fmt: skip


def _responses(body: Any, script: Script) -> list[Any]:
    part = {"type": "output_text", "text": script.answer, "annotations": []}
    item = {
        "type": "message", "id": "item-1", "role": "assistant", "status": "completed", "content": [part],
    }  # fmt: skip
    done = json.dumps(body.get("input", "")).count('"type": "function_call_output"')
    if call := _next_call(script, done):
        *space, name = call[0].rsplit("/", 1)
        item = {
            "type": "function_call", "id": "item-1", "call_id": f"call-{done}", "name": name,
            "arguments": json.dumps(call[1]), "status": "completed",
            **({"namespace": space[0]} if space else {}),
        }  # fmt: skip
    usage = {
        "input_tokens": 11, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 18,
    }  # fmt: skip
    response = {"id": "resp-1", "object": "response", "model": body["model"], "output": []}
    if not body.get("stream"):
        return [{**response, "status": "completed", "output": [item], "usage": usage}]
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {
            "type": "response.completed",
            "response": {**response, "status": "completed", "output": [item], "usage": usage},
        },
    ]


def _gemini(path: str, answer: str) -> dict[str, Any]:
    model = path.rpartition("/models/")[2].partition(":")[0]
    return {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": answer}]},
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
        "modelVersion": model,
    }


@contextmanager
def serving(script: Script) -> Iterator[str]:
    """Serve on a free port of the loopback; the address without a slash at its end."""
    handler = type("Handler", (_Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        script.gone.set()
        server.shutdown()
        server.server_close()
