"""Walks the lines of a Markdown text and says which of them are code or quotation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_FENCE = re.compile(r"(`{3,}|~{3,})(.*)", re.DOTALL)
_LIST_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)")
_TAB_STOP = 4
_CODE_INDENT = 4
_THEMATIC_BREAK = 3
_TELLING_STARTS = frozenset(" \t`~>-+*0123456789")


class Line(NamedTuple):
    """One line of a text; a named tuple because a note base has millions of them.

    `number` counts from 1, `start` is the offset in characters. `in_fence` holds for the whole
    fenced block, its markers included; a fence that is never closed runs to the end of the text,
    or of the list item or quotation that contains it.
    """

    number: int
    text: str
    start: int
    in_fence: bool
    in_quote: bool
    is_fence_marker: bool


class Place(NamedTuple):
    """The context of a line; `in_fence` holds for the markers of the fence too."""

    in_fence: bool = False
    in_quote: bool = False
    is_fence_marker: bool = False


_PLAIN = Place()
_IN_FENCE = Place(in_fence=True)
_MARKER = Place(in_fence=True, is_fence_marker=True)


def iter_lines(text: str) -> Iterator[Line]:
    """Yield lines, ended by line feeds, with fences, lists and quotations of CommonMark 0.31.2."""
    walker = Walker()
    start = 0
    number = 0
    size = len(text)
    while start < size:
        end = text.find("\n", start)
        if end < 0:
            end = size
        content = text[start:end].removesuffix("\r")
        number += 1
        yield Line(number, content, start, *walker.place(content))
        start = end + 1


class Walker:
    """Remembers the open fence, list items and quotation, to restart in the middle of a text."""

    def __init__(self, *, quotes: bool = True) -> None:
        self._quotes = quotes
        # The mark that opened it, and the column where the content of its list item starts.
        self._fence: tuple[str, int] | None = None
        self._items: list[int] = []  # content columns of the open list items, growing
        self._quoted: Walker | None = None

    def place(self, text: str) -> Place:
        """Take the next line, without its line end, and return its context."""
        if self._fence is None and not self._items and text[:1] not in _TELLING_STARTS:
            self._quoted = None
            return _PLAIN
        position, column = _skip_blanks(text, 0, 0)
        if position == len(text):
            self._quoted = None
            return _IN_FENCE if self._fence else _PLAIN
        if self._fence is not None:
            mark, container = self._fence
            if column >= container:
                rest = text[position:].rstrip(" \t")
                is_indented = column - container >= _CODE_INDENT
                if is_indented or not rest.startswith(mark) or rest.strip(mark[0]):
                    return _IN_FENCE
                self._fence = None
                return _MARKER
            self._fence = None  # the list item that held it has ended
        return self._outside(text, position, column)

    def _outside(self, text: str, position: int, column: int) -> Place:
        while self._items and column < self._items[-1]:
            self._items.pop()
        if _is_thematic_break(text, position):
            self._quoted = None
            return _PLAIN
        while column - self._container() < _CODE_INDENT and (
            marker := _LIST_MARKER.match(text, position)
        ):
            position, column = self._enter_item(text, marker.end(), column + len(marker[0]))
        if column - self._container() >= _CODE_INDENT or position == len(text):
            self._quoted = None
            return _PLAIN
        if self._quotes and text[position] == ">":
            return self._inside_quotation(text[position:])
        self._quoted = None
        return self._open_fence(text, position)

    def _container(self) -> int:
        return self._items[-1] if self._items else 0

    def _enter_item(self, text: str, position: int, column: int) -> tuple[int, int]:
        after, content_column = _skip_blanks(text, position, column)
        wide = content_column - column > _CODE_INDENT or after == len(text)
        self._items.append(column + 1 if wide else content_column)
        return after, content_column

    def _inside_quotation(self, text: str) -> Place:
        # All levels of nesting at once: thousands of ">" must not become thousands of walkers.
        if self._quoted is None:
            self._quoted = Walker(quotes=False)
        inner = (
            text.lstrip("> \t") if text.startswith((">>", "> >")) else text[1:].removeprefix(" ")
        )
        return self._quoted.place(inner)._replace(in_quote=True)

    def _open_fence(self, text: str, position: int) -> Place:
        found = _FENCE.match(text, position)
        if found is None or (found[1][0] == "`" and "`" in found[2]):
            return _PLAIN
        self._fence = found[1], self._container()
        return _MARKER


def _is_thematic_break(text: str, position: int) -> bool:
    marks = text[position:].replace(" ", "").replace("\t", "")
    return marks[0] in "-*" and len(marks) >= _THEMATIC_BREAK and not marks.strip(marks[0])


def _skip_blanks(text: str, position: int, column: int) -> tuple[int, int]:
    while position < len(text) and text[position] in " \t":
        column += _TAB_STOP - column % _TAB_STOP if text[position] == "\t" else 1
        position += 1
    return position, column
