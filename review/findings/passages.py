"""The passage of a note around the place that a finding quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

_AROUND = 4
_MOST_LINES = 40
# A paragraph is often one line; a line may be a whole file.
_LINE_SHOWN = 1200
_BEFORE_MARK = 300
# What is compared is bounded, whatever a worker quotes and a note repeats.
_QUOTE_WORDS = 100
_LINE_WORDS = 20_000
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class PassageLine:
    """A line of the note, from 1; `marked` is the part of it that is quoted."""

    number: int
    before: str
    marked: str
    after: str

    @property
    def is_quoted(self) -> bool:
        """Whether a part of the quote stands in it."""
        return bool(self.marked)


def cut_passage(text: str, *, line: int, quote: str) -> tuple[PassageLine, ...]:
    """The lines around `line`, where the quote begins; lines end at a line feed only."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    first = max(1, line - _AROUND)
    quoted = list(_quoted(lines, line, quote))
    last = min(len(lines), line + len(quoted) - 1 + _AROUND, first + _MOST_LINES - 1)
    marked = dict(enumerate(quoted, start=line))
    return tuple(
        _clipped(number, lines[number - 1].removesuffix("\r"), marked.get(number))
        for number in range(first, last + 1)
    )


def _quoted(lines: list[str], line: int, quote: str) -> Iterator[tuple[int, int]]:
    """Start and end of what is quoted in each line from `line` on, word by word.

    Markup and line ends lie between words, so words are counted, not characters.
    """
    wanted = [match.group().casefold() for match in islice(_WORD.finditer(quote), _QUOTE_WORDS)]
    for text in lines[line - 1 :]:
        if not wanted:
            return
        found = _first_run(text, wanted)
        if found is None:
            yield (0, len(text))
            wanted = wanted[len(_WORD.findall(text)) or len(wanted) :]
            continue
        start, end, count = found
        yield (start, end)
        wanted = wanted[count:]


def _first_run(text: str, wanted: list[str]) -> tuple[int, int, int] | None:
    """Where the first words wanted stand in the line: start, end and how many of them."""
    words = [
        (match.group().casefold(), *match.span())
        for match in islice(_WORD.finditer(text), _LINE_WORDS)
    ]
    best: tuple[int, int, int] | None = None
    for at, (word, start, _end) in enumerate(words):
        if word != wanted[0]:
            continue
        count = 0
        for (other, *_span), want in zip(words[at:], wanted, strict=False):
            if other != want:
                break
            count += 1
        if best is None or count > best[2]:
            best = (start, words[at + count - 1][2], count)
    return best


def _clipped(number: int, text: str, span: tuple[int, int] | None) -> PassageLine:
    """The line in three parts, not longer than a page can show."""
    start, end = span or (len(text), len(text))
    cut = max(0, start - _BEFORE_MARK) if len(text) > _LINE_SHOWN and span else 0
    before = ("…" if cut else "") + text[cut:start]
    marked = text[start:end]
    room = max(0, _LINE_SHOWN - len(before) - len(marked))
    after = text[end : end + room] + ("…" if len(text) > end + room else "")
    if not span:
        before, after = text[:_LINE_SHOWN] + ("…" if len(text) > _LINE_SHOWN else ""), ""
    return PassageLine(number, before, _short(marked), after)


def _short(text: str) -> str:
    return text if len(text) <= _LINE_SHOWN else f"{text[:_LINE_SHOWN]}…"
