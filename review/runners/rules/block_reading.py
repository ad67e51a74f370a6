"""Groups the lines of a body into blocks, as CommonMark would as far as the rules need it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from review.domain.markdown_lines import Line
from review.runners.rules.blocks import Block, BlockKind, is_delimiter_row
from review.runners.rules.word_lists import INLINE_TAGS

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_CLOSING_MARKS = re.compile(r"(?:^|[ \t])#+$")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])([ \t]+|$)")
_TASK = re.compile(r"\[[ xX]\][ \t]")
_FOOTNOTE = re.compile(r" {0,3}\[\^([^\s\[\]^]+)\]:")
_DEFINITION = re.compile(r" {0,3}\[([^\[\]]+)\]:[ \t]*+(?:<[^<>]*+>|\S++)[ \t]*+(?:$|[\"'(])")
_TAG = re.compile(r" {0,3}</?([A-Za-z][A-Za-z0-9-]*)(?=[\s/>]|$)")
_TEMPLATE_MARKER = re.compile(r"[ \t]*(?:\{%|\{\{[<%]|:::)")
_RAW_TAGS = frozenset({"pre", "script", "style", "textarea"})
_CODE_INDENT = 4
_UNDERLINE_WIDTH = 2
_RULE_MARKS = 3


def read_blocks(lines: Sequence[Line]) -> tuple[Block, ...]:
    """Group the lines of a body (its frontmatter left out) into blocks; any text gives some."""
    reader = _BlockReader(lines)
    reader.read()
    return tuple(reader.blocks)


class _BlockReader:
    def __init__(self, lines: Sequence[Line]) -> None:
        self.blocks: list[Block] = []
        self._lines = lines
        self._index = 0
        self._after_blank = True
        self._item_column: int | None = None  # where the content of the last list item starts

    def read(self) -> None:
        while self._index < len(self._lines):
            line = self._lines[self._index]
            if not line.in_fence and not line.text.strip():
                self._index += 1
                self._after_blank = True
            else:
                self._read_block(line)
                self._after_blank = False

    def _read_block(self, line: Line) -> None:
        self._leave_list(line)
        for reads in (
            self._code,
            self._quote,
            self._indented,
            self._heading,
            self._thematic_break,
            self._item,
            self._table,
            self._html,
            self._math,
            self._label,
        ):
            if reads(line):
                return
        self._paragraph(line)

    def _leave_list(self, line: Line) -> None:
        if self._after_blank and self._item_column is not None and not line.in_fence:
            marker = _ITEM.match(line.text)
            if marker is None and _indent(line.text) < min(self._item_column, 2):
                self._item_column = None

    def _add(self, kind: BlockKind, end: int, *, level: int = 0, text: str | None = None) -> bool:
        taken = self._lines[self._index : end]
        self.blocks.append(
            Block(
                kind=kind,
                line=taken[0].number,
                text="\n".join(line.text for line in taken) if text is None else text,
                level=level,
                in_list=self._item_column is not None,
                gap_before=self._after_blank,
            )
        )
        self._index = end
        return True

    def _code(self, line: Line) -> bool:
        if not line.in_fence:
            return False
        end = self._index + 1
        while end < len(self._lines) and self._continues_fence(end):
            end += 1
        if line.is_fence_marker and end < len(self._lines) and self._lines[end].is_fence_marker:
            end += 1
        return self._add(BlockKind.CODE, end)

    def _continues_fence(self, index: int) -> bool:
        return self._lines[index].in_fence and not self._lines[index].is_fence_marker

    def _quote(self, line: Line) -> bool:
        if not line.in_quote:
            return False
        end = self._index + 1
        while end < len(self._lines) and self._lines[end].in_quote:
            end += 1
        return self._add(BlockKind.QUOTE, end)

    def _indented(self, line: Line) -> bool:
        least = _CODE_INDENT + (self._item_column or 0)
        if not self._after_blank or _indent(line.text) < least:
            return False
        if self._item_column is not None and _ITEM.match(line.text):
            return False
        end = self._index + 1
        while end < len(self._lines) and _is_indented_text(self._lines[end], least):
            end += 1
        return self._add(BlockKind.CODE, end)

    def _heading(self, line: Line) -> bool:
        found = _HEADING.match(line.text)
        if found is None:
            return False
        self._item_column = None
        text = _CLOSING_MARKS.sub("", (found[2] or "").rstrip()).strip()
        return self._add(BlockKind.HEADING, self._index + 1, level=len(found[1]), text=text)

    def _thematic_break(self, line: Line) -> bool:
        return _is_thematic_break(line.text) and self._add(BlockKind.RULE, self._index + 1)

    def _item(self, line: Line) -> bool:
        marker = _ITEM.match(line.text)
        if marker is None:
            return False
        self._item_column = _indent(line.text) + len(marker[2]) + max(1, len(marker[3]))
        end = self._paragraph_end(self._index + 1)
        task = _TASK.match(line.text, marker.end())
        content = task.end() if task else marker.end()
        rest = [following.text for following in self._lines[self._index + 1 : end]]
        text = "\n".join([" " * content + line.text[content:], *rest])
        return self._add(BlockKind.ITEM, end, text=text)

    def _table(self, line: Line) -> bool:
        if not self._starts_table(self._index):
            return False
        end = self._index + 2
        while end < len(self._lines) and self._is_table_row(end):
            end += 1
        return self._add(BlockKind.TABLE, end)

    def _starts_table(self, index: int) -> bool:
        if index + 1 >= len(self._lines) or "|" not in self._lines[index].text:
            return False
        below = self._lines[index + 1]
        return not below.in_fence and not below.in_quote and is_delimiter_row(below.text)

    def _is_table_row(self, index: int) -> bool:
        line = self._lines[index]
        return not line.in_fence and not line.in_quote and "|" in line.text

    def _html(self, line: Line) -> bool:
        text = line.text.lstrip()
        if text.startswith("<!--"):
            return self._add(BlockKind.HTML, self._end_after("-->", stop_at_blank=False))
        if _TEMPLATE_MARKER.match(line.text):
            return self._add(BlockKind.HTML, self._index + 1)
        tag = _TAG.match(line.text)
        if tag is None or tag[1].lower() in INLINE_TAGS:
            return False
        name = tag[1].lower()
        if name in _RAW_TAGS:
            return self._add(BlockKind.HTML, self._end_after(f"</{name}", stop_at_blank=False))
        return self._add(BlockKind.HTML, self._end_after("", stop_at_blank=True))

    def _math(self, line: Line) -> bool:
        text = line.text.strip()
        if text.startswith("$$"):
            if text.count("$$") > 1:
                return self._add(BlockKind.MATH, self._index + 1)
            return self._add(BlockKind.MATH, self._end_after("$$", stop_at_blank=True, skip=1))
        if text.startswith("\\["):
            return self._add(BlockKind.MATH, self._end_after("\\]", stop_at_blank=True))
        return False

    def _end_after(self, closer: str, *, stop_at_blank: bool, skip: int = 0) -> int:
        """Give the index after the line that holds `closer` (none does: an empty one), or a stop."""
        for index in range(self._index + skip, len(self._lines)):
            text = self._lines[index].text
            if stop_at_blank and not text.strip():
                return index
            if closer and closer in text.lower():
                return index + 1
        return len(self._lines)

    def _label(self, line: Line) -> bool:
        if _FOOTNOTE.match(line.text):
            return self._add(BlockKind.FOOTNOTE, self._paragraph_end(self._index + 1))
        if _DEFINITION.match(line.text):
            return self._add(BlockKind.DEFINITION, self._index + 1)
        return False

    def _paragraph(self, line: Line) -> None:
        end = self._paragraph_end(self._index + 1)
        if end == self._index + 1 and self._item_column is None:
            underlined = self._underline_level(end)
            if underlined:
                self._add(BlockKind.HEADING, end, level=underlined, text=line.text.strip())
                self._index += 1
                return
        self._add(BlockKind.PARAGRAPH, end)

    def _underline_level(self, index: int) -> int:
        if index >= len(self._lines) or _indent(self._lines[index].text) >= _CODE_INDENT:
            return 0
        marks = self._lines[index].text.strip()
        if len(marks) >= _UNDERLINE_WIDTH and not marks.strip("="):
            return 1
        return 2 if len(marks) >= _UNDERLINE_WIDTH and not marks.strip("-") else 0

    def _paragraph_end(self, index: int) -> int:
        while index < len(self._lines) and self._continues_paragraph(index):
            index += 1
        return index

    def _continues_paragraph(self, index: int) -> bool:
        line = self._lines[index]
        if line.in_fence or line.in_quote or not line.text.strip():
            return False
        if _HEADING.match(line.text) or _is_thematic_break(line.text) or _starts_html(line.text):
            return False
        if self._underline_level(index) == 1 or _FOOTNOTE.match(line.text):
            return False
        return not (_ITEM.match(line.text) or self._starts_table(index))


def _starts_html(text: str) -> bool:
    if _TEMPLATE_MARKER.match(text) or text.lstrip().startswith("$$"):
        return True
    tag = _TAG.match(text)
    return tag is not None and tag[1].lower() not in INLINE_TAGS


def _is_indented_text(line: Line, least: int) -> bool:
    return bool(line.text.strip()) and not line.in_fence and _indent(line.text) >= least


def _is_thematic_break(text: str) -> bool:
    marks = "".join(text.split())
    return len(marks) >= _RULE_MARKS and marks[0] in "-*_" and not marks.strip(marks[0])


def _indent(text: str) -> int:
    start = text[: len(text) - len(text.lstrip(" \t"))]
    return len(start.expandtabs(_CODE_INDENT))
