"""The Messages API, its prompt cache and its batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from review.runners.api import provider
from review.runners.cli.output import Places, count, listed, look, text
from review.runners.outcome import Account
from review.settings.file import RunnerSettings

_PLACES: Places = {
    "session_id": (text, "id"),
    "input_tokens": (count, "usage.input_tokens"),
    "output_tokens": (count, "usage.output_tokens"),
    "cached_input_tokens": (count, "usage.cache_read_input_tokens"),
    "cache_write_tokens": (count, "usage.cache_creation_input_tokens"),
    "reasoning_tokens": (count, "usage.output_tokens_details.thinking_tokens"),
}


class AnthropicProvider(provider.ApiProvider):
    def __init__(self, settings: RunnerSettings, *, key: str) -> None:
        import anthropic

        messages = anthropic.Anthropic(
            api_key=key or "none", base_url=settings.address or None, max_retries=0
        ).messages
        create, errors = messages.with_raw_response.create, anthropic.AnthropicError
        super().__init__(settings, key, create=create, batches=messages.batches, errors=errors)

    def body(self, call: provider.ModelCall) -> dict[str, Any]:
        content: list[dict[str, Any]] = [
            {"type": "text", "text": part} for part in call.shared_and_own if part
        ]
        if provider.CACHE_FEATURE not in self.without:
            content[0]["cache_control"] = {"type": "ephemeral"}
        config: dict[str, Any] = {"effort": call.effort} if call.effort else {}
        if provider.SCHEMA_FEATURE not in self.without:
            config["format"] = {"type": "json_schema", "schema": provider.SCHEMA}
        return {
            "model": call.model,
            "max_tokens": self.settings.max_output_tokens,
            "system": self.instructions,
            "messages": [{"role": "user", "content": content}],
            **({"output_config": config} if config else {}),
        }

    def read(self, document: Mapping[str, Any]) -> Account:
        parts = [look(block, "text") for block in listed(document.get("content"))]
        stop = document.get("stop_reason")
        details = text(look(document, "stop_details.explanation")) or "it gives no reason"
        return provider.account_of(
            document,
            _PLACES,
            answer="".join(part for part in parts if isinstance(part, str)),
            stop=stop,
            refusal=details if stop == "refusal" else "",
        )

    def _submit(self, bodies: Mapping[str, Mapping[str, Any]]) -> Any:
        requests = [{"custom_id": name, "params": body} for name, body in bodies.items()]
        return self._batches.create(requests=requests)

    def _state(self, batch: Any) -> provider.BatchState:
        ended = batch.processing_status == "ended"
        return provider.BatchState(batch.id, batch.created_at, ended, batch.expires_at)

    def _holds(self, batch: Any, custom_ids: Sequence[str]) -> bool:
        counts: dict[str, int] = batch.request_counts.to_dict()
        if sum(counts.values()) != len(custom_ids):
            return False
        if batch.processing_status != "ended":
            raise provider.BatchUndecided(f"batch {batch.id} may be it, and is under way")
        return any(line.custom_id in custom_ids for line in self._batches.results(batch.id))

    def _results(self, batch_id: str) -> Iterator[provider.BatchResult]:
        for line in self._batches.results(batch_id):
            result = line.result.to_dict(mode="json")
            message, words = result.get("message"), text(look(result, "error.error.message"))
            if isinstance(message, dict):
                yield provider.BatchResult(line.custom_id, message)
            else:
                failure = provider.not_run(str(result.get("type")), words or "")
                yield provider.BatchResult(line.custom_id, None, failure)
