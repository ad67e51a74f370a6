"""Cuts a note into the parts a gate can watch, byte for byte: nothing of the text is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from review.domain.markdown.frontmatter import Frontmatter, parse_frontmatter
from review.domain.markdown.lines import Line, iter_lines

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
    block, body = text[: matter.body_offset], text[matter.body_offset :]
    description = _scalar(matter.fields.get("description"))
    found = _find_title(body)
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
    """What a gate sees of a value that should have been text; a list must not look like none."""
    return value if isinstance(value, str) else "" if value is None else repr(value)


def _find_title(body: str) -> tuple[int, int] | None:
    if "#" not in body and "=" not in body:
        return None
    skipped = 1 if body.startswith("\ufeff") else 0
    # A line may end with a lone carriage return; replacing it keeps every offset.
    lines = _LONE_CR.sub("\n", body[skipped:]) if "\r" in body else body[skipped:]
    reader = _TitleReader()
    for line in iter_lines(lines):
        start = reader.title_start(line)
        if start is not None:
            return start + skipped, line.start + len(line.text) + skipped
    return None


class _TitleReader:
    """Remembers where the open paragraph began, and whether one can begin here at all."""

    def __init__(self) -> None:
        self._paragraph: int | None = None
        self._blocked = False  # in a list, table or HTML block: until the next blank line
        self._comment = False

    def title_start(self, line: Line) -> int | None:
        """Where the title starts that this line ends; `None` if it ends none."""
        if self._is_hidden(line) or not line.text.strip():
            self._paragraph = None
            self._blocked = line.in_quote
            return None
        if _ATX_H1.match(line.text):
            return line.start
        if self._paragraph is None or (underline := _UNDERLINE.match(line.text)) is None:
            self._read_on(line)
            return None
        start, self._paragraph = self._paragraph, None
        return start if underline[1] else None

    def _is_hidden(self, line: Line) -> bool:
        if line.in_fence or line.in_quote:
            return True
        hidden = self._comment or line.text.lstrip().startswith("<!--")
        self._comment = hidden and "-->" not in line.text
        return hidden

    def _read_on(self, line: Line) -> None:
        """Go on with a paragraph, or begin one, or notice that none can begin."""
        if _HEADING_OR_RULE.match(line.text):
            self._paragraph = None
            self._blocked = False
        elif self._paragraph is None and not self._blocked:
            self._blocked = _OTHER_BLOCK.match(line.text) is not None
            self._paragraph = None if self._blocked else line.start
