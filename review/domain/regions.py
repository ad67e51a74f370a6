"""Cuts a note into the parts a gate can watch, byte for byte: nothing of the text is left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from review.domain.markdown.document import read_markdown
from review.domain.markdown.frontmatter import parse_frontmatter

# What may be a heading of level 1, in the line that makes it one.
_H1_LINE = re.compile(r"(?:^|[\r\n]) {0,3}(?:#[ \t]|=+[ \t]*(?=[\r\n]|\Z))[^\r\n]*")
_LINE_END = re.compile(r"\r\n?|\n|\Z")


@dataclass(frozen=True, slots=True)
class Regions:
    """The watched parts of one text.

    `title` is the first H1 as it is written, marks included and its line end not; without an H1 it
    is the frontmatter's title. `title_text` are its words. `frontmatter` is the whole block with its
    marker lines (and a BOM), `body` what follows it less the H1, which stood at `title_offset` of
    the body. So `frontmatter + body[:title_offset] + title + body[title_offset:]` is the text again.
    """

    title: str
    title_text: str
    description: str
    frontmatter: str
    body: str
    title_offset: int | None = None


def regions_of(text: str) -> Regions:
    """Cut `text` up; an H1 is `# …` or a paragraph underlined with `=`."""
    matter = parse_frontmatter(text)
    offset = matter.body_offset or text.startswith("\ufeff")
    block, body = text[:offset], text[offset:]
    description = _scalar(matter.fields.get("description"))
    first = _H1_LINE.search(body)
    # The first that may be one usually is: nothing below it need be read.
    for piece in (body[: first.end()], body) if first else ():
        if found := _find_title(piece):
            start, end, words = found
            return Regions(
                body[start:end], words, description, block, body[:start] + body[end:], start
            )
    title = _scalar(matter.fields.get("title"))
    return Regions(title, title.strip(), description, block, body)


def _scalar(value: object) -> str:
    """Return a value that should be text as a gate sees it; a list must not look like no value."""
    return value if isinstance(value, str) else "" if value is None else repr(value)


def _find_title(body: str) -> tuple[int, int, str] | None:
    tokens = read_markdown(body).tokens
    for token, inline in pairwise(tokens):
        words = " ".join(inline.content.split())
        if token.tag == "h1" and token.type == "heading_open" and token.level == 0 and words:
            first, behind = token.map or (0, 1)
            ends = list(_LINE_END.finditer(body))
            return ends[first - 1].end() if first else 0, ends[behind - 1].start(), words
    return None
