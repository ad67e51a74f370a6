"""The blocks a rule thinks in, made of a reader's tokens: headings, paragraphs, items, tables."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from review.domain.markdown.anchors import shown_text
from review.domain.markdown.document import COMMENT, MARKER, MATH, MarkdownDocument

if TYPE_CHECKING:
    from markdown_it.token import Token

_UNESCAPED_PIPE = re.compile(r"(?<!\\)\|")
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


@dataclass(frozen=True)
class Block:
    """Consecutive lines of one kind; a paragraph in a quotation is a block of kind quote.

    `text` holds the lines joined by line feeds, without the marks of headings, items and
    quotations; of a table cell it is what stands in it, and `source` the row. `level` is a
    heading's, and 1 of a cell of a table's header; `inside` says what it stands in, the outermost first. `gap_before` tells of a blank
    line above.
    """

    kind: BlockKind
    line: int
    text: str
    level: int = 0
    inside: tuple[BlockKind, ...] = ()
    gap_before: bool = True
    source: str = ""
    token: Token | None = field(default=None, compare=False)
    last_line: int = 0

    @property
    def in_list(self) -> bool:
        return BlockKind.ITEM in self.inside

    @cached_property
    def words(self) -> str:
        """The words of a heading as they are shown: without marks, addresses and comments."""
        return shown_text(self.token).strip() if self.token else self.text

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line_at(self, offset: int) -> int:
        """Return the line of the note for the character at `offset` of `text`."""
        return self.line + bisect_right(self._line_starts, offset) - 1

    def excerpt(self, offset: int, *, before: int = 0) -> str:
        """Return a part of the line around `offset`: from its start if that is near, else from a word.

        `before` is how many characters may stand in front of `offset`; the end is cut too. Of a
        table cell it is the row.
        """
        if self.source:
            return self.source[:_LONGEST_EXCERPT]
        line_start = self._line_starts[bisect_right(self._line_starts, offset) - 1]
        start = max(line_start, offset - before)
        if line_start < start < offset:
            blank = self.text.find(" ", start, offset)
            start = blank + 1 if blank >= 0 else start
        return self.text[start : start + _LONGEST_EXCERPT].partition("\n")[0].strip()

    @property
    def lines(self) -> list[str]:
        """The lines of `text`."""
        return self.text.split("\n")


def read_blocks(document: MarkdownDocument, *, first_line: int) -> tuple[Block, ...]:
    """Return the blocks of a document whose first line has the number `first_line`."""
    return tuple(_Reader(document, first_line).blocks())


class _Reader:
    def __init__(self, document: MarkdownDocument, first_line: int) -> None:
        self._document = document
        self._lines: Sequence[str] = document.lines
        self._first_line = first_line
        self._inside: list[BlockKind] = []
        self._item_starts = False  # the next paragraph is the first of its list item
        self._level = 0
        self._in_table = False
        self._in_header = False

    def blocks(self) -> Iterator[Block]:
        for token in self._document.tokens:
            name, _, part = token.type.rpartition("_")
            if name in _CONTAINERS:
                self._enter_or_leave(name, part)
            elif name in ("table", "thead"):
                self._in_table = name == "thead" or part == "open"
                self._in_header = name == "thead" and part == "open"
            elif token.type == "heading_open":
                self._level = int(token.tag[1:])
            block = self._block_of(token)
            if block is not None:
                self._item_starts = False
                yield block

    def _enter_or_leave(self, name: str, part: str) -> None:
        if part == "open":
            self._inside.append(_CONTAINERS[name])
        else:
            self._inside.pop()
        self._item_starts = part == "open" and name == "list_item"

    def _block_of(self, token: Token) -> Block | None:
        if token.type == "inline" and token.map is not None:
            return self._text_block(token)
        if token.type not in _LEAVES or token.map is None:
            return None
        kind = _LEAVES[token.type]
        if token.type == "html_block" and _is_comment(token.content):
            kind = BlockKind.COMMENT
        text = "\n".join(self._lines[slice(*token.map)]).rstrip("\n")
        return self._made(token, kind, text)

    def _text_block(self, token: Token) -> Block:
        text = token.content
        if self._in_table:
            return self._made(token, BlockKind.CELL, text, level=int(self._in_header))
        level, self._level = self._level, 0
        if level:
            return self._made(token, BlockKind.HEADING, text, level=level)
        kind = self._inside[-1] if self._inside else BlockKind.PARAGRAPH
        if BlockKind.QUOTE in self._inside:
            kind = BlockKind.QUOTE
        elif kind is BlockKind.DEFINITION or (kind is BlockKind.ITEM and not self._item_starts):
            kind = BlockKind.PARAGRAPH
        elif kind is BlockKind.ITEM and (task := _TASK.match(text)):
            text = " " * task.end() + text[task.end() :]
        return self._made(token, kind, text)

    def _made(self, token: Token, kind: BlockKind, text: str, *, level: int = 0) -> Block:
        start, end = token.map or (0, 0)
        above = self._lines[start - 1] if start else ""
        return Block(
            kind=kind,
            line=self._first_line + start,
            text=text,
            level=level,
            inside=tuple(self._inside),
            gap_before=not above.strip("> \t"),
            source=self._lines[start].strip() if kind is BlockKind.CELL else "",
            token=token,
            last_line=self._first_line + end - 1,
        )


def _is_comment(html: str) -> bool:
    return html.lstrip().startswith("<!--") and html.rstrip().endswith("-->")


def split_cells(row: str) -> list[str]:
    """Split a table row at its pipes as GitHub does: only a backslash protects one."""
    row = row.strip()
    row = row.removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return _UNESCAPED_PIPE.split(row)
