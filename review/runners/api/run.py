"""Runs one job with a model API: the two kinds of them, one call, its limits and its outcome."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import queue
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from review.errors import InputRejected
from review.runners.api.provider import (
    CACHE_FEATURE,
    SCHEMA,
    SCHEMA_FEATURE,
    ApiProvider,
    BatchResult,
    BatchState,
    BatchUndecided,
    ModelCall,
    ProviderFailed,
    account_of,
    not_run,
    read_reviews,
)
from review.runners.cli.output import (
    MAX_SAID,
    Places,
    clean,
    count,
    known,
    listed,
    look,
    table,
    text,
)
from review.runners.outcome import Account, RunnerFailure, RunnerOutcome, Tokens, cost_of
from review.runners.verify import holds_review
from review.settings.file import ApiKind, RunnerSettings
from review.vocabulary import FailureCode

_MESSAGES: Places = {
    "session_id": (text, "id"),
    "input_tokens": (count, "usage.input_tokens"),
    "output_tokens": (count, "usage.output_tokens"),
    "cached_input_tokens": (count, "usage.cache_read_input_tokens"),
    "cache_write_tokens": (count, "usage.cache_creation_input_tokens"),
    "reasoning_tokens": (count, "usage.output_tokens_details.thinking_tokens"),
}
_COMPLETIONS: Places = {
    "session_id": (text, "id"),
    "input_tokens": (count, "usage.prompt_tokens"),
    "output_tokens": (count, "usage.completion_tokens"),
    "cached_input_tokens": (count, "usage.prompt_tokens_details.cached_tokens"),
    "cache_write_tokens": (count, "usage.prompt_tokens_details.cache_write_tokens"),
    "reasoning_tokens": (count, "usage.completion_tokens_details.reasoning_tokens"),
}
_ENDPOINT = "/v1/chat/completions"
_MARK = "commonplace"
_FAILED = "failed"
_UNDER_WAY = ("validating", "in_progress", "finalizing", "cancelling")


class AnthropicProvider(ApiProvider):
    def __init__(self, settings: RunnerSettings, *, key: str) -> None:
        import anthropic

        messages = anthropic.Anthropic(
            api_key=key or "none", base_url=settings.address or None, max_retries=0
        ).messages
        errors, batches = anthropic.AnthropicError, messages.batches
        super().__init__(settings, key, messages, batches=batches, errors=errors)

    def body(self, call: ModelCall) -> dict[str, Any]:
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

    def read(self, document: Mapping[str, Any]) -> Account:
        parts = [look(block, "text") for block in listed(document.get("content"))]
        refusal, stop = "", document.get("stop_reason")
        if stop == "refusal":
            refusal = text(look(document, "stop_details.explanation")) or "it gives no reason"
        answer = "".join(part for part in parts if isinstance(part, str))
        return account_of(document, _MESSAGES, answer=answer, stop=stop, refusal=refusal)

    def _submit(self, bodies: Mapping[str, Mapping[str, Any]]) -> Any:
        return self._batches.create(
            requests=[{"custom_id": name, "params": body} for name, body in bodies.items()]
        )

    def _state(self, batch: Any) -> BatchState:
        return BatchState(
            batch.id, batch.created_at, batch.processing_status == "ended", batch.expires_at
        )

    def _holds(self, batch: Any, custom_ids: Sequence[str]) -> bool:
        counts: dict[str, int] = batch.request_counts.to_dict()
        if sum(counts.values()) != len(custom_ids):
            return False
        if batch.processing_status != "ended":
            raise BatchUndecided(f"batch {batch.id} may be it, and is under way")
        return any(line.custom_id in custom_ids for line in self._batches.results(batch.id))

    def _results(self, batch_id: str) -> Iterator[BatchResult]:
        for line in self._batches.results(batch_id):
            result = line.result.to_dict(mode="json")
            message, words = result.get("message"), text(look(result, "error.error.message"))
            if isinstance(message, dict):
                yield BatchResult(line.custom_id, message)
            else:
                yield BatchResult(
                    line.custom_id, None, not_run(str(result.get("type")), words or "")
                )


class OpenAIProvider(ApiProvider):
    def __init__(self, settings: RunnerSettings, *, key: str) -> None:
        import openai

        client = openai.OpenAI(
            api_key=key or "none", base_url=settings.address or None, max_retries=0
        )
        calls = client.chat.completions
        super().__init__(settings, key, calls, batches=client.batches, errors=openai.OpenAIError)
        self._files = client.files
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

    def read(self, document: Mapping[str, Any]) -> Account:
        choice = look(document, "choices.0")
        stop = look(choice, "finish_reason")
        filtered = "its content filter stopped the answer" if stop == "content_filter" else ""
        account = account_of(
            document,
            _COMPLETIONS,
            answer=text(look(choice, "message.content")) or "",
            stop=stop,
            refusal=text(look(choice, "message.refusal")) or filtered,
        )
        told = account.telemetry
        told["input_tokens"] = max(
            told["input_tokens"] - (told["cached_input_tokens"] + told["cache_write_tokens"]), 0
        )
        return account

    def _submit(self, bodies: Mapping[str, Mapping[str, Any]]) -> Any:
        lines = [
            {"custom_id": name, "method": "POST", "url": _ENDPOINT, "body": body}
            for name, body in bodies.items()
        ]
        mark = next(iter(bodies))
        data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        file = self._files.create(file=(f"{mark}.jsonl", data), purpose="batch")
        return self._batches.create(
            input_file_id=file.id,
            endpoint=_ENDPOINT,
            completion_window="24h",
            metadata={_MARK: mark},
        )

    def _state(self, batch: Any) -> BatchState:
        errors = (batch.errors.data if batch.errors else None) or []
        problem = "; ".join(item.message or item.code or "" for item in errors[:3]) or batch.status
        until = batch.expires_at
        return BatchState(
            batch.id,
            datetime.fromtimestamp(batch.created_at, UTC),
            ended=batch.status not in _UNDER_WAY,
            until=None if until is None else datetime.fromtimestamp(until, UTC),
            problem=problem if batch.status == _FAILED else "",
        )

    def _holds(self, batch: Any, custom_ids: Sequence[str]) -> bool:
        return (batch.metadata or {}).get(_MARK) in custom_ids

    def _results(self, batch_id: str) -> Iterator[BatchResult]:
        batch = self._batches.retrieve(batch_id)
        for file_id in filter(None, (batch.output_file_id, batch.error_file_id)):
            for line in self._files.content(file_id).text.splitlines():
                yield _result(json.loads(line))


def _result(line: Mapping[str, Any]) -> BatchResult:
    status, body = count(look(line, "response.status_code")), table(look(line, "response.body"))
    if status == 200:
        return BatchResult(str(line.get("custom_id")), body)
    code = text(look(line, "error.code")) or ""
    words = text(look(line, "error.message")) or text(look(body, "error.message")) or ""
    return BatchResult(str(line.get("custom_id")), None, not_run(code, words, status=status))


_PROVIDERS: Mapping[ApiKind, tuple[str, type[AnthropicProvider | OpenAIProvider]]] = {
    ApiKind.ANTHROPIC: ("ANTHROPIC_API_KEY", AnthropicProvider),
    ApiKind.OPENAI: ("OPENAI_API_KEY", OpenAIProvider),
}
_LOOKS_EVERY = 0.1
_LONGEST_HOLD = 60.0
_SPREAD = 2.0


def open_provider(
    settings: RunnerSettings, *, environ: Mapping[str, str] = os.environ
) -> ApiProvider:
    """The provider of a runner that has a kind; nothing is sent."""
    kind = settings.kind or ApiKind.OPENAI
    default, provider = _PROVIDERS[kind]
    if importlib.util.find_spec(kind.value) is None:
        raise InputRejected(
            f"runner {settings.name!r} needs the package {kind.value!r}, which is not installed",
            "runner-not-installed",
            hint="pip install 'commonplace-review[api]'",
        )
    variable = default if settings.key is None else settings.key
    key = environ.get(variable, "").strip() if variable else ""
    if variable and not key:
        raise InputRejected(
            f"runner {settings.name!r} reads its key from {variable}, which is not set",
            "key-not-set",
            hint=f"set it, or name another as `key` of [runners.{settings.name}]; empty sends none",
        )
    return provider(settings, key=key)


def run_api(
    provider: ApiProvider,
    call: ModelCall,
    *,
    ordinals: Sequence[int],
    timeout: float,
    stop: threading.Event,
) -> RunnerOutcome:
    """Have a model review a job within `timeout` seconds; whatever happens, there is an outcome.

    The call runs in a thread of its own, since nothing else can end the wait for an answer.
    """
    began = time.monotonic()
    until = began + timeout
    answers: queue.SimpleQueue[Mapping[str, Any] | RunnerFailure] = queue.SimpleQueue()
    threading.Thread(
        target=lambda: answers.put(_ask(provider, call, until=until, stop=stop)), daemon=True
    ).start()
    answer: Mapping[str, Any] | RunnerFailure | None = None
    while answer is None:
        try:
            answer = answers.get(timeout=_LOOKS_EVERY)
        except queue.Empty:
            if stop.is_set():
                answer = RunnerFailure(FailureCode.INTERRUPTED, "interrupted by its parent")
            elif time.monotonic() > until:
                reason = f"not done within {timeout:g} seconds"
                answer = RunnerFailure(FailureCode.RUNNER_TIMEOUT, reason, is_attempt=False)
    seconds = round(time.monotonic() - began, 3)
    if isinstance(answer, RunnerFailure):
        return RunnerOutcome(failure=answer, telemetry={"duration_seconds": seconds})
    return outcome_of(provider, answer, ordinals, duration_seconds=seconds)


def outcome_of(
    provider: ApiProvider,
    document: Mapping[str, Any],
    ordinals: Sequence[int],
    *,
    in_batch: bool = False,
    duration_seconds: float | None = None,
) -> RunnerOutcome:
    """Read a reply: its reviews, what it cost, and why it is no success."""
    account = provider.read(document)
    answer = account.answer or b""
    typed = read_reviews(answer.decode(), ordinals=ordinals)
    # A server without structured output, or one that ignores it, answers in blocks.
    text = answer if not typed and holds_review(answer) else None
    failure = account.failure
    if failure is None and not typed and text is None:
        said = clean(answer.decode(), limit=MAX_SAID)
        what = f"neither the reviews that were asked for nor a block of one: {said}"
        failure = RunnerFailure(
            FailureCode.NO_OUTPUT, f"the model's answer is {what if said else 'empty'}"
        )
    tokens = Tokens(**{name: account.telemetry[f"{name}_tokens"] for name in Tokens.__match_args__})
    telemetry = known(
        **account.telemetry,
        models=list(account.models) or None,
        prompt_tokens=tokens.prompt,
        cost_usd=cost_of(tokens, provider.settings.prices, in_batch=in_batch),
        duration_seconds=duration_seconds,
    )
    return RunnerOutcome(text, failure, telemetry, typed=typed)


def _ask(
    provider: ApiProvider, call: ModelCall, *, until: float, stop: threading.Event
) -> Mapping[str, Any] | RunnerFailure:
    """Ask until there is an answer or a lasting refusal; what is tried again here was not paid."""
    tries = 0
    while not stop.is_set():
        without = set(provider.without)
        try:
            return provider.send(provider.body(call), timeout=max(until - time.monotonic(), 0.1))
        except ProviderFailed as refused:
            if provider.do_without(refused, was_without=without):
                continue
            tries += 1
            pause = _hold(refused.failure, tries)
            if pause is None or time.monotonic() + pause >= until:
                return refused.failure
            stop.wait(pause)
    return RunnerFailure(FailureCode.INTERRUPTED, "interrupted by its parent", is_attempt=False)


def _hold(failure: RunnerFailure, tries: int) -> float | None:
    """Seconds until a limited request is sent again, spread; None: it is not, here."""
    if failure.code is not FailureCode.RATE_LIMITED:
        return None
    told = failure.retry_after if failure.retry_after is not None else float(2**tries)
    return None if told > _LONGEST_HOLD else told + random.uniform(0, _SPREAD)  # noqa: S311
