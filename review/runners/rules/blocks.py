"""The blocks a rule thinks in: headings, paragraphs, items, tables."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

_DELIMITER_CELL = re.compile(r":?-+:?")
_UNESCAPED_PIPE = re.compile(r"(?<!\\)\|")
_LONGEST_EXCERPT = 600


class BlockKind(Enum):
    """What a block is to a reader."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    ITEM = "item"
    QUOTE = "quote"
    CODE = "code"
    TABLE = "table"
    HTML = "html"
    MATH = "math"
    RULE = "rule"
    FOOTNOTE = "footnote"
    DEFINITION = "definition"


@dataclass(frozen=True)
class Block:
    """Consecutive lines of one kind.

    `text` holds them joined by line feeds, with markers of headings and items blanked. `level` is
    a heading's level; `in_list` holds for items and for what is indented below them.
    """

    kind: BlockKind
    line: int
    text: str
    level: int = 0
    in_list: bool = False
    gap_before: bool = True

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def line_at(self, offset: int) -> int:
        """Give the line of the note that the character at `offset` of `text` stands in."""
        return self.line + bisect_right(self._line_starts, offset) - 1

    def excerpt(self, offset: int, *, before: int = 0) -> str:
        """Give a part of the line around `offset`: from its start if that is near, else from a word.

        `before` is how many characters may stand in front of `offset`; the end is cut too.
        """
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


def split_cells(row: str) -> list[str]:
    """Split a table row at its pipes as GitHub does: only a backslash protects one."""
    row = row.strip()
    row = row.removeprefix("|")
    if row.endswith("|") and not row.endswith("\\|"):
        row = row[:-1]
    return _UNESCAPED_PIPE.split(row)


def is_delimiter_row(line: str) -> bool:
    """Whether a line is the row of dashes below a table's header."""
    if "|" not in line or "-" not in line or line.strip("|:- \t"):
        return False
    return all(_DELIMITER_CELL.fullmatch(cell.strip()) for cell in split_cells(line))
