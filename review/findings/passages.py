"""The passage of a note around the quote of a finding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_AROUND = 4
_MOST_LINES = 40
# A paragraph is often one line; a line may be a whole file.
_MAX_LINE = 1200
_MAX_BEFORE_QUOTE = 300
_MAX_QUOTE_WORDS = 100
_WORD = re.compile(r"\w+")

Span = tuple[int, int]


@dataclass(frozen=True)
class PassageLine:
    """A line of the note, from 1; `marked` is the part of it that is quoted."""

    number: int
    before: str
    marked: str
    after: str

    @property
    def is_quoted(self) -> bool:
        return bool(self.marked)


def cut_passage(text: str, *, line: int, quote: str) -> tuple[PassageLine, ...]:
    """Return the lines around `line`, where the quote begins; lines end at a line feed only."""
    lines = text.removesuffix("\n").split("\n") if text else []
    first = max(1, line - _AROUND)
    spans = _quoted(lines[line - 1 : first + _MOST_LINES - 1], quote)
    last = min(len(lines), line + max(spans, default=0) + _AROUND, first + _MOST_LINES - 1)
    return tuple(
        _clipped(number, lines[number - 1].removesuffix("\r"), spans.get(number - line))
        for number in range(first, last + 1)
    )


def _quoted(lines: Sequence[str], quote: str) -> dict[int, Span]:
    """Return the range of each line, by position, where most words of the quote follow each other.

    Markup and line ends are between words. If there are none of its words, it is the first line.
    """
    words = [re.escape(word) for word in _WORD.findall(quote)[:_MAX_QUOTE_WORDS]]
    if not words or not lines:
        return {}
    pattern = r"(?:\W+".join(rf"\b{word}\b" for word in words) + ")?" * (len(words) - 1)
    matches = re.finditer(pattern, "\n".join(lines), re.IGNORECASE)
    best = max(matches, key=lambda found: len(found[0]), default=None)
    if best is None:
        return {0: (0, len(lines[0]))}
    spans = {}
    offset = 0
    for position, line in enumerate(lines):
        start, end = max(0, best.start() - offset), min(len(line), best.end() - offset)
        if start < end:
            spans[position] = (start, end)
        offset += len(line) + 1
    return spans


def _clipped(number: int, text: str, span: Span | None) -> PassageLine:
    if span is None:
        return PassageLine(number, _short(text), "", "")
    start, end = span
    cut = max(0, start - _MAX_BEFORE_QUOTE) if len(text) > _MAX_LINE else 0
    before = ("…" if cut else "") + text[cut:start]
    after = text[end : end + max(0, _MAX_LINE - len(before) - (end - start))]
    more = "…" if len(text) > end + len(after) else ""
    return PassageLine(number, before, _short(text[start:end]), after + more)


def _short(text: str) -> str:
    return text if len(text) <= _MAX_LINE else f"{text[:_MAX_LINE]}…"
