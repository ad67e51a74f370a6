"""Walks the lines of a review and says where each stands: in the body, a list item, a quotation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from review.domain.markdown_lines import Line, iter_lines

_LIST_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)")
_HTML_OPENER = re.compile(r"<(!--|(?:pre|script|style|textarea|blockquote)(?=[\s>]|$))", re.I)
# Tags without attributes that only dress a line up, or name what it says.
_SIMPLE_TAG = re.compile(
    r"</?(?:b|strong|i|em|u|p|div|span|big|small|center|mark|h[1-6]|result|verdict|outcome|decision)>",
    re.I,
)
_METADATA = re.compile(r"[\w-]+[ \t]*:(?=[ \t]|$)|[ \t]+\S|#|-[ \t]")
_TOP_BLOCK_CHARACTERS = 2_000
_TOP_BLOCK_LINES = 20
_MAX_HEADING = 6
_CODE_INDENT = 4
_BREAK_MARKS = 3
_RULE_CHARS = "-*_="
# A byte order mark and the characters without width, as editors and browsers leave them at an edge.
_EDGE = " \t\r\v\f\u00a0\ufeff\u200b\u200c\u200d\u2060"
_TAB = 4


class Place(Enum):
    """What a line belongs to; only a line of the body can declare a decision."""

    BODY = "the body"
    FENCE = "a code fence"
    QUOTE = "a quotation"
    HIDDEN = "an HTML comment or element"
    LIST = "a list item"
    TABLE = "a table"
    CODE = "indented code"


class ReviewLine(NamedTuple):
    """A line that is not blank; `text` without outer spaces and without the marks of a heading.

    `level` is 0 where it is no heading. `starts` holds for the first line of a paragraph;
    `before` is the line above it in the same paragraph, else empty.
    """

    number: int
    text: str
    place: Place
    level: int
    starts: bool
    before: str
    indented: bool


def walk_review(text: str) -> Iterator[ReviewLine]:
    """Yield the lines of a review that are not blank, rules and underlines of headings left out.

    Fenced and quoted lines are passed over as if they were absent when the others are placed, so
    a fenced or quoted copy of anything changes nothing around it. A line right under a quoted
    paragraph continues it, as in CommonMark 0.31.2, section 5.1.
    """
    walker = _Walker(last_comment_end=text.rfind("-->"))
    for line in iter_lines(text):
        found = walker.place(line)
        if found is not None:
            yield found


def end_of_top_block(text: str) -> int:
    """Give the number of the line that ends a small block of metadata at the top, 0 for none."""
    opened = False
    for line in iter_lines(text[:_TOP_BLOCK_CHARACTERS]):
        if line.in_fence or line.in_quote:
            continue
        stripped = line.text.strip(_EDGE)
        if not opened:
            opened = stripped == "---"
            if stripped and not opened:
                return 0
        elif stripped in ("---", "..."):
            return line.number if line.number <= _TOP_BLOCK_LINES else 0
        elif not _METADATA.match(line.text):
            return 0
    return 0


class _Walker:
    """Remembers the paragraph, the list and the HTML element that the next line may continue."""

    def __init__(self, *, last_comment_end: int) -> None:
        self._last_comment_end = last_comment_end
        self._before = ""  # the line above, empty at the start of a paragraph
        self._in_quoted_paragraph = False
        self._item_column: int | None = None
        self._closer = ""  # what ends the HTML that hides the lines

    def place(self, line: Line) -> ReviewLine | None:
        text = line.text.strip(_EDGE)
        if line.in_fence or line.in_quote:
            inner = text.lstrip("> \t")
            if line.in_quote and not line.in_fence and inner[:1] != "#":
                self._in_quoted_paragraph = inner != ""
            place = Place.QUOTE if line.in_quote else Place.FENCE
            return ReviewLine(line.number, text, place, 0, False, "", False) if text else None
        if not text:
            self._before = ""
            self._in_quoted_paragraph = False
            return None
        return self._visible(line, text)

    def _visible(self, line: Line, text: str) -> ReviewLine | None:
        if self._hides(line, text):
            return ReviewLine(line.number, text, Place.HIDDEN, 0, False, "", False)
        if "<" in text:
            text = _SIMPLE_TAG.sub("", text).strip(_EDGE)
            if not text:
                return None
        if text.startswith("**#") and text.endswith("**"):
            text = text[2:-2].strip(_EDGE)
        level, title = _heading(text)
        if self._in_quoted_paragraph and not level and not _LIST_MARKER.match(text):
            return ReviewLine(line.number, text, Place.QUOTE, 0, False, "", False)
        self._in_quoted_paragraph = False
        if _is_rule(text):
            self._before = ""
            self._item_column = None if text[0] != "=" else self._item_column
            return None
        column = _column(line.text)
        place = self._container(text, column, is_heading=bool(level))
        before, self._before = self._before, "" if level else text
        return ReviewLine(line.number, title, place, level, not before, before, column > 0)

    def _hides(self, line: Line, text: str) -> bool:
        """Whether HTML hides this line; a comment opened late in a line hides the next ones."""
        if self._closer:
            if self._closer in text.lower():
                self._closer = ""
            return True
        opener = _HTML_OPENER.match(text)
        if opener is not None:
            name = opener[1].lower()
            closer = "-->" if name == "!--" else f"</{name}"
            if closer not in text.lower():
                self._closer = closer
            return True
        opened = text.rfind("<!--")
        if opened >= 0 and text.find("-->", opened) < 0 and not text.count("`", 0, opened) % 2:
            self._closer = "-->" if self._last_comment_end > line.start else ""
        return False

    def _container(self, text: str, column: int, *, is_heading: bool) -> Place:
        if self._item_column is not None and column >= self._item_column:
            return Place.LIST
        marker = None if is_heading else _LIST_MARKER.match(text)
        if marker is not None and (column < _CODE_INDENT or self._item_column is not None):
            self._item_column = column + len(marker[0]) + 1
            return Place.LIST
        if self._item_column is not None and self._before and not is_heading:
            return Place.LIST  # continues the item's paragraph, though it is not indented
        self._item_column = None
        if column >= _CODE_INDENT:
            return Place.CODE
        return Place.TABLE if text[0] == "|" else Place.BODY


def _heading(text: str) -> tuple[int, str]:
    """The level of a heading and its title; `##Title` counts, models write it."""
    title = text.lstrip("#")
    level = len(text) - len(title)
    if not level or level > _MAX_HEADING or (level == 1 and title[:1].strip()):
        return 0, text
    return level, title.rstrip("# \t").strip(_EDGE)


def _is_rule(text: str) -> bool:
    if text[0] not in _RULE_CHARS:
        return False
    marks = text.replace(" ", "").replace("\t", "")
    return len(marks) >= _BREAK_MARKS and not marks.strip(marks[0])


def _column(text: str) -> int:
    column = 0
    for char in text:
        if char == "\t":
            column += _TAB - column % _TAB
        elif char == " ":
            column += 1
        else:
            return column
    return column
