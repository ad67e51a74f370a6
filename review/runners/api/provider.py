"""Calls, replies, batches and failures of both kinds of model API, and structured output."""

from __future__ import annotations

import json
import re
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import msgspec

from review.errors import ReviewError
from review.protocol import typed_review as typed
from review.protocol.typed_review import ReviewFinding, TypedReview
from review.runners.cli import output
from review.runners.outcome import Account, RunnerFailure
from review.settings.file import RunnerSettings
from review.vocabulary import Decision, FailureCode, Severity

INSTRUCTIONS = (
    "You answer through an interface that takes structured data. The prompt describes a file with"
    " blocks and sentinel lines: write neither. Give one entry in `reviews` for each requested pair, in"
    " their order, with the same contents as its block: `pair` is the pair's number, `decision` the word"
    " of its result line, `summary`, `findings` and `suggested_revision` its sections. A finding's"
    " `quote` is copied from the note exactly, a line for each place, and is empty where the note as a"
    " whole is meant. You cannot open files. Where a gate asks what a link leads to and the table of"
    " links does not show it, the decision is `error`, and the summary names the file that would have"
    " to be read."
)
TEXT_INSTRUCTIONS = (
    "You cannot open or write files: give the blocks that the prompt describes, and nothing else, as"
    " your answer. Where a gate asks what a link leads to and the table of links does not show it, the"
    " result is ERROR, and the summary names the file that would have to be read."
)
_TEXT = {"type": "string"}
_OPENING = re.compile(r'\s*(?:```(?:json)?\s*)?\{\s*"reviews"\s*:\s*\[\s*')
_DECODER = json.JSONDecoder()


def _object(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


SCHEMA: dict[str, object] = _object(
    reviews={
        "type": "array",
        "items": _object(
            pair={"type": "integer"},
            summary=_TEXT,
            findings={
                "type": "array",
                "items": _object(
                    severity={"type": "string", "enum": Severity.values}, text=_TEXT, quote=_TEXT
                ),
            },
            suggested_revision=_TEXT,
            decision={
                "type": "string",
                "enum": [word.value for word in Decision if word is not Decision.UNKNOWN],
            },
        ),
    }
)


class _Review(msgspec.Struct):
    pair: int
    summary: str
    findings: list[ReviewFinding]
    suggested_revision: str
    decision: Decision


def read_reviews(answer: str, *, ordinals: Sequence[int]) -> dict[int, TypedReview]:
    """Return the reviews by ordinal; empty where the answer is no such JSON.

    Of an answer that was cut off the whole entries count; bad or repeated ones are left out.
    """
    found: dict[int, TypedReview] = {}
    for entry in _entries(answer):
        if entry.pair in ordinals and entry.decision is not Decision.UNKNOWN:
            findings = (
                replace(
                    it, text=typed.one_line(it.text), quote=typed.filled_lines(it.quote), line=0
                )
                for it in entry.findings
            )
            suggestion = entry.suggested_revision.strip() or "None."
            told = (tuple(findings), typed.one_line(entry.summary), suggestion)
            found.setdefault(entry.pair, TypedReview(entry.decision, *told))
    return found


def _entries(answer: str) -> Iterator[_Review]:
    opening = _OPENING.match(answer)
    at = opening.end() if opening else len(answer)
    while at < len(answer):
        try:
            entry, end = _DECODER.raw_decode(answer, at)
        except (ValueError, RecursionError):
            return
        with suppress(msgspec.ValidationError):
            yield msgspec.convert(entry, _Review)
        at = len(answer) - len(answer[end:].lstrip(", \t\r\n"))


SCHEMA_FEATURE, CACHE_FEATURE = "schema", "cache"
# How a server that does not know an optional part of a request names it.
_FEATURE_WORDS = {
    SCHEMA_FEATURE: r"response_format|json_schema|output_config|structured|guided",
    CACHE_FEATURE: r"prompt_cache|cache_control|breakpoint",
}
_NOTES_HEADING = "\n# Notes\n"
_COUNTED = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens")


class ProviderFailed(ReviewError):
    """The provider refused a call, or could not be reached."""

    def __init__(self, failure: RunnerFailure, *, status: int | None = None) -> None:
        super().__init__(failure.reason)
        self.failure = replace(failure, is_attempt=False)
        self.status = status


class BatchUndecided(ReviewError):
    """A batch that is under way may be the one that was sent; its results will show it."""


@dataclass(frozen=True)
class ModelCall:
    prompt: str
    model: str
    effort: str | None = None

    @property
    def shared_and_own(self) -> tuple[str, str]:
        """The part that jobs with the same gates share, and the rest."""
        shared, heading, own = self.prompt.partition(_NOTES_HEADING)
        return shared, heading + own


@dataclass(frozen=True)
class BatchState:
    """A batch at the provider; `problem` says why it failed as a whole."""

    batch_id: str
    created_at: datetime
    ended: bool
    until: datetime | None
    problem: str = ""


@dataclass(frozen=True)
class BatchResult:
    """The document of one reply of a batch, or why there is none."""

    custom_id: str
    document: Mapping[str, Any] | None
    failure: RunnerFailure | None = None


class ApiProvider(ABC):
    """One API at one address; `without` has the optional features that its server lacks.

    `calls` are the SDK's for one reply, without its own retries; `batches` those for batches.
    """

    def __init__(
        self,
        settings: RunnerSettings,
        key: str,
        calls: Any,
        *,
        batches: Any,
        errors: type[Exception],
    ) -> None:
        weakref.finalize(self, batches._client.close)
        self.settings = settings
        self.without: set[str] = set() if settings.structured else {SCHEMA_FEATURE}
        self._create, self._batches = calls.with_raw_response.create, batches
        self._key, self._errors = key, errors

    @abstractmethod
    def body(self, call: ModelCall) -> dict[str, Any]:
        """The parameters of a request."""

    @abstractmethod
    def read(self, document: Mapping[str, Any]) -> Account:
        """The account that a reply's document gives."""

    @property
    def instructions(self) -> str:
        return TEXT_INSTRUCTIONS if SCHEMA_FEATURE in self.without else INSTRUCTIONS

    def do_without(self, refused: ProviderFailed, *, was_without: set[str]) -> bool:
        """Leave out what the refusal names from now on; False where it names nothing optional."""
        if refused.status not in (400, 422):
            return False
        named = {
            name
            for name, words in _FEATURE_WORDS.items()
            if re.search(words, refused.message, re.I)
        }
        self.without |= named
        return bool(named - was_without)

    def send(self, body: Mapping[str, Any], *, timeout: float) -> Mapping[str, Any]:
        """Ask once, for `timeout` seconds, or raise ProviderFailed."""
        with self._translated():
            document = json.loads(self._create(**body, timeout=timeout).http_response.content)
            if not isinstance(document, dict):
                raise ValueError(f"expected an object, got {str(document)[:99]}")  # noqa: TRY004
            return document

    def submit(self, bodies: Mapping[str, Mapping[str, Any]]) -> BatchState:
        with self._translated():
            return self._state(self._submit(bodies))

    def find(self, custom_ids: Sequence[str], *, since: datetime) -> BatchState | None:
        """The batch that holds these requests; BatchUndecided: one without results may be it."""
        with self._translated():
            for batch in self._batches.list(limit=100):
                state = self._state(batch)
                if state.created_at < since:
                    break
                if self._holds(batch, custom_ids):
                    return state
        return None

    def state(self, batch_id: str) -> BatchState:
        with self._translated():
            return self._state(self._batches.retrieve(batch_id))

    def results(self, batch_id: str) -> Iterator[BatchResult]:
        """Yield the results of an ended batch's requests, in any order."""
        with self._translated():
            yield from self._results(batch_id)

    def cancel(self, batch_id: str) -> None:
        with self._translated():
            self._batches.cancel(batch_id)

    @abstractmethod
    def _submit(self, bodies: Mapping[str, Mapping[str, Any]]) -> Any: ...

    @abstractmethod
    def _state(self, batch: Any) -> BatchState: ...

    @abstractmethod
    def _holds(self, batch: Any, custom_ids: Sequence[str]) -> bool: ...

    @abstractmethod
    def _results(self, batch_id: str) -> Iterable[BatchResult]: ...

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn the SDK's errors into `ProviderFailed`, without a key that is repeated."""
        try:
            yield
        except self._errors as error:
            raise _failed(error, self._key) from error
        except (ValueError, RecursionError) as error:
            reason = f"the provider's answer is no JSON: {output.clean(str(error), limit=output.MAX_REASON)}"
            raise ProviderFailed(RunnerFailure(FailureCode.RUNNER_ERROR, reason)) from error


def account_of(
    document: Mapping[str, Any], places: output.Places, *, answer: str, stop: object, refusal: str
) -> Account:
    """The account of a reply; `stop` is the provider's word for its end."""
    told = dict.fromkeys(_COUNTED, 0) | output.gather([document], places)
    model, limit = output.text(document.get("model")), output.limit_named_by(stop)
    failure = output.stopped_at_limit(limit) if limit else None
    if refusal:
        said = output.clean(refusal, limit=output.MAX_SAID)
        failure = RunnerFailure(FailureCode.RUNNER_ERROR, f"the model refused to answer: {said}")
    return Account(output.encoded(answer), failure, told, (model,) if model else ())


_NOT_RUN = {
    "cancel": RunnerFailure(FailureCode.OPERATOR, "the batch was cancelled before it ran"),
    "expired": RunnerFailure(FailureCode.RUNNER_TIMEOUT, "the batch expired before it ran"),
}


def not_run(kind: str, message: str, *, status: int | None = None) -> RunnerFailure:
    """Return why a request of a batch has no reply; `kind` is the provider's word for it."""
    failure = output.failure_of(message, status=status, fallback=kind or "no reason given")
    known = (known for word, known in _NOT_RUN.items() if word in kind)
    return replace(next(known, failure), is_attempt=False)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until a request may succeed; None without a header that says so."""
    told = (
        float(headers[name]) * factor
        for name, factor in (("retry-after-ms", 0.001), ("retry-after", 1.0))
        if re.fullmatch(r"\d+(?:\.\d+)?", headers.get(name, ""))
    )
    return next(told, None)


def _failed(error: Exception, key: str) -> ProviderFailed:
    body, cause = getattr(error, "body", None), error.__cause__
    words = (
        output.text(output.look(body, "message"))
        or output.text(output.look(body, "error.message"))
        or str(error)
    )
    words = words.replace(key, "…") if key else words
    response: Any = getattr(error, "response", None)
    if response is None:
        if type(cause).__name__ in ("ReadTimeout", "WriteTimeout"):
            reason = "the provider did not answer in time"
            return ProviderFailed(RunnerFailure(FailureCode.RUNNER_TIMEOUT, reason))
        why = output.clean(f"{words} {cause or ''}", limit=output.MAX_REASON)
        reason = f"the connection to the provider failed: {why}"
        return ProviderFailed(RunnerFailure(FailureCode.RUNNER_ERROR, reason, retryable=True))
    status = response.status_code
    failure = output.failure_of(words, status=status, fallback="no reason given")
    pause = retry_after(response.headers) if failure.retryable else None
    wait = "" if pause is None else f", retry after {pause:.0f} seconds"
    retryable, reason = failure.retryable or status == 409, f"HTTP {status}{wait}: {failure.reason}"
    failure = replace(failure, reason=reason, retryable=retryable, retry_after=pause)
    return ProviderFailed(failure, status=status)
