"""A person's search terms, and the excerpt of a text that shows where they occur."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_WORDS = 12
MAX_LENGTH = 200
_WANTED = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"\w")
_BLANKS = re.compile(r"\s+")
_BEFORE = 70


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an excerpt; `found` where it is one of the words that were searched for."""

    text: str
    found: bool


def wanted_words(query: str) -> tuple[str, ...]:
    """The words and quoted phrases of a query, in order, each once; marks alone are none."""
    found = (phrase or word for phrase, word in _WANTED.findall(query[:MAX_LENGTH]))
    words = (" ".join(item.replace('"', " ").split()) for item in found)
    return tuple(dict.fromkeys(word for word in words if _WORD.search(word)))[:MAX_WORDS]


def excerpt(text: str, words: Sequence[str], *, length: int = 260) -> tuple[Part, ...]:
    """A piece of `text` around the first of the words, on one line; its start if none is found."""
    pattern = _pattern(words)
    first = pattern.search(text) if pattern else None
    start = max(0, first.start() - _BEFORE) if first else 0
    if start:
        start = text.find(" ", start, first.start() if first else start) + 1 or start
    shown = _BLANKS.sub(" ", text[start : start + length]).strip()
    shown = f"{'… ' if start else ''}{shown}{' …' if start + length < len(text) else ''}"
    return tuple(_parts(shown, pattern))


def _pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """Any of the words at the start of a word, whatever blanks a phrase has between its words."""
    forms = [r"\s+".join(map(re.escape, word.split())) for word in words]
    if not forms:
        return None
    forms.sort(key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(forms)})", re.IGNORECASE)


def _parts(text: str, pattern: re.Pattern[str] | None) -> Iterator[Part]:
    end = 0
    for found in pattern.finditer(text) if pattern else ():
        if found.start() > end:
            yield Part(text[end : found.start()], found=False)
        yield Part(found[0], found=True)
        end = found.end()
    if end < len(text):
        yield Part(text[end:], found=False)
