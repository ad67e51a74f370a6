"""Finds the line of a note where a quote stands, though the quote is rarely exact."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

_WORD = re.compile(r"[^\W_]+")
_UNSEEN = dict.fromkeys((0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
_ELLIPSIS = re.compile(r"\.\.\.|\u2026")
# A shorter part of a broken quote ("the", "see") may stand anywhere.
_TELLING = 12
_PARTS_TRIED_ALONE = 2
# Writing without spaces between words is broken over lines anywhere.
_SPACED_SCRIPTS_END = 0x2E80


class _Index(NamedTuple):
    """The words of a note, folded and joined, and the offset at which each line begins."""

    words: str
    starts: array[int]

    def line_at(self, offset: int) -> int:
        return bisect_right(self.starts, offset)


def locate_quote(note_text: str, quote: str) -> int | None:
    """Give the line of the note, from 1, where the quote begins; None where it does not stand.

    A line that is the quote to the letter comes first: a title's words stand in the frontmatter
    too. Else case, spaces, line wraps, punctuation, markup and quotation marks may differ, and an
    ellipsis may leave words out. In linear time.
    """
    whole = _whole_line(note_text, quote.strip())
    if whole is not None:
        return whole
    parts = [words for part in _ELLIPSIS.split(quote) if (words := _fold(part))]
    if not parts:
        return _locate_exactly(note_text, quote.strip())
    index = _index_of(note_text, " ")
    offset = _find_all(index.words, parts)
    if offset is None and len(parts) > 1:
        telling = [part for part in parts if len(part) >= _TELLING][:_PARTS_TRIED_ALONE]
        offset = next((at for part in telling if (at := _find(index.words, part)) >= 0), None)
    if offset is not None:
        return index.line_at(offset)
    if all(ord(char) < _SPACED_SCRIPTS_END for char in parts[0]):
        return None
    unspaced = _index_of(note_text, "")
    offset = _find_all(unspaced.words, [part.replace(" ", "") for part in parts])
    return None if offset is None else unspaced.line_at(offset)


def stands_in(note_text: str, quote: str) -> bool:
    """Return whether the note has the quote, wherever it stands."""
    return locate_quote(note_text, quote) is not None


def _whole_line(note_text: str, quote: str) -> int | None:
    if not quote or "\n" in quote:
        return None
    framed = f"\n{note_text}\n"
    places = (framed.find(f"\n{quote}{end}") for end in ("\n", "\r\n"))
    offset = next((place for place in places if place >= 0), None)
    return None if offset is None else framed.count("\n", 0, offset + 1)


def _locate_exactly(note_text: str, quote: str) -> int | None:
    offset = note_text.find(quote) if quote else -1
    return None if offset < 0 else note_text.count("\n", 0, offset) + 1


def _find_all(words: str, parts: list[str]) -> int | None:
    """Where the first part stands if the others follow it in order; the nearest such place."""
    first = _find(words, parts[0])
    if first < 0:
        return None
    end = first + len(parts[0])
    second = -1
    for part in parts[1:]:
        found = _find(words, part, end)
        if found < 0:
            return None
        second = found if second < 0 else second
        end = found + len(part)
    nearest = words.rfind(f" {parts[0]} ", first, max(first, second)) + 1
    return max(first, nearest)


def _find(words: str, part: str, start: int = 0) -> int:
    """The place of these words; one where they are whole words is preferred."""
    found = words.find(f" {part} ", max(0, start - 1))
    return found + 1 if found >= 0 else words.find(part, start)


@lru_cache(maxsize=2)
def _index_of(note_text: str, space: str) -> _Index:
    starts = array("q")
    lines = []
    offset = len(space)
    for line in note_text.split("\n"):
        starts.append(offset)
        if words := _fold(line).replace(" ", space):
            lines.append(words)
            offset += len(words) + len(space)
    return _Index(space + space.join(lines) + space, starts)


def _fold(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_UNSEEN))
    return " ".join(_WORD.findall(text.casefold()))
