"""Finds the lines of a note where a quote stands, though the quote is rarely exact."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple, Protocol

from review.domain.finding_identity import Reported, say_the_same
from review.domain.line_alignment import align_lines, headings_by_line

_WORD = re.compile(r"[^\W_]+")
_UNSEEN = dict.fromkeys((0x00AD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
_ELLIPSIS = re.compile(r"\.\.\.|\u2026")
_BLOCK_MARK = re.compile(r"#{1,6} |>|[-*+|] ")
# A shorter part of a broken quote ("the", "see") may stand anywhere.
_TELLING = 12
_PARTS_TRIED_ALONE = 2
# Writing without spaces between words is broken over lines anywhere.
_SPACED_SCRIPTS_END = 0x2E80
# A quote that stands in more places than this is placed nowhere.
_MAX_PLACES = 2_000

_LINE_NUMBER = re.compile(
    r"\b(?:lines?|ll?\.|zeilen?|lignes?|l[ií]neas?|linhas?|строк[аеи])\s*#?(\d{1,6})"
    r"(?:\s*[-\u2013]\s*(\d{1,6}))?|\bL(\d{1,6})\b",
    re.IGNORECASE,
)
# A line that is named beside one of these is the other place, with which this one is compared.
_COMPARES = re.compile(
    r"\b(?:already|again|repeat|duplicat|same as|restat|earlier|like the)", re.IGNORECASE
)
_BEFORE_HEADING = (
    r"(?:[\"'`*#\u201c\u2018\u00ab(]\s*|\b(?:section|heading|under|in|below|chapter)\s+(?:the\s+)?)"
)
_AFTER_HEADING = r"\s+(?:section|heading|chapter|subsection)\b"
_FRONTMATTER_WORD = re.compile(r"\bfront[ -]?matter\b|\bmetadata\b", re.IGNORECASE)
_KEY = re.compile(r"(\w[\w -]{0,40}):")


class PlacedFinding(Reported, Protocol):
    """A finding whose line may be known."""

    @property
    def line(self) -> int | None: ...


class _Index(NamedTuple):
    """The words of a note, folded and joined, and the offset at which each line begins."""

    words: str
    starts: array[int]

    def line_at(self, offset: int) -> int:
        return bisect_right(self.starts, offset)


@lru_cache(maxsize=256)
def quote_lines(note_text: str, quote: str) -> tuple[int, ...]:
    """Give all lines of the note, from 1, where the quote begins, in linear time.

    What is nearest to the letter counts: a whole line with its mark (`# Title`), else the words in
    their case, else without regard to case. Spaces, line wraps, punctuation, markup and quotation
    marks may differ, and an ellipsis may leave words out.
    """
    quote = quote.strip()
    lines = [line.removesuffix("\r") for line in note_text.split("\n")]
    if not _WORD.search(quote):
        return tuple(number for number, line in enumerate(lines, 1) if quote and quote in line)
    if _BLOCK_MARK.match(quote) and quote in lines:
        return tuple(number for number, line in enumerate(lines, 1) if quote == line)
    return _lines_of_words(note_text, quote, False) or _lines_of_words(note_text, quote, True)


def locate_findings(note_text: str, findings: Sequence[PlacedFinding]) -> list[int | None]:
    """Give the line where each finding of one review stands; None where several are as likely.

    The finding's own line; else, of the places of its quote, that of a line number or heading which the text names; that between
    the findings before and after it, of a review that goes through the note from top to bottom; and
    where as many findings say the same of a quote as it has places, they have one each.
    """
    places = [
        (item.line,) if item.line else quote_lines(note_text, item.quote) for item in findings
    ]
    places = [
        _named_places(note_text, item, lines) if len(lines) > 1 else lines
        for item, lines in zip(findings, places, strict=True)
    ]
    places = _one_each(findings, places)
    return [lines[0] if len(lines) == 1 else None for lines in _in_order(places)]


def follow_quote(before: str, after: str, *, quote: str, line: int | None) -> int | None:
    """Give the line in `after` of a quote that stood on `line` of `before`; None if it is gone."""
    if before == after:
        return line
    now = quote_lines(after, quote)
    then = quote_lines(before, quote)
    if len(now) == 1 and len(then) <= 1:
        return now[0]
    if not now or line is None:
        return None
    aligned = align_lines(before, after)
    here = [place for place in now if place in aligned.follow(line)]
    if not here:
        others = [aligned.follow(place) for place in then if place != line]
        here = [place for place in now if not any(place in lines for lines in others)]
    return here[0] if len(here) == 1 else None


def _named_places(
    note_text: str, finding: PlacedFinding, lines: tuple[int, ...]
) -> tuple[int, ...]:
    """Those of the places that the finding's text names best; all of them if it names none."""
    for found in _LINE_NUMBER.finditer(finding.text):
        first = int(found[1] or found[3])
        named = tuple(line for line in lines if first <= line <= int(found[2] or first))
        if len(named) == 1 and _COMPARES.search(finding.text):
            lines = tuple(line for line in lines if line not in named)
        elif len(named) == 1:
            return named
    lines = _of_frontmatter_or_body(note_text, finding.text, lines)
    headings = headings_by_line(note_text)
    names = {name for line in lines for above in headings[line - 1 : line] for name in above}
    named_headings = {name for name in names if _names_heading(finding, name)}
    counts = [len(named_headings.intersection(*headings[line - 1 : line])) for line in lines]
    return tuple(line for line, count in zip(lines, counts, strict=True) if count == max(counts))


def _names_heading(finding: PlacedFinding, heading: str) -> bool:
    """Whether the text names a heading: a single word only if it is set apart as one."""
    words = heading.strip("*_` ")
    if not _WORD.search(words) or words.casefold() in finding.quote.casefold():
        return False
    name = rf"(?<!\w){re.escape(words)}(?!\w)"
    if len(words.split()) > 1:
        return re.search(name, finding.text, re.IGNORECASE) is not None
    set_apart = rf"{_BEFORE_HEADING}{name}|{name}{_AFTER_HEADING}"
    return re.search(set_apart, finding.text, re.IGNORECASE) is not None


def _of_frontmatter_or_body(note_text: str, text: str, lines: tuple[int, ...]) -> tuple[int, ...]:
    """Places in the body come first, unless the text speaks of the frontmatter or of the key."""
    end = _frontmatter_end(note_text)
    above = tuple(line for line in lines if line <= end)
    body = lines[len(above) :]
    if not above or not body:
        return lines
    if _FRONTMATTER_WORD.search(text):
        return above
    rows = note_text.split("\n", end)
    keys = {line: found[1] for line in above if (found := _KEY.match(rows[line - 1]))}
    named = tuple(
        line
        for line, key in keys.items()
        if key != "title" and re.search(rf"\b{re.escape(key)}\b", text, re.IGNORECASE)
    )
    return named or body


def _frontmatter_end(note_text: str) -> int:
    """The last line of the frontmatter; 0 where there is none."""
    mark = note_text[:3]
    if mark not in ("---", "+++"):
        return 0
    end = note_text.find(f"\n{mark}", 3)
    return 0 if end < 0 else note_text.count("\n", 0, end) + 2


def _one_each(
    findings: Sequence[PlacedFinding], places: list[tuple[int, ...]]
) -> list[tuple[int, ...]]:
    groups: dict[tuple[int, ...], list[int]] = {}
    for position, lines in enumerate(places):
        if len(lines) > 1:
            groups.setdefault(lines, []).append(position)
    found = list(places)
    for lines, positions in groups.items():
        quotes = {findings[position].quote for position in positions}
        settled = {
            place[0]
            for item, place in zip(findings, places, strict=True)
            if len(place) == 1 and item.quote in quotes
        }
        free = [line for line in lines if line not in settled]
        first = findings[positions[0]]
        if len(free) == len(positions) and all(
            say_the_same(first, findings[position]) for position in positions
        ):
            for position, line in zip(positions, free, strict=True):
                found[position] = (line,)
    return found


def _in_order(places: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Narrow places to those between their neighbours, if the review follows the note."""
    settled = [(position, lines[0]) for position, lines in enumerate(places) if len(lines) == 1]
    lines_in_order = [line for _position, line in settled]
    if lines_in_order != sorted(lines_in_order) or len(set(lines_in_order)) < 2:
        return places
    positions = [position for position, _line in settled]
    found = []
    for position, lines in enumerate(places):
        at = bisect_right(positions, position)
        low = lines_in_order[at - 1] if at else 0
        high = lines_in_order[at] if at < len(positions) else None
        between = tuple(line for line in lines if line >= low and (high is None or line <= high))
        found.append(between or lines)
    return found


def _lines_of_words(note_text: str, quote: str, ignore_case: bool) -> tuple[int, ...]:
    parts = [words for part in _ELLIPSIS.split(quote) if (words := _fold(part, ignore_case))]
    index = _index_of(note_text, " ", ignore_case)
    found = _lines_of_parts(index, parts)
    if not found and len(parts) > 1 and ignore_case:
        telling = [part for part in parts if len(part) >= _TELLING][:_PARTS_TRIED_ALONE]
        alone = (_lines_of_parts(index, [part]) for part in telling)
        found = next((lines for lines in alone if lines), ())
    if found or all(ord(char) < _SPACED_SCRIPTS_END for char in parts[0]):
        return found
    unspaced = _index_of(note_text, "", ignore_case)
    return _lines_of_parts(unspaced, [part.replace(" ", "") for part in parts])


def _lines_of_parts(index: _Index, parts: list[str]) -> tuple[int, ...]:
    """The lines where the parts stand in order, as whole words if they stand anywhere so."""
    for framed in (True, False):
        places = islice(_find_each(index.words, parts, framed=framed), _MAX_PLACES)
        if lines := tuple(dict.fromkeys(index.line_at(offset) for offset in places)):
            return lines
    return ()


def _find_each(words: str, parts: list[str], *, framed: bool) -> Iterator[int]:
    """Each place where the first part stands and the others follow; the nearest such start."""
    frame = " " if framed else ""
    wanted = [f"{frame}{part}{frame}" for part in parts]
    start = 0
    while (first := words.find(wanted[0], start)) >= 0:
        end = first + len(wanted[0]) - len(frame)
        second = -1
        for part in wanted[1:]:
            if (found := words.find(part, end)) < 0:
                return
            second = found if second < 0 else second
            end = found + len(part) - len(frame)
        nearest = first if second < 0 else words.rfind(wanted[0], first, second + len(frame))
        yield max(first, nearest) + len(frame)
        start = end


@lru_cache(maxsize=4)
def _index_of(note_text: str, space: str, ignore_case: bool) -> _Index:
    starts = array("q")
    lines = []
    offset = len(space)
    for line in note_text.split("\n"):
        starts.append(offset)
        if words := _fold(line, ignore_case).replace(" ", space):
            lines.append(words)
            offset += len(words) + len(space)
    return _Index(space + space.join(lines) + space, starts)


def _fold(text: str, ignore_case: bool) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_UNSEEN))
    return " ".join(_WORD.findall(text.casefold() if ignore_case else text))
