"""The blocks a rule thinks in, made of a reader's tokens: headings, paragraphs, items, tables."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from review.domain.markdown.anchors import shown_text
from review.domain.markdown.document import COMMENT, MARKER, MATH, MarkdownDocument
from review.protocol.typed_review import TypedFinding
from review.runners.rules.inline import Inline, InlineLink, read_inline
from review.runners.rules.words import safe_quote
from review.vocabulary import Severity

if TYPE_CHECKING:
    from markdown_it.token import Token

_TASK = re.compile(r"\[[ xX]\][ \t]")
_LONGEST_EXCERPT = 600


class BlockKind(Enum):
    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    QUOTE = "quote"
    FOOTNOTE = "footnote"
    CODE = "code"
    TABLE = "table"
    HEADER = "header"  # a cell
    CELL = "cell"
    HTML = "html"
    COMMENT = "comment"
    MATH = "math"
    RULE = "rule"
    MARKER = "marker"
    TERM = "term"
    DEFINITION = "definition"


_LEAVES = {
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "table_open": BlockKind.TABLE,
    "html_block": BlockKind.HTML,
    "hr": BlockKind.RULE,
    f"{MATH}_block": BlockKind.MATH,
    f"{COMMENT}_block": BlockKind.COMMENT,
    MARKER: BlockKind.MARKER,
}
_CONTAINERS = {
    "list_item": BlockKind.ITEM,
    "blockquote": BlockKind.QUOTE,
    "footnote_reference": BlockKind.FOOTNOTE,
    "dt": BlockKind.TERM,
    "dd": BlockKind.DEFINITION,
}
_FRAMES = {"heading": BlockKind.HEADING, "th": BlockKind.HEADER, "td": BlockKind.CELL}


@dataclass(frozen=True)
class Block:
    """Consecutive lines of one kind; a paragraph in a quotation is a block of kind quote.

    `text` holds the lines joined by line feeds, without the marks of headings, items and
    quotations; of a table cell it is what stands in it, and `row` its line. `level` is a heading's;
    `inside` says what it stands in, the outermost first. `gap_before` tells of a blank line above.
    """

    kind: BlockKind
    line: int
    last_line: int
    text: str
    token: Token = field(compare=False)
    level: int = 0
    inside: tuple[BlockKind, ...] = ()
    gap_before: bool = True
    row: str = ""

    @cached_property
    def words(self) -> str:
        """The words of a heading as they are shown: without marks, addresses and comments."""
        return shown_text(self.token).strip()

    @cached_property
    def inline(self) -> Inline:
        """The inline markup of a block of text."""
        return read_inline(self.text, self.token)

    @property
    def prose(self) -> str:
        """Its text with code, addresses and images made opaque; offsets are those of the text."""
        return self.inline.masked

    @property
    def links(self) -> list[InlineLink]:
        """The links that lead somewhere: no images, embeds and footnotes."""
        return self.inline.links

    def link_at(self, offset: int) -> InlineLink | None:
        """Return the link that covers an offset of the text."""
        before = bisect_right(self.links, offset, key=lambda link: link.start)
        link = self.links[before - 1] if before else None
        return link if link and offset < link.end else None

    @property
    def lines(self) -> list[str]:
        """The lines of `text`."""
        return self.text.split("\n")

    def line_at(self, offset: int) -> int:
        """Return the line of the note for the character at `offset` of `text`."""
        return self.line + self.text.count("\n", 0, offset)

    def finding(
        self,
        said: str,
        at: int = 0,
        *,
        before: int = 0,
        end: int | None = None,
        severity: Severity = Severity.WARN,
    ) -> TypedFinding:
        """Make a finding that quotes the line around an offset of the text; of a cell, the row.

        :param before: how many characters in front of the offset may be quoted, in whole words.
        :param end: an offset that the quote stops at.
        """
        start = self.text.rfind("\n", 0, at) + 1
        if at - before > start:
            start = self.text.find(" ", at - before, at) + 1 or at - before
        cut = start + _LONGEST_EXCERPT if end is None else end
        quote = self.row or self.text[start:cut].lstrip().partition("\n")[0]
        return TypedFinding(severity, said, safe_quote(quote), self.line_at(at))


def read_blocks(document: MarkdownDocument, *, first_line: int) -> Iterator[Block]:
    """Yield the blocks of a document whose first line has the number `first_line`."""
    lines = document.lines
    inside: list[BlockKind] = []
    frame: BlockKind | None = None  # of a heading or a cell
    starts_item = False  # the next paragraph is the first of its list item
    level = 0
    for token in document.tokens:
        name, _, part = token.type.rpartition("_")
        if name in _FRAMES:
            frame = _FRAMES[name] if part == "open" else None
            level = int(token.tag[1:]) if frame is BlockKind.HEADING else 0
        elif name in _CONTAINERS:
            if part == "open":
                inside.append(_CONTAINERS[name])
            else:
                inside.pop()
            starts_item = token.type == "list_item_open"
        if token.map is None or (token.type != "inline" and token.type not in _LEAVES):
            continue
        start, end = token.map
        if token.type == "inline":
            kind = frame or _kind_of_text(inside, starts_item=starts_item)
            task = _TASK.match(token.content) if kind is BlockKind.ITEM else None
            blanks = task.end() if task else 0
            text = " " * blanks + token.content[blanks:]
        else:
            kind = BlockKind.COMMENT if _is_comment(token) else _LEAVES[token.type]
            text = "\n".join(lines[start:end]).rstrip("\n")
        is_cell = kind in (BlockKind.CELL, BlockKind.HEADER)
        starts_item = False
        yield Block(
            kind=kind,
            line=first_line + start,
            last_line=first_line + end - 1,
            text=text,
            token=token,
            level=level,
            inside=tuple(inside),
            gap_before=not (lines[start - 1] if start else "").strip("> \t"),
            row=lines[start].strip() if is_cell else "",
        )


def _kind_of_text(inside: list[BlockKind], *, starts_item: bool) -> BlockKind:
    if BlockKind.QUOTE in inside:
        return BlockKind.QUOTE
    kind = inside[-1] if inside else BlockKind.PARAGRAPH
    is_further = kind is BlockKind.ITEM and not starts_item
    return BlockKind.PARAGRAPH if is_further or kind is BlockKind.DEFINITION else kind


def _is_comment(token: Token) -> bool:
    html = token.content.strip() if token.type == "html_block" else ""
    return html.startswith("<!--") and html.endswith("-->")
