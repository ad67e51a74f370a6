"""A local server that plays model providers: both kinds of API, their faults, and the life of their batches.

What it is asked is held against the types of the SDKs' parameters, and what it answers against those of
their responses.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.helpers.provider_documents import (
    answer_document,
    anthropic_results,
    check_parameters,
    error_body,
    show_batch,
)

KEY = "the-key-that-nobody-may-see"


@dataclass
class Fault:
    """What the server does instead of answering a request well.

    :param raw: bytes of a body that is no answer, or not JSON.
    :param changes: what is other than usual in the document of the answer.
    :param cut: the connection ends in the middle of the body.
    :param silent: there is no answer until the server ends.
    """

    status: int = 200
    message: str = "the stand-in says no"
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    cut: bool = False
    silent: bool = False
    text: str | None = None


@dataclass
class Playing:
    """The server's side of a test.

    :param faults: used up one a request that asks a model; a function is asked with the body.
    :param fates: what becomes of the requests of a batch by custom id: `errored`, `expired`, `canceled`.
    :param forget_answer: the next batch is made, and nobody is told.
    """

    url: str = ""
    delay: float = 0.0
    faults: list[Fault] = field(default_factory=list)
    lacks: tuple[str, ...] = ()
    asked: list[tuple[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    fates: dict[str, str] = field(default_factory=dict)
    forget_answer: bool = False
    at_once: int = 0
    most_at_once: int = 0
    gone: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def bodies(self) -> list[Any]:
        """All that models were asked, batches among it."""
        return [body for _path, body in self.asked]

    def end_batches(self) -> None:
        """Let every batch come to its end."""
        for batch in self.batches.values():
            batch["ended"] = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    playing: Playing

    def log_request(self, *_args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        playing = self.playing
        if path.endswith("/results"):
            self._send_lines(anthropic_results(playing, path.split("/")[-2]))
        elif "/files/" in path:
            data = playing.files[path.split("/")[-2]]
            self._send_bytes(data, "application/octet-stream")
        elif path.endswith("/batches"):
            shown = [show_batch(batch) for batch in reversed(playing.batches.values())]
            listed = {"data": shown, "has_more": False, "first_id": None, "last_id": None}
            self._send(200, {**listed, "object": "list"})
        elif (name := path.split("/")[-1]) in playing.batches:
            self._send(200, show_batch(playing.batches[name]))
        else:
            self._send(404, error_body("no such batch"))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, playing = self.path.partition("?")[0], self.playing
        told = self.headers.get("Authorization") or self.headers.get("x-api-key") or ""
        playing.keys.add(told.removeprefix("Bearer "))
        if path.endswith("/cancel"):
            batch = playing.batches[path.split("/")[-2]]
            batch["cancelled"] = True
            self._send(200, show_batch(batch))
        elif path.endswith("/files"):
            name = f"file-{len(playing.files) + 1}"
            playing.files[name] = raw[raw.index(b"{") : raw.rindex(b"}") + 1]
            shown = {"id": name, "object": "file", "bytes": len(raw), "created_at": 1}
            self._send(200, shown | {"filename": "f", "purpose": "batch", "status": "processed"})
        elif path.endswith("/batches"):
            self._make_batch(json.loads(raw), "anthropic" if "messages" in path else "openai")
        else:
            self._ask(path, json.loads(raw))

    def _make_batch(self, body: Any, kind: str) -> None:
        playing = self.playing
        fault = playing.faults.pop(0) if playing.faults else Fault()
        if fault.status != 200:
            self._send(fault.status, error_body(fault.message))
            return
        if kind == "anthropic":
            requests = {item["custom_id"]: item["params"] for item in body["requests"]}
        else:
            lines = playing.files[body["input_file_id"]].decode().splitlines()
            requests = {item["custom_id"]: item["body"] for item in map(json.loads, lines)}
        for request in requests.values():
            check_parameters(kind, request)
            playing.asked.append((self.path, request))
        name = f"batch_{len(playing.batches) + 1}"
        playing.batches[name] = {
            "id": name, "kind": kind, "requests": requests, "ended": False, "cancelled": False,
            "at": datetime.now(UTC), "metadata": body.get("metadata"), "playing": playing,
        }  # fmt: skip
        time.sleep(playing.delay)
        if playing.forget_answer:
            playing.forget_answer = False
            self.close_connection = True
            return
        self._send(200, show_batch(playing.batches[name]))

    def _ask(self, path: str, body: Any) -> None:
        playing, kind = self.playing, "anthropic" if path.endswith("/messages") else "openai"
        with playing.lock:
            playing.asked.append((path, body))
            fault = playing.faults.pop(0) if playing.faults else Fault()
            playing.at_once += 1
            playing.most_at_once = max(playing.most_at_once, playing.at_once)
        try:
            if playing.delay:
                time.sleep(playing.delay)
            self._answer(kind, body, fault)
        finally:
            with playing.lock:
                playing.at_once -= 1

    def _answer(self, kind: str, body: Any, fault: Fault) -> None:
        if fault.silent:
            self.playing.gone.wait()
            return
        try:
            check_parameters(kind, body)
        except ValueError as error:
            self._send(400, error_body(str(error)))
            return
        lacking = [name for name in self.playing.lacks if name in json.dumps(body)]
        if lacking:
            self._send(400, error_body(f"unsupported parameter: {lacking[0]}"))
        elif fault.status != 200:
            self._send(fault.status, error_body(fault.message), fault.headers)
        elif fault.raw is not None:
            self._send_bytes(fault.raw, "application/json")
        else:
            document = answer_document(kind, body, fault)
            self._send_bytes(json.dumps(document).encode(), "application/json", cut=fault.cut)

    def _send(self, status: int, document: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(document).encode()
        self._send_bytes(data, "application/json", status=status, headers=headers)

    def _send_lines(self, lines: list[Any]) -> None:
        data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        self._send_bytes(data, "application/x-jsonl")

    def _send_bytes(
        self,
        data: bytes,
        kind: str,
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.wfile.flush()
        self.close_connection = cut or self.close_connection


@contextmanager
def playing_providers(playing: Playing | None = None) -> Iterator[Playing]:
    """Serve on a free port of the loopback."""
    playing = playing or Playing()
    handler = type("Handler", (_Handler,), {"playing": playing})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.request_queue_size = 128
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    playing.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield playing
    finally:
        playing.gone.set()
        server.shutdown()
        server.server_close()


def settings_of(url: str, kind: str, **more: str) -> str:
    """`kb/review.toml` with the runner `api` at the server's address."""
    address = url if kind == "anthropic" else f"{url}/v1"
    extra = "".join(f"{name} = {value}\n" for name, value in more.items())
    return (
        f'[runners.api]\nkind = "{kind}"\naddress = "{address}"\nkey = "TEST_API_KEY"\n{extra}'
        "[runners.api.prices]\ninput = 2.0\noutput = 10.0\ncached_input = 0.2\ncache_write = 2.5\n"
        "batch = 0.5\n"
    )
