"""Runs one job with a model API: one call, its limits, and the outcome of the reply."""

from __future__ import annotations

import importlib.util
import os
import queue
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from review.errors import InputRejected
from review.protocol.typed_review import TypedReview
from review.runners.api.anthropic_api import AnthropicProvider
from review.runners.api.openai_api import OpenAIProvider
from review.runners.api.prices import cost_of
from review.runners.api.provider import ModelCall, ProviderFailed, Reply
from review.runners.api.structured import read_reviews
from review.runners.cli.error_texts import MAX_SAID, clean, limit_named_by, stopped_at_limit
from review.runners.cli.json_output import known
from review.runners.outcome import RunnerFailure, RunnerOutcome
from review.runners.registry import RunnerNotInstalled
from review.runners.verify import holds_review
from review.settings.file import ApiKind, RunnerSettings
from review.vocabulary import FailureCode

Provider = AnthropicProvider | OpenAIProvider
_PROVIDERS: Mapping[ApiKind, tuple[str, type[Provider]]] = {
    ApiKind.ANTHROPIC: ("ANTHROPIC_API_KEY", AnthropicProvider),
    ApiKind.OPENAI: ("OPENAI_API_KEY", OpenAIProvider),
}
_LOOKS_EVERY = 0.1
_LONGEST_HOLD = 60.0
_SPREAD = 2.0

# Writes typed reviews, by ordinal, as the blocks of their job.
WriteBlocks = Callable[[Mapping[int, TypedReview]], bytes]


class KeyNotSet(InputRejected):
    """The environment variable that holds the provider's key is not set."""


def open_provider(settings: RunnerSettings, *, environ: Mapping[str, str] = os.environ) -> Provider:
    """The provider of a runner that has a kind; nothing is sent.

    :raises RunnerNotInstalled: the provider's SDK is not installed.
    :raises KeyNotSet: the key's variable is not set.
    """
    kind = settings.kind or ApiKind.OPENAI
    default, provider = _PROVIDERS[kind]
    if importlib.util.find_spec(kind.value) is None:
        raise RunnerNotInstalled(
            f"runner {settings.name!r} needs the package {kind.value!r}, which is not installed",
            hint="pip install 'commonplace-review[api]'",
        )
    variable = default if settings.key is None else settings.key
    key = environ.get(variable, "").strip() if variable else ""
    if variable and not key:
        raise KeyNotSet(
            f"runner {settings.name!r} reads its key from {variable}, which is not set",
            hint=f"set it, or name another as `key` of [runners.{settings.name}]; empty sends none",
        )
    return provider(settings, key=key)


@dataclass(frozen=True)
class ApiJob:
    """A call for one job, and how its reply is read."""

    call: ModelCall
    ordinals: Sequence[int]
    write: WriteBlocks
    timeout: float


def run_api(provider: Provider, job: ApiJob, *, stop: threading.Event) -> RunnerOutcome:
    """Have a model review a job; whatever happens, there is an outcome.

    The call runs in a thread of its own, since nothing else can end the wait for an answer.
    """
    began = time.monotonic()
    answers: queue.SimpleQueue[Mapping[str, Any] | RunnerFailure] = queue.SimpleQueue()
    asking = threading.Thread(
        target=lambda: answers.put(_ask(provider, job, until=began + job.timeout, stop=stop)),
        daemon=True,
    )
    asking.start()
    answer = _wait(answers, job, until=began + job.timeout, stop=stop)
    seconds = round(time.monotonic() - began, 3)
    if isinstance(answer, RunnerFailure):
        return RunnerOutcome(failure=answer, telemetry={"duration_seconds": seconds})
    return outcome_of(provider, answer, job, duration_seconds=seconds)


def outcome_of(
    provider: Provider,
    document: Mapping[str, Any],
    job: ApiJob,
    *,
    in_batch: bool = False,
    duration_seconds: float | None = None,
) -> RunnerOutcome:
    """Read a reply: its reviews, what it cost, and why it is no success."""
    reply = provider.read(document)
    telemetry = _telemetry(reply, provider.settings, in_batch, duration_seconds)
    typed = read_reviews(reply.text, ordinals=job.ordinals)
    # A server without structured output, or one that ignores it, answers in blocks.
    data = job.write(typed) if typed else reply.text.encode("utf-8", "replace")
    text = data if typed or holds_review(data) else None
    return RunnerOutcome(text, _failure(reply, is_review=text is not None), telemetry, typed=typed)


def _ask(
    provider: Provider, job: ApiJob, *, until: float, stop: threading.Event
) -> Mapping[str, Any] | RunnerFailure:
    """Ask until there is an answer or a lasting refusal; what is tried again here was not paid."""
    tries = 0
    while not stop.is_set():
        without = set(provider.without)
        try:
            return provider.send(
                provider.body(job.call), timeout=max(until - time.monotonic(), 0.1)
            )
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


def _wait(
    answers: queue.SimpleQueue[Mapping[str, Any] | RunnerFailure],
    job: ApiJob,
    *,
    until: float,
    stop: threading.Event,
) -> Mapping[str, Any] | RunnerFailure:
    while True:
        try:
            return answers.get(timeout=_LOOKS_EVERY)
        except queue.Empty:
            if stop.is_set():
                return RunnerFailure(FailureCode.INTERRUPTED, "interrupted by its parent")
            if time.monotonic() > until:
                reason = f"not done within {job.timeout:g} seconds"
                return RunnerFailure(FailureCode.RUNNER_TIMEOUT, reason, is_attempt=False)


def _telemetry(
    reply: Reply, settings: RunnerSettings, in_batch: bool, duration_seconds: float | None
) -> dict[str, Any]:
    tokens = reply.tokens
    return known(
        models=[reply.model] if reply.model else None,
        session_id=reply.reply_id,
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cached_input_tokens=tokens.cached_input,
        cache_write_tokens=tokens.cache_write,
        prompt_tokens=tokens.prompt,
        reasoning_tokens=reply.reasoning_tokens,
        cost_usd=cost_of(tokens, settings.prices, in_batch=in_batch),
        duration_seconds=duration_seconds,
    )


def _failure(reply: Reply, *, is_review: bool) -> RunnerFailure | None:
    if reply.refusal:
        reason = f"the model refused to answer: {clean(reply.refusal, limit=MAX_SAID)}"
        return RunnerFailure(FailureCode.RUNNER_ERROR, reason)
    if limit := limit_named_by(reply.stop):
        return stopped_at_limit(limit)
    if is_review:
        return None
    said = clean(reply.text, limit=MAX_SAID)
    what = f"neither the reviews that were asked for nor a block of one: {said}"
    reason = f"the model's answer is {what if said else 'empty'}"
    return RunnerFailure(FailureCode.NO_OUTPUT, reason)
