"""Reads what a CLI printed: its JSON objects among noise, and what it says about a failure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from review.protocol.output import strip_escapes
from review.protocol.telemetry import masked
from review.runners.outcome import RunnerFailure
from review.vocabulary import FailureCode

MAX_REASON = 1000
MAX_SAID = 300
_STACK_LINE = re.compile(r"^[^\S\n]++at .*$|^[^\S\n]++File \".*\", line \d+.*$", re.MULTILINE)
_STATUS = re.compile(
    r"(?i)(?:status(?: code)?|api error|error code|\"code\"|\bHTTP(?:/[\d.]+)?)\W{0,4}([45]\d\d)\b"
    r"|\(([45]\d\d)\)"
)

_LASTING = RunnerFailure(FailureCode.RUNNER_ERROR, "")
_PASSING = replace(_LASTING, retryable=True)
_UNUSABLE = replace(_LASTING, unusable=True)
_LIMITED = RunnerFailure(FailureCode.RATE_LIMITED, "", retryable=True)
_NO_CREDIT = RunnerFailure(FailureCode.ACCOUNT_EXHAUSTED, "", exhausted=True)
_EXHAUSTED = replace(_NO_CREDIT, retryable=True)

# Sentences of the CLIs and their services; the first that is found decides. An account that has
# nothing left comes before a rate limit, since services answer 429 for both.
_SENTENCES: tuple[tuple[str, RunnerFailure], ...] = (
    (r"(?<!token )per[-_ ]?day|billing_hard_limit|spending cap|arrearage", _EXHAUSTED),
    (r"(?:retry|try again) (?:in|after) [\d.]+ ?(?:ms|s\b|sec)", _LIMITED),
    (r"credit balance is too low|requires more credits|insufficient[_ ](?:quota|credits?|funds|balance)", _NO_CREDIT),
    (r"check your plan and billing|billing hard limit|payment required|credits? (?:are |is |have been )?(?:depleted|exhausted)", _NO_CREDIT),
    (r"(?:out of|no(?: more)?|not enough|ran out of) credits|spend(?:ing)? (?:cap|limit) (?:reached|exceeded)", _NO_CREDIT),
    (r"(?:hit|reached|exceeded) your (?:\w+ ){0,4}(?:limit|allowance|usage|quota)|usage limit\b(?=.{0,60}try again)|usage[ _]limit (?:has been )?(?:reached|exceeded)|usage_limit_(?:reached|exceeded)", _EXHAUSTED),
    (r"out of (?:extra |your )?(?:usage|quota|requests)|out of tokens for|no (?:usage|quota|premium requests) (?:left|remaining)|used (?:up )?(?:all |\d+ ?% )?(?:of )?your .{0,30}(?:usage|quota|credits|limit)", _EXHAUSTED),
    (r"limit reached\s*\|\s*\d{9,}|(?:weekly|daily|monthly|session|\w+|\d+-hour) limit (?:has been )?(?:reached|exceeded)(?=.{0,40}reset)", _EXHAUSTED),
    (r"(?:weekly|daily|monthly|session|\d+-hour|free tier|key|premium request) limit (?:has been )?(?:reached|exceeded)", _EXHAUSTED),
    (r"\b(?:usage|message|plan|subscription|fair[ -]use|token)\b.{0,40}\b(?:limit|cap|usage)\b.{0,30}(?:reached|exceeded|used up)|reached (?:the|your) .{0,40}(?<!rate )\blimit", _EXHAUSTED),
    (r"used (?:up )?all (?:of )?your|usage (?:cap |has been )?(?:reached|exceeded)|you have no quota|extra usage is required|trial (?:has )?expired", _EXHAUSTED),
    (r"\b(?:kontingent|guthaben|\w*limit)\b.{0,30}(?:erschöpft|aufgebraucht|erreicht|überschritten)|atteint votre limite|límite de uso|使用上限|额度(?:已|不足)|余额不足", _EXHAUSTED),
    (r"exhausted your (?:daily )?(?:quota|capacity)|quota exceeded.{0,200}per day|daily quota|quota will reset", _EXHAUSTED),
    (r"not (?:currently |yet )?(?:logged in|signed in|authenticated)|(?:no|not have an) active subscription|missing scopes?|/login\b|log ?in (?:again|first)|(?:login|log-in|session) (?:has )?expired|login (?:is )?required", _UNUSABLE),
    (r"(?:run|with|use) [`'\"]?[\w-]+ (?:auth |sso )?(?:login|auth)\b|(?:codex|gemini|claude|gcloud|opencode)(?: auth)? login|(?:sign|log) ?(?:out and )?(?:sign |log )?in again|(?:sign|log) in to continue|logged out", _UNUSABLE),
    (r"invalid (?:api|x-api)[ -]?key|incorrect api key|api[ _]key[ _](?:is )?(?:not valid|invalid|expired|disabled)", _UNUSABLE),
    (r"no key found|api key (?:is )?(?:missing|not found|not set|required)|missing api key|no api key", _UNUSABLE),
    (r"no authentication|(?:log ?in|sign ?in|session|profile)\b.{0,50}\b(?:expired|failed)|login failed|sign in with|not authori[sz]ed", _UNUSABLE),
    (r"refresh[ _]token|(?:access|auth(?:entication)?|oauth|bearer)? ?token (?:included in the request )?(?:is |has |was |could )?(?:been )?(?:expired|missing|revoked|invalid|already used|not be refreshed)", _UNUSABLE),
    (r"invalid_grant|token_(?:expired|revoked|invalidated)|invalid[ _](?:auth\w*|bearer|credentials?)|could not (?:be )?(?:authenticate|refresh)\w*", _UNUSABLE),
    (r"failed to (?:authenticate|log ?in|sign ?in)|auth(?:entication|orization)?[ _](?:method|failed|error|(?:is )?required)|unauthori[sz]ed|unauthenticated", _UNUSABLE),
    (r"(?:account|organi[sz]ation|workspace) (?:has been |is |was )?(?:disabled|suspended|deactivated)|permission[ _]denied.{0,40}api|ineligible ?tier", _UNUSABLE),
    (r"(?:does not|doesn't) have access to|not available in your (?:country|region|location)|user location is not supported", _UNUSABLE),
    (r"missing environment variable|credentials? (?:\w+ ){0,2}(?:not found|missing|expired)|(?:locate|load|find) (?:the )?(?:\w+ )?credentials|ExpiredToken|(?:set|specify) the \S+ environment variable|please set an auth", _UNUSABLE),
    (r"unknown (?:option|argument|flag)|no such option|unexpected argument|unrecogni[sz]ed (?:argument|option)|the argument '-", _UNUSABLE),
    (r"trust required|(?:disabled|not (?:currently )?allowed) for (?:this|your) organi[sz]ation|(?:visit|open) .{0,40}(?:url|link|http).{0,80}(?:browser|authori[sz]|log ?in|sign ?in)", _UNUSABLE),
    (r"unknown model|model .{0,80}(?:not found|does not exist|not supported|may not exist|is not available)", _UNUSABLE),
    (r"issue with the selected model|not inside a trusted directory|untrusted folder", _UNUSABLE),
    (r"rate[ -]?limit|too many requests|resource[_ ](?:has been )?exhausted|quota", _LIMITED),
    (r"overloaded|high demand|at capacity|try again later|temporarily unavailable", _LIMITED),
    (r"(?:unable to|could not|failed to) connect|error (?:connecting|sending request)|unexpected eof|: eof\b|\bterminated\b", _PASSING),
    (r"stream (?:disconnected|closed|ended|error)|connection (?:error|reset|closed|refused)", _PASSING),
    (r"econn(?:reset|refused|aborted)|etimedout|enotfound|eai_again|socket hang up", _PASSING),
    (r"fetch failed|network error|request timed out|premature close|incomplete chunked", _PASSING),
    (r"internal server error|bad gateway|service unavailable|gateway time-?out", _PASSING),
    (r"empty response.{0,60}transient|transient", _PASSING),
)  # fmt: skip
_KNOWN = tuple((re.compile(words, re.IGNORECASE), kind) for words, kind in _SENTENCES)
_NO_SERVICE = {401: _UNUSABLE, 402: _NO_CREDIT, 403: _UNUSABLE, 404: _UNUSABLE}
# How a CLI begins when it prints an error in the place of an answer, with exit code 0.
_ERROR_OPENING = re.compile(r"\s*(?:\[?API Error\b|Error(?: code)?:|Rate limit)", re.I)
_MOST_OF_AN_ERROR = 400
# How a model answers that was given no prompt; in any language, it asks back.
_GIVEN = r"(?:request|question|task|prompt|message|instruction|input|content)s?"
_NO_REQUEST = re.compile(
    r"(?i)(?:do|did|can)(?:n(?:'|\u2019)t| ?not) (?:actually )?(?:see|find|receive|have|detect|get|provide|include) "
    rf"(?:a|an|any|your|the) (?:\w+ ){{0,3}}{_GIVEN}\b"
    rf"|(?:message|prompt|input|request) (?:\w+ ){{1,3}}(?:\w+ )?(?:empty|blank|missing|cut off)"
    rf"|(?:no|without|not seeing an?y?|there(?:'|\u2019)s no) (?:\w+ )?{_GIVEN} (?:was|were|has|have|provided|given|included|here|yet|specified)"
    r"|(?:empty|blank) (?:message|prompt|request|input)|ready (?:to (?:help|assist|start)|for your)"
    r"|haven(?:'|\u2019)t (?:yet )?(?:provided|given|included|shared|asked)|(?:what|note|file|text) you(?:'|\u2019)d like"
    r"|doesn(?:'|\u2019)t (?:appear|seem) to (?:be|contain|include) (?:a|an|any) "
    r"|(?:sehe|finde|habe|erkenne) (?:\w+ ){0,3}keine? (?:\w+ ){0,2}(?:an)?(?:frage|aufgabe|nachricht|eingabe|prompt|inhalt)"
    r"|set(?:ting)? up (?:the )?context for our|please (?:provide|paste|share|send) (?:the|your|me)|[?\uff1f\u061f][^?\uff1f\w]*$"
)
_MOST_OF_A_GREETING = 600
# What services, and the CLIs in front of them, call a stop at the limit of an answer's length.
_STOPS = ("max_tokens", "max_output_tokens", "length", "model_context_window_exceeded")
_STOPPED = re.compile(
    r"(?i)exceeded the (?:\d+ )?output token (?:max\w+|limit)|output token limit (?:exceeded|reached)"
    r"|reason:? \W?max_(?:output_)?tokens\b|truncated due to token limit"
)
_ADVICE = (
    "give it less at once (--batch-size, or max_prompt_tokens in kb/review.toml), or raise the"
    " runner's own limit"
)


def failure_of(message: str, *, status: int | None = None, fallback: str = "") -> RunnerFailure:
    raw = unwrap(message)
    if tells_of_the_limit(raw):
        return stopped_at_limit(clean(raw, limit=MAX_REASON // 2))
    return replace(
        _kind(f"{message} {raw}", status), reason=clean(raw, limit=MAX_REASON) or fallback
    )


def error_in_answer(answer: str) -> RunnerFailure | None:
    """Return the failure that an answer without a review tells of: if short, by its words."""
    failure = failure_of(answer)
    is_short = failure.concerns_all and len(answer) <= _MOST_OF_AN_ERROR
    return failure if _ERROR_OPENING.match(answer) or is_short else None


def saw_no_request(answer: str) -> bool:
    """Return whether an answer without a review says that no prompt has arrived."""
    return len(answer) <= _MOST_OF_A_GREETING and _NO_REQUEST.search(answer) is not None


def limit_named_by(reason: object) -> str:
    """A CLI's reason for the end of its answer, where that is the limit of its length; else ""."""
    return reason if isinstance(reason, str) and reason.lower() in _STOPS else ""


def tells_of_the_limit(message: str) -> bool:
    return _STOPPED.search(message) is not None


def stopped_at_limit(said: str) -> RunnerFailure:
    """The failure of an answer that was cut off, and what helps: the same again does not."""
    return RunnerFailure(
        FailureCode.RUNNER_ERROR, f"the model stopped at its output limit ({said}): {_ADVICE}"
    )


def unwrap(message: str) -> str:
    """The sentence inside a service's JSON error, where the message is one."""
    try:
        document = json.loads(message)
    except (ValueError, RecursionError):
        return message
    inner = look(document, "error.message") or look(document, "error") or look(document, "message")
    return unwrap(inner) if isinstance(inner, str) else message


def clean(text: str, *, limit: int) -> str:
    """One line without control characters, escapes and keys; the middle is cut when it is long."""
    if len(text) > limit * 50:
        text = f"{text[: limit * 25]} {text[-limit * 25 :]}"
    text = _STACK_LINE.sub(" ", strip_escapes(text))
    # Not printable are controls, and what turns text around or hides it: bidi, zero widths.
    text = "".join(char if char.isprintable() else " " for char in text)
    text = masked(" ".join(text.split()))
    if len(text) <= limit:
        return text
    half = (limit - 3) // 2
    return f"{text[:half]} … {text[-half:]}"


def _kind(message: str, status: int | None) -> RunnerFailure:
    text = message[: MAX_REASON * 20]
    for pattern, kind in _KNOWN:
        if pattern.search(text):
            return kind
    if status is None:
        match = _STATUS.search(text)
        status = int(match[1] or match[2]) if match else 0
    if status in (429, 529):
        return _LIMITED
    return _PASSING if status >= 500 or status == 408 else _NO_SERVICE.get(status, _LASTING)


# What reads a value (`text`, `count`, `money`), then the dotted paths where it may stand.
Places = Mapping[str, tuple[Any, ...]]
_OPENING = re.compile(r"^[ \t]*(?=[{\[])", re.MULTILINE)
_DECODER = json.JSONDecoder(strict=False)
_MOST = 2**53
_MOST_MONEY = 1e12
_MOST_TRIES = 20  # of what does not end on its line: each may read all of the text


def objects_in(data: bytes) -> list[dict[str, Any]]:
    """Every JSON object that begins a line, in order; those in a list one by one."""
    text = strip_escapes(data.decode("utf-8-sig", "replace"))
    found: list[object] = []
    at, tries = 0, _MOST_TRIES
    while match := _OPENING.search(text, at):
        start = match.end()
        at = text.find("\n", start) + 1 or len(text)
        value, length = _decode(text[start:at])
        if not length and tries:
            value, length = _decode(text, start)
            tries -= not length
        if length:
            at = start + length
            found += value if isinstance(value, list) else [value]
    return [item for item in found if isinstance(item, dict)]


def _decode(source: str, start: int = 0) -> tuple[object, int]:
    """A value and its length; 0: there is none."""
    try:
        value, end = _DECODER.raw_decode(source, start)
    except (ValueError, RecursionError):  # no JSON, a number that is too long, or too deep
        return None, 0
    return value, end - start


def look(value: object, path: str) -> object:
    """Return the value at a dotted path (`message.content.0.text`), or None."""
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def table(value: object) -> Mapping[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:
    """`value` where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str | None:
    """`value` where it is a text that is not blank."""
    return value if isinstance(value, str) and value.strip() else None


def encoded(value: object) -> bytes | None:
    """`value` where it is a text, as bytes."""
    return value.encode("utf-8", "replace") if isinstance(value, str) else None


def count(value: object) -> int | None:
    """`value` where it counts something: a whole number from 0, and no truth value."""
    return value if type(value) is int and 0 <= value < _MOST else None


def money(value: object) -> float | None:
    """`value` where it can be an amount: a number from 0, and no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _MOST_MONEY else None


def known(**values: object) -> dict[str, Any]:
    """Drop unknown values instead of storing them as null."""
    return {name: value for name, value in values.items() if value is not None}


def gather(documents: Iterable[object], places: Places) -> dict[str, Any]:
    """Read values by our own names; the first that is found, over the documents and their paths."""
    documents, found = list(documents), {}
    for name, (reader, *paths) in places.items():
        values = (reader(look(item, path)) for item in documents for path in paths)
        found[name] = next((value for value in values if value is not None), None)
    return known(**found)


def summed(usages: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    sums: Counter[str] = Counter()
    for usage in usages:
        sums.update({name: value for name, value in usage.items() if isinstance(value, int)})
    return dict(sums)
