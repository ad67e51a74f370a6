"""Cuts a note into the parts a gate can watch, byte for byte: nothing of the text is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from review.domain.markdown.frontmatter import Frontmatter, parse_frontmatter
from review.domain.markdown.lines import iter_lines

_ATX_H1 = re.compile(r" {0,3}#[ \t]+[^ \t]")
_HEADING_OR_RULE = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|$)|([-*_])[ \t]*(?:\1[ \t]*){2,}$)")
_OTHER_BLOCK = re.compile(r" {0,3}(?:[-+*][ \t]|\d{1,9}[.)][ \t]|[|<])|(?: {4}| {0,3}\t)")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-+)[ \t]*$")
_BLANKS = " \t"
_LONE_CR = re.compile(r"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Regions:
    """The watched parts of one text.

    `title` is the first H1 as it is written, marks included and its line end not; without an H1 it
    is the frontmatter's title. `frontmatter` is the whole block with its marker lines (and a BOM),
    `body` what follows it less the H1, which stood at `title_offset` of the body. So
    `frontmatter + body[:title_offset] + title + body[title_offset:]` is the text again.
    """

    title: str
    description: str
    frontmatter: str
    body: str
    title_offset: int | None = None

    @property
    def title_text(self) -> str:
        """The title in words, without heading marks."""
        if self.title_offset is None:
            return self.title.strip()
        if _ATX_H1.match(self.title):
            return _without_marks(self.title)
        return " ".join(self.title.split()[:-1])


def regions_of(text: str, frontmatter: Frontmatter | None = None) -> Regions:
    """Cut `text` up; `frontmatter` is what `parse_frontmatter(text)` gave, if it is at hand.

    An H1 is `# …` or a paragraph underlined with `=`, outside fences, quotations and comments.
    """
    matter = frontmatter if frontmatter is not None else parse_frontmatter(text)
    offset = matter.body_offset or text.startswith("\ufeff")
    block, body = text[:offset], text[offset:]
    description = _scalar(matter.fields.get("description"))
    found = _find_title(body) if "#" in body or "=" in body else None
    if found is None:
        return Regions(_scalar(matter.fields.get("title")), description, block, body)
    start, end = found
    return Regions(body[start:end], description, block, body[:start] + body[end:], start)


def _without_marks(heading: str) -> str:
    """The words of an ATX heading of level 1. By hand: an expression that looks for blanks at the
    end of a line tries every blank of a long run, and all that follow it, again."""
    text = heading.lstrip(" ")[1:].strip(_BLANKS)
    words = text.rstrip("#")
    return words.rstrip(_BLANKS) if words.endswith((" ", "\t")) else text


def _scalar(value: object) -> str:
    """Return a value that should be text as a gate sees it; a list must not look like no value."""
    return value if isinstance(value, str) else "" if value is None else repr(value)


def _find_title(body: str) -> tuple[int, int] | None:
    # A line may end with a lone carriage return; replacing it keeps every offset.
    lines = _LONE_CR.sub("\n", body)
    start: int | None = None  # of the open paragraph
    blocked = comment = False  # in a list, table or HTML block, until the next blank line
    for line in iter_lines(lines):
        hidden = comment or line.text.lstrip().startswith("<!--")
        comment = hidden and "-->" not in line.text
        if hidden or line.in_fence or line.in_quote or not line.text.strip():
            start, blocked = None, line.in_quote
        elif _ATX_H1.match(line.text):
            return line.start, line.start + len(line.text)
        elif start is not None and (underline := _UNDERLINE.match(line.text)):
            if underline[1]:
                return start, line.start + len(line.text)
            start = None
        elif _HEADING_OR_RULE.match(line.text):
            start, blocked = None, False
        elif start is None and not blocked:
            blocked = _OTHER_BLOCK.match(line.text) is not None
            start = None if blocked else line.start
    return None
