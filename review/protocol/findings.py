"""Reads the findings of a review and finds their quotes in the note."""

from __future__ import annotations

import re
from dataclasses import dataclass

from review.domain.markdown_lines import iter_lines
from review.vocabulary import Severity

_BULLET = re.compile(
    r"[ \t]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+[\[*_]*(INFO|WARN|WARNING|FAIL)[\]*_]*"
    r"[ \t]*(?::[*_]*|[ \t][-–—]+|[–—]+)[ \t]*(.*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParsedFinding:
    """One point a review makes; `quote` is empty where it quotes nothing."""

    ordinal: int
    severity: Severity
    text: str
    quote: str


def read_findings(block_text: str) -> tuple[ParsedFinding, ...]:
    """Give the findings in the order they stand, numbered from 1."""
    found: list[tuple[str, list[str], list[str]]] = []
    for line in iter_lines(block_text):
        if line.in_quote and found:
            found[-1][2].append(line.text.lstrip(" >\t"))
        elif line.in_fence or line.in_quote:
            continue
        elif match := _BULLET.match(line.text):
            found.append((match[1].lower().removesuffix("ing"), [match[2]], []))
    return tuple(
        ParsedFinding(number, Severity(severity), " ".join(text).strip(), " ".join(quote).strip())
        for number, (severity, text, quote) in enumerate(found, 1)
    )


def locate_quote(note_text: str, quote: str) -> int | None:
    """Give the line of the note, from 1, where the quote begins; None where it does not stand."""
    words = quote.strip().strip("\"'“”‘’«»").split()
    if not words:
        return None
    wanted = " ".join(words)
    parts, lines = [], []
    for number, line in enumerate(note_text.split("\n"), 1):
        for word in line.split():
            parts.append(word)
            lines.append(number)
    at = " ".join(parts).find(wanted)
    if at < 0:
        return None
    return lines[" ".join(parts)[:at].count(" ")]
