"""The Messages API, its prompt cache and its batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from review.runners.api.prices import Tokens
from review.runners.api.provider import (
    CACHE_FEATURE,
    SCHEMA_FEATURE,
    ApiProvider,
    BatchResult,
    BatchState,
    BatchUndecided,
    ModelCall,
    Reply,
    not_run,
)
from review.runners.api.structured import SCHEMA
from review.runners.cli.json_output import count, look, table, text, tokens_of
from review.settings.file import RunnerSettings

if TYPE_CHECKING:
    from anthropic.types.messages import MessageBatch

_TOKENS = {
    "input": ("input_tokens",),
    "output": ("output_tokens",),
    "cached_input": ("cache_read_input_tokens",),
    "cache_write": ("cache_creation_input_tokens",),
}


class AnthropicProvider(ApiProvider):
    """Calls of Anthropic's SDK; its own retries are off."""

    def __init__(self, settings: RunnerSettings, *, key: str) -> None:
        import anthropic

        client = anthropic.Anthropic(
            api_key=key or "none", base_url=settings.address or None, max_retries=0
        )
        create, errors = client.messages.with_raw_response.create, (anthropic.AnthropicError,)
        super().__init__(settings, key, client=client, errors=errors, create=create)
        self._batches = client.messages.batches

    def body(self, call: ModelCall) -> dict[str, Any]:
        """The parameters of a request."""
        content: list[dict[str, Any]] = [
            {"type": "text", "text": part} for part in call.shared_and_own if part
        ]
        if CACHE_FEATURE not in self.without:
            content[0]["cache_control"] = {"type": "ephemeral"}
        config: dict[str, Any] = {"effort": call.effort} if call.effort else {}
        if SCHEMA_FEATURE not in self.without:
            config["format"] = {"type": "json_schema", "schema": SCHEMA}
        return {
            "model": call.model,
            "max_tokens": self.settings.max_output_tokens,
            "system": self.instructions,
            "messages": [{"role": "user", "content": content}],
            **({"output_config": config} if config else {}),
        }

    def read(self, document: Mapping[str, Any]) -> Reply:
        blocks = document.get("content")
        parts = [look(block, "text") for block in blocks] if isinstance(blocks, list) else []
        usage, stop = table(document.get("usage")), text(document.get("stop_reason")) or ""
        details = text(look(document, "stop_details.explanation")) or "it gives no reason"
        return Reply(
            text="".join(part for part in parts if isinstance(part, str)),
            model=text(document.get("model")) or "",
            tokens=Tokens(**tokens_of(usage, _TOKENS)),
            stop=stop,
            refusal=details if stop == "refusal" else "",
            reply_id=text(document.get("id")),
            reasoning_tokens=count(look(usage, "output_tokens_details.thinking_tokens")),
        )

    def submit(self, bodies: Mapping[str, Mapping[str, Any]]) -> BatchState:
        """Send requests by custom id, as one batch."""
        requests: list[Any] = [{"custom_id": name, "params": body} for name, body in bodies.items()]
        with self.translated():
            return _state(self._batches.create(requests=requests))

    def find(self, custom_ids: Sequence[str], *, since: datetime) -> BatchState | None:
        """The batch that holds these requests, where its submission was not recorded.

        :raises BatchUndecided: one may be it: only the results of a batch tell custom ids.
        """
        with self.translated():
            for batch in self._batches.list(limit=100):
                if batch.created_at < since:
                    break
                counts: dict[str, Any] = batch.request_counts.to_dict()
                if sum(counts.values()) != len(custom_ids):
                    continue
                if not _state(batch).ended:
                    raise BatchUndecided(f"batch {batch.id} may be it, and is under way")
                if any(line.custom_id in custom_ids for line in self._batches.results(batch.id)):
                    return _state(batch)
        return None

    def state(self, batch_id: str) -> BatchState:
        with self.translated():
            return _state(self._batches.retrieve(batch_id))

    def results(self, batch_id: str) -> Iterator[BatchResult]:
        """Yield the results of an ended batch's requests, in any order."""
        with self.translated():
            for line in self._batches.results(batch_id):
                result = line.result.to_dict(mode="json")
                message = result.get("message")
                if isinstance(message, dict):
                    yield BatchResult(line.custom_id, message)
                    continue
                words = text(look(result, "error.error.message")) or ""
                yield BatchResult(line.custom_id, None, not_run(str(result.get("type")), words))

    def cancel(self, batch_id: str) -> None:
        with self.translated():
            self._batches.cancel(batch_id)


def _state(batch: MessageBatch) -> BatchState:
    return BatchState(batch.id, batch.processing_status == "ended", batch.expires_at)
