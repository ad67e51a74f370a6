"""The Chat Completions API, of OpenAI or of a server that speaks it, and its batches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from review.runners.api.prices import Tokens
from review.runners.api.provider import (
    CACHE_FEATURE,
    SCHEMA_FEATURE,
    ApiProvider,
    BatchResult,
    BatchState,
    ModelCall,
    Reply,
    not_run,
)
from review.runners.api.structured import SCHEMA
from review.runners.cli.json_output import count, look, table, text
from review.settings.file import RunnerSettings

if TYPE_CHECKING:
    from openai.types import Batch

_MARK = "commonplace"
_UNDER_WAY = ("validating", "in_progress", "finalizing", "cancelling")
_FAILED = "failed"


class OpenAIProvider(ApiProvider):
    """Calls of OpenAI's SDK, as `AnthropicProvider`; its own retries are off."""

    def __init__(self, settings: RunnerSettings, *, key: str) -> None:
        import openai

        self._client = openai.OpenAI(
            api_key=key or "none", base_url=settings.address or None, max_retries=0
        )
        create, errors = (
            self._client.chat.completions.with_raw_response.create,
            (openai.OpenAIError,),
        )
        super().__init__(settings, key, client=self._client, errors=errors, create=create)
        if settings.address:  # other servers cache by themselves, and may refuse to be told how
            self.without.add(CACHE_FEATURE)

    def body(self, call: ModelCall) -> dict[str, Any]:
        shared, own = call.shared_and_own
        content: Any = call.prompt
        extra: dict[str, Any] = {"reasoning_effort": call.effort} if call.effort else {}
        if CACHE_FEATURE not in self.without:
            content = [
                {"type": "text", "text": shared, "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "text", "text": own},
            ]
            extra["prompt_cache_options"] = {"mode": "explicit"}
            extra["prompt_cache_key"] = hashlib.sha256(shared.encode()).hexdigest()[:32]
        if SCHEMA_FEATURE not in self.without:
            schema = {"name": "reviews", "strict": True, "schema": SCHEMA}
            extra["response_format"] = {"type": "json_schema", "json_schema": schema}
        # Servers other than OpenAI's know the older name.
        limit = "max_tokens" if self.settings.address else "max_completion_tokens"
        return {
            "model": call.model,
            "messages": [
                {"role": "system", "content": self.instructions},
                {"role": "user", "content": content},
            ],
            limit: self.settings.max_output_tokens,
            **extra,
        }

    def read(self, document: Mapping[str, Any]) -> Reply:
        choice, usage = look(document, "choices.0"), table(document.get("usage"))
        stop = text(look(choice, "finish_reason")) or ""
        filtered = "its content filter stopped the answer" if stop == "content_filter" else ""
        cached = count(look(usage, "prompt_tokens_details.cached_tokens")) or 0
        written = count(look(usage, "prompt_tokens_details.cache_write_tokens")) or 0
        prompt = count(usage.get("prompt_tokens")) or 0
        return Reply(
            text=text(look(choice, "message.content")) or "",
            model=text(document.get("model")) or "",
            tokens=Tokens(
                input=max(prompt - cached - written, 0),
                output=count(usage.get("completion_tokens")) or 0,
                cached_input=cached,
                cache_write=written,
            ),
            stop=stop,
            refusal=text(look(choice, "message.refusal")) or filtered,
            reply_id=text(document.get("id")),
            reasoning_tokens=count(look(usage, "completion_tokens_details.reasoning_tokens")),
        )

    def submit(self, bodies: Mapping[str, Mapping[str, Any]]) -> BatchState:
        endpoint: Any = "/v1/chat/completions"
        lines = [
            {"custom_id": name, "method": "POST", "url": endpoint, "body": body}
            for name, body in bodies.items()
        ]
        mark = next(iter(bodies))
        data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        with self.translated():
            file = self._client.files.create(file=(f"{mark}.jsonl", data), purpose="batch")
            batch = self._client.batches.create(
                input_file_id=file.id,
                endpoint=endpoint,
                completion_window="24h",
                metadata={_MARK: mark},
            )
        return _state(batch)

    def find(self, custom_ids: Sequence[str], *, since: datetime) -> BatchState | None:
        with self.translated():
            for batch in self._client.batches.list(limit=100):
                if batch.created_at < since.timestamp():
                    break
                if (batch.metadata or {}).get(_MARK) in custom_ids:
                    return _state(batch)
        return None

    def state(self, batch_id: str) -> BatchState:
        with self.translated():
            return _state(self._client.batches.retrieve(batch_id))

    def results(self, batch_id: str) -> Iterator[BatchResult]:
        with self.translated():
            batch = self._client.batches.retrieve(batch_id)
            for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
                for line in self._client.files.content(file_id).text.splitlines():
                    yield _result(json.loads(line))

    def cancel(self, batch_id: str) -> None:
        with self.translated():
            self._client.batches.cancel(batch_id)


def _result(line: Mapping[str, Any]) -> BatchResult:
    status, body = count(look(line, "response.status_code")), table(look(line, "response.body"))
    if status == 200:
        return BatchResult(str(line.get("custom_id")), body)
    code = text(look(line, "error.code")) or ""
    words = text(look(line, "error.message")) or text(look(body, "error.message")) or ""
    return BatchResult(str(line.get("custom_id")), None, not_run(code, words, status=status))


def _state(batch: Batch) -> BatchState:
    errors = (batch.errors.data if batch.errors else None) or []
    problem = "; ".join(item.message or item.code or "" for item in errors[:3]) or batch.status
    return BatchState(
        batch_id=batch.id,
        ended=batch.status not in _UNDER_WAY,
        until=None if batch.expires_at is None else datetime.fromtimestamp(batch.expires_at, UTC),
        problem=problem if batch.status == _FAILED else "",
    )
