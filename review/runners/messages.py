"""Turns what a CLI says about a failure into one clean line, and into what to do about it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from review.protocol.kept_telemetry import masked
from review.runners.outcome import RunnerFailure
from review.runners.output_limit import stopped_at_limit, tells_of_the_limit
from review.vocabulary import FailureCode

MAX_REASON = 1000
MAX_SAID = 300
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_STACK_LINE = re.compile(r"^[^\S\n]++at .*$|^[^\S\n]++File \".*\", line \d+.*$", re.MULTILINE)
_STATUS = re.compile(
    r"(?:status(?: code)?|api error|error code|\"code\"|\bHTTP(?:/\d(?:\.\d)?)?)\W{0,4}([45]\d\d)\b"
    r"|\(([45]\d\d)\)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Kind:
    code: FailureCode
    retryable: bool = False
    exhausted: bool = False
    unusable: bool = False


_EXHAUSTED = _Kind(FailureCode.ACCOUNT_EXHAUSTED, retryable=True, exhausted=True)
_NO_CREDIT = _Kind(FailureCode.ACCOUNT_EXHAUSTED, exhausted=True)
_LIMITED = _Kind(FailureCode.RATE_LIMITED, retryable=True)
_PASSING = _Kind(FailureCode.RUNNER_ERROR, retryable=True)
_UNUSABLE = _Kind(FailureCode.RUNNER_ERROR, unusable=True)
_LASTING = _Kind(FailureCode.RUNNER_ERROR)

# Sentences of the CLIs and their services; the first that is found decides. An account that has
# nothing left comes before a rate limit, since services answer 429 for both.
_SENTENCES: tuple[tuple[str, _Kind], ...] = (
    (r"(?:retry|try again) (?:in|after) [\d.]+ ?(?:ms|s\b|sec)", _LIMITED),
    (r"credit balance is too low|insufficient[_ ](?:quota|credits?|funds|balance)", _NO_CREDIT),
    (r"check your plan and billing|billing hard limit|payment required|out of credits", _NO_CREDIT),
    (r"(?:hit|reached|exceeded) your (?:\w+ ){0,3}limit|usage limit (?:reached|exceeded)", _EXHAUSTED),
    (r"limit reached\s*\|\s*\d{9,}|(?:weekly|daily|monthly|session|\d+-hour) limit (?:reached|exceeded)", _EXHAUSTED),
    (r"exhausted your (?:daily )?(?:quota|capacity)|quota exceeded.{0,200}per day|daily quota", _EXHAUSTED),
    (r"not logged in|please run /login|invalid (?:api|x-api)[ -]?key|incorrect api key", _UNUSABLE),
    (r"no key found|api key (?:is )?(?:missing|not found|not set|required)|missing api key", _UNUSABLE),
    (r"(?:oauth )?token (?:has )?(?:expired|revoked|been revoked)|failed to authenticate", _UNUSABLE),
    (r"auth(?:entication|orization)? (?:method|failed|error|required)|unauthori[sz]ed", _UNUSABLE),
    (r"missing environment variable|set the \S+ environment variable", _UNUSABLE),
    (r"unknown (?:option|argument)|no such option|unexpected argument|unrecognized argument", _UNUSABLE),
    (r"unknown model|model .{0,80}(?:not found|does not exist|not supported|may not exist)", _UNUSABLE),
    (r"issue with the selected model|not inside a trusted directory|untrusted folder", _UNUSABLE),
    (r"rate[ -]?limit|too many requests|resource[_ ](?:has been )?exhausted|quota", _LIMITED),
    (r"overloaded|high demand|at capacity|try again later|temporarily unavailable", _LIMITED),
    (r"stream (?:disconnected|closed|ended|error)|connection (?:error|reset|closed|refused)", _PASSING),
    (r"econn(?:reset|refused|aborted)|etimedout|enotfound|eai_again|socket hang up", _PASSING),
    (r"fetch failed|network error|request timed out|premature close|incomplete chunked", _PASSING),
    (r"internal server error|bad gateway|service unavailable|gateway time-?out", _PASSING),
    (r"empty response.{0,60}transient|transient", _PASSING),
)  # fmt: skip
_KNOWN = tuple((re.compile(words, re.IGNORECASE), kind) for words, kind in _SENTENCES)
_NO_SERVICE = {401: _UNUSABLE, 402: _NO_CREDIT, 403: _UNUSABLE, 404: _UNUSABLE}
# How a CLI begins when it prints an error in the place of an answer, with exit code 0.
_ERROR_OPENING = re.compile(
    r"\s*(?:API Error\b|(?:Claude AI )?usage limit reached|You(?:'|\u2019)ve (?:hit|reached) your"
    r"|Rate limit|Not logged in\b|Invalid API key\b|Credit balance is too low|Failed to authenticate"
    r"|Error(?: code)?:|\[?API Error)",
    re.IGNORECASE,
)


def failure_of(message: str, *, status: int | None = None, fallback: str = "") -> RunnerFailure:
    """The failure that a CLI's message, and the service's HTTP status where it is known, tell of.

    :param fallback: what to say when the message is blank.
    """
    raw = unwrap(message)
    if tells_of_the_limit(raw):
        return stopped_at_limit(clean(raw, limit=MAX_REASON // 2))
    kind = _kind(f"{message} {raw}", status)
    return RunnerFailure(
        code=kind.code,
        reason=clean(raw, limit=MAX_REASON) or fallback,
        retryable=kind.retryable,
        exhausted=kind.exhausted,
        unusable=kind.unusable,
    )


def opens_like_an_error(answer: str) -> bool:
    """Whether an answer is a CLI's error in the answer's place, by how it begins."""
    return _ERROR_OPENING.match(answer) is not None


def unwrap(message: str) -> str:
    """The sentence inside a service's JSON error, where the message is one."""
    for _ in range(3):
        try:
            document = json.loads(message)
        except (ValueError, RecursionError):
            return message
        if not isinstance(document, dict):
            return message
        error = document.get("error", document)
        inner = error.get("message") if isinstance(error, dict) else error
        if not isinstance(inner, str):
            return message
        message = inner
    return message


def clean(text: str, *, limit: int) -> str:
    """One line without control characters, escapes and keys; the middle is cut when it is long."""
    if len(text) > limit * 50:
        text = f"{text[: limit * 25]} {text[-limit * 25 :]}"
    text = _STACK_LINE.sub(" ", _ESCAPES.sub("", text))
    # Not printable are controls, and what turns text around or hides it: bidi, zero widths.
    text = "".join(char if char.isprintable() else " " for char in text)
    text = masked(" ".join(text.split()))
    if len(text) <= limit:
        return text
    half = (limit - 3) // 2
    return f"{text[:half]} … {text[-half:]}"


def _kind(message: str, status: int | None) -> _Kind:
    text = message[: MAX_REASON * 20]
    for pattern, kind in _KNOWN:
        if pattern.search(text):
            return kind
    if status is None:
        match = _STATUS.search(text)
        status = int(match[1] or match[2]) if match else 0
    if status in (429, 529):
        return _LIMITED
    if status >= 500 or status == 408:
        return _PASSING
    return _NO_SERVICE.get(status, _LASTING)
