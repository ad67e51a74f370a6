"""Find the lines of a note where a quote begins, though the quote is rarely exact."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from typing import Protocol

from review.domain.diffs.lines import follow_line, headings_at
from review.domain.finding_identity import MAX_COMPARED, Reported, say_the_same

_WORD = re.compile(r"[^\W_]+")
_INVISIBLE = dict.fromkeys((0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
# What a reader of the page does not see of links, footnotes and tags, which quotes leave out.
_ADDRESS = re.compile(
    r"(?<=\])(?:\([^()\n]*\)|\[[^\[\]\n]*\])|(?<=\[\[)[^\[\]|\n]*\||\[\^[^\[\]\n]*\](?!:)"
    r"|</?[a-zA-Z][a-zA-Z0-9]{0,10}(?:\s[^<>\n]*)?>"
)
# What the text of a finding may give as a quote: in marks, in a fence, in a cell or behind `>`.
_QUOTED = re.compile(
    r"(?s)\"([^\"\n]+)\"|[“„]([^“”„\n]+)[“”]|[«「]([^«»「」\n]+)[»」]|```[^\n]*\n(.*?)```|[|>]([^|>\n]+)"
)
_UNIT = re.compile(r"[\u2e80-\uffff]|[^\W_\u2e80-\uffff]+")
_PLACE_AROUND = re.compile(r"^(?:L|lines?\s)?\s*\d{1,5}\s*[:|]\s+|\s*\((?:L|lines?\s)\s*\d{1,5}\)$", re.I)  # fmt: skip
_ELLIPSIS = re.compile(r"\. ?\. ?\.|[\u2026\u22ef]")
# A shorter part of a broken quote ("the", "see") may be anywhere.
_SPECIFIC_CHARACTERS = 12
# Writing without spaces between words is wrapped anywhere.
_SPACED_SCRIPTS_END = 0x2E80
# Fewer words occur in many notes; a longer quote is of one place.
_WORDS_OF_A_PLACE, _WORDS_OF_TWO = 5, 100
# Bounds the work for a quote that is nearly everywhere, and for one of many lines.
_MAX_PLACES, _MAX_LINES = 2_000, 20

_LINE_NUMBER = re.compile(r"\b(?:lines?\s*#?|L)(\d{1,6})(?:\s*[-\u2013]\s*(\d{1,6}))?", re.I)
# A line that is named beside one of these is the other place, with which this one is compared.
_COMPARES = re.compile(r"\b(?:already|again|repeat|duplicat|same as|earlier)", re.I)
_MARKS_HEADING = r"[\"'`*#\u201c\u2018(]|\b(?:section|heading|under|in|abschnitt|unter|sección|sous)\s+(?:the\s+)?"
_FRONTMATTER_WORD = re.compile(r"\bfront[ -]?matter\b|\bmetadata\b", re.I)

Lines = tuple[int, ...]


def telling_quotes(finding: Reported) -> list[str]:
    """Return the quote, or what the text gives as one; of five words, or ten signs of CJK."""
    passages = _QUOTED.findall(finding.text[:MAX_COMPARED])
    said = [finding.quote] if finding.quote else map("".join, passages)
    return [quote for quote in said if _count_words(quote) >= _WORDS_OF_A_PLACE]


def _count_words(text: str) -> int:
    units = _UNIT.findall(text)
    return sum(1 if ord(unit[0]) >= _SPACED_SCRIPTS_END else 2 for unit in units) // 2


class LocatableFinding(Reported, Protocol):
    @property
    def line(self) -> int | None: ...


def set_apart(note_text: str, quote: str) -> str:
    """Join the lines of a quote: an ellipsis stands between two that are of different places."""
    places: list[str] = []
    for line in quote.replace("\n", " ", max(0, quote.count("\n") - _MAX_LINES)).split("\n"):
        joined = " ".join((*places[-1:], line))
        known = (passage_lines(note_text, text) for text in (*places[-1:], line))
        if passage_lines(note_text, joined) or not all(known):
            places[-1:] = [joined]
        else:
            places.append(line)
    return " \u2026 ".join(places)


def quote_lines(note_text: str, quote: str) -> Lines:
    """Return all lines of the note, from 1, where the quote begins; see `_passages`."""
    return passage_lines(note_text, _passages(note_text, quote)[0])


def lines_after(before: str, after: str, quote: str) -> Lines:
    """Return the lines in `after` of what the quote is of in `before`; none if a part of it is gone."""
    places = [passage_lines(after, passage) for passage in _passages(before, quote)]
    return places[0] if all(places) else ()


@lru_cache(maxsize=256)
def _passages(note_text: str, quote: str) -> tuple[str, ...]:
    """Return the quote, with its parts of an ellipsis that the note has if there are several.

    Where it lacks the whole, what it has of its beginning and end: some quote two places as one,
    of which the other may be in another note.
    """
    size, units = _count_words(quote), list(_UNIT.finditer(quote))
    if not _WORDS_OF_A_PLACE < size <= _WORDS_OF_TWO or passage_lines(note_text, quote):
        parts = [part for part in _ELLIPSIS.split(quote, _MAX_LINES) if _WORD.search(part)]
        here = [part for part in parts if passage_lines(note_text, part)]
        return (quote, *here) if len(here) > 1 else (quote,)
    heads = (quote[: unit.end()] for unit in reversed(units[:-1]))
    tails = (quote[unit.start() :] for unit in units[1:])
    found: list[str] = []
    for ends in (heads, tails):
        telling = takewhile(lambda part: _count_words(part) >= _WORDS_OF_A_PLACE, ends)
        found += islice((part for part in telling if passage_lines(note_text, part)), 1)
    return tuple(found) or (quote,)


@lru_cache(maxsize=256)
def passage_lines(note_text: str, quote: str) -> Lines:
    """Return all lines of the note where a quote of one place begins, in linear time.

    If it is not there verbatim, its words are searched for: case, spaces, line wraps, punctuation,
    markup and quotation marks may differ then, and an ellipsis may leave words out.
    """
    quote = quote.strip()
    verbatim = _verbatim_lines(note_text, quote) if quote else ()
    found = verbatim or _lines_of_words(note_text, quote)
    return found or _lines_of_words(note_text, _PLACE_AROUND.sub("", quote))


def locate_findings(note_text: str, findings: Sequence[LocatableFinding]) -> list[int | None]:
    """Return the line of each finding of one review; None if several are as likely.

    A finding's own line counts first; then, of the places of its quote, the one whose line number or
    heading the text names; then, as many findings that say the same about a quote as it has places
    get one each; then, the place between the findings before and after it, if the review follows
    the note from top to bottom.
    """
    places = [(item.line,) if item.line else _named_places(note_text, item) for item in findings]
    places = _in_order(_one_each(findings, places))
    return [lines[0] if len(lines) == 1 else None for lines in places]


def follow_quote(before: str, after: str, *, quote: str, line: int | None) -> int | None:
    """Return the line in `after` of a quote that began at `line` of `before`; None if it is gone."""
    if before == after:
        return line
    now, then = lines_after(before, after, quote), quote_lines(before, quote)
    if len(now) == 1 and len(then) <= 1:
        return now[0]
    if not now or line is None:
        return None
    here = [place for place in now if place in follow_line(before, after, line)]
    if not here:
        others = [follow_line(before, after, place) for place in then if place != line]
        here = [place for place in now if not any(place in lines for lines in others)]
    return here[0] if len(here) == 1 else None


def _named_places(note_text: str, finding: LocatableFinding) -> Lines:
    """Return the places of the quote that the finding's text names best; all if it names none."""
    lines = quote_lines(note_text, finding.quote)
    if len(lines) < 2:
        return lines
    for found in _LINE_NUMBER.finditer(finding.text):
        first, last = int(found[1]), int(found[2] or found[1])
        named = [line for line in lines if first <= line <= last]
        if len(named) == 1 and not _COMPARES.search(finding.text):
            return (named[0],)
        lines = tuple(line for line in lines if [line] != named)
    lines = _of_frontmatter_or_body(note_text, finding.text, lines)
    headings = [headings_at(note_text, line) for line in lines]
    counts = [sum(_names_heading(finding, name) for name in names) for names in headings]
    return tuple(line for line, count in zip(lines, counts, strict=True) if count == max(counts))


def _names_heading(finding: LocatableFinding, heading: str) -> bool:
    """Return True if the text names a heading; a single word counts only if it is marked as one."""
    title = heading.strip("*_` ")
    if not _WORD.search(title) or title.casefold() in finding.quote.casefold():
        return False
    name = rf"(?<!\w){re.escape(title)}(?!\w)"
    if len(title.split()) == 1:
        name = rf"(?:{_MARKS_HEADING}){name}|{name}\s+(?:section|heading)"
    return re.search(name, finding.text, re.I) is not None


def _of_frontmatter_or_body(note_text: str, text: str, lines: Lines) -> Lines:
    """Prefer places in the body, unless the text speaks of the frontmatter or of the key."""
    end = note_text.find("\n---", 3) if note_text.startswith("---\n") else -1
    above = tuple(line for line in lines if line <= note_text.count("\n", 0, end + 1))
    if end < 0 or len(above) in (0, len(lines)):
        return lines
    if _FRONTMATTER_WORD.search(text):
        return above
    keys = [_fold(row.partition(":")[0]) for row in note_text[:end].split("\n")]
    words = set(_fold(text).split()) - {"title"}
    return tuple(line for line in above if keys[line - 1] in words) or lines[len(above) :]


def _one_each(findings: Sequence[LocatableFinding], places: list[Lines]) -> list[Lines]:
    pairs = zip(findings, places, strict=True)
    located = {(item.quote, lines[0]) for item, lines in pairs if len(lines) == 1}
    found = list(places)
    for lines in set(places):
        positions = [position for position, other in enumerate(places) if other == lines]
        first, *others = (findings[position] for position in positions)
        free = [line for line in lines if (first.quote, line) not in located]
        if len(free) == len(positions) and all(say_the_same(first, item) for item in others):
            for position, line in zip(positions, free, strict=True):
                found[position] = (line,)
    return found


def _in_order(places: list[Lines]) -> list[Lines]:
    """Narrow places to those between their neighbours, if the review follows the note."""
    located = [(position, lines[0]) for position, lines in enumerate(places) if len(lines) == 1]
    known = [line for _position, line in located]
    if known != sorted(known) or len(set(known)) < 2:
        return places
    found = []
    for position, lines in enumerate(places):
        at = bisect_right(located, (position, 0))
        low = known[at - 1] if at else 0
        high = known[at] if at < len(known) else max(lines, default=0)
        found.append(tuple(line for line in lines if low <= line <= high) or lines)
    return found


def _verbatim_lines(note_text: str, quote: str) -> Lines:
    """Return the lines where the quote begins as it is, not within a word or a row of `#`."""
    lines: dict[int, None] = {}
    line = 1
    for before, after in pairwise(note_text.split(quote, _MAX_PLACES)):
        line += before.count("\n")
        if not (_joined(before[-1:], quote[0]) or _joined(quote[-1], after[:1])):
            lines[line] = None
        line += quote.count("\n")
    return tuple(lines)


def _joined(one: str, other: str) -> bool:
    return (one.isalnum() and other.isalnum()) or one == other == "#"


def _lines_of_words(note_text: str, quote: str) -> Lines:
    parts = [words for part in _ELLIPSIS.split(quote) if (words := _fold(part))]
    if not parts:
        return ()
    specific = [part for part in parts if len(part) >= _SPECIFIC_CHARACTERS][:2]
    ways = [(" ", parts), *((" ", [part]) for part in specific if len(parts) > 1)]
    if any(ord(char) >= _SPACED_SCRIPTS_END for char in parts[0]):
        ways.append(("", [part.replace(" ", "") for part in parts]))
    found = (_lines_of_parts(note_text, space, wanted) for space, wanted in ways)
    return next((lines for lines in found if lines), ())


def _lines_of_parts(note_text: str, space: str, parts: list[str]) -> Lines:
    """Return the lines where the parts follow each other, as whole words if they do anywhere."""
    words, starts = _index_of(note_text, space)
    ways = (islice(_find_each(words, parts, frame), _MAX_PLACES) for frame in (" ", ""))
    found = (dict.fromkeys(bisect_right(starts, offset) for offset in way) for way in ways)
    return next((tuple(lines) for lines in found if lines), ())


def _find_each(words: str, parts: list[str], frame: str) -> Iterator[int]:
    """Yield each offset where the first part begins and the others follow it; the nearest start."""
    first, *others = (f"{frame}{part}{frame}" for part in parts)
    at = words.find(first)
    while at >= 0:
        end = at + len(first) - len(frame)
        start = at
        for number, part in enumerate(others):
            if (found := words.find(part, end)) < 0:
                return
            if not number:
                start = max(at, words.rfind(first, at, found + len(frame)))
            end = found + len(part) - len(frame)
        yield start + len(frame)
        at = words.find(first, end)


@lru_cache(maxsize=4)
def _index_of(note_text: str, space: str) -> tuple[str, list[int]]:
    """Return the folded words of a note, joined, and the offset at which each line begins."""
    starts, lines = [], []
    offset = len(space)
    for line in note_text.split("\n"):
        starts.append(offset)
        if words := _fold(line).replace(" ", space):
            lines.append(words)
            offset += len(words) + len(space)
    return space + space.join(lines) + space, starts


def _fold(text: str) -> str:
    text = html.unescape(_ADDRESS.sub("", text))
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_INVISIBLE))
    return " ".join(_WORD.findall(text.casefold()))
