"""Reviews as structured output: the schema to ask for, and its answer as typed reviews."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from review.protocol.typed_review import WHOLE_NOTE, TypedFinding, TypedReview
from review.vocabulary import Decision, Severity

INSTRUCTIONS = (
    "You answer through an interface that takes structured data. The prompt describes a file with"
    " blocks and sentinel lines: write neither. Give one entry in `reviews` for each requested pair, in"
    " their order, with the same contents as its block: `pair` is the pair's number, `decision` the word"
    " of its result line, `summary`, `findings` and `suggested_revision` its sections. A finding's"
    " `quote` is copied from the note exactly, and is empty where the note as a whole is meant. You"
    " cannot open files. Where a gate asks what a link leads to and the table of links does not show it,"
    " the decision is `error`, and the summary names the file that would have to be read."
)
TEXT_INSTRUCTIONS = (
    "You cannot open or write files: give the blocks that the prompt describes, and nothing else, as"
    " your answer. Where a gate asks what a link leads to and the table of links does not show it, the"
    " result is ERROR, and the summary names the file that would have to be read."
)
_DECISIONS = [word.value for word in Decision if word is not Decision.UNKNOWN]
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
            decision={"type": "string", "enum": _DECISIONS},
        ),
    }
)


class _Finding(msgspec.Struct):
    severity: Severity
    text: str
    quote: str


class _Review(msgspec.Struct):
    pair: int
    summary: str
    findings: list[_Finding]
    suggested_revision: str
    decision: Decision


def read_reviews(answer: str, *, ordinals: Sequence[int]) -> dict[int, TypedReview]:
    """Return the reviews by ordinal; empty where the answer is no such JSON.

    Of an answer that was cut off the whole entries count. One that breaks the schema, is of no
    requested pair, or repeats one is left out: its pair counts as missing.
    """
    found: dict[int, TypedReview] = {}
    for entry in _entries(answer):
        if entry.pair in ordinals and entry.decision is not Decision.UNKNOWN:
            findings = (
                TypedFinding(item.severity, _one_line(item.text), _one_line(item.quote), WHOLE_NOTE)
                for item in entry.findings
            )
            review = TypedReview(
                decision=entry.decision,
                findings=tuple(findings),
                summary=_one_line(entry.summary),
                suggestion=entry.suggested_revision.strip() or "None.",
            )
            found.setdefault(entry.pair, review)
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


def _one_line(text: str) -> str:
    return " ".join(text.split())
