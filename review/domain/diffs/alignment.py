"""Follow lines of a note from one version of its text to another, and name their headings."""

from __future__ import annotations

import re
from functools import lru_cache

from review.domain.diffs.lines import LineEdit, line_edits
from review.domain.markdown.lines import iter_lines

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")

Headings = tuple[str, ...]


def follow_line(before: str, after: str, line: int) -> range:
    """Return the lines, from 1, that replace `line` in the later text; none if it was deleted."""
    shift = 0
    for edit in _edits(before, after):
        if line <= edit.old:
            break
        if line <= edit.old_end:
            return range(edit.new + 1, edit.new_end + 1)
        shift = edit.new_end - edit.old_end
    return range(line + shift, line + shift + 1)


def headings_at(text: str, line: int) -> Headings:
    """Return the headings that a line is under, the outermost first, including its own."""
    return next(iter(_headings_by_line(text)[line - 1 : line]), ())


@lru_cache(maxsize=8)
def _edits(before: str, after: str) -> list[LineEdit]:
    return line_edits(_lines_with_heading(before), _lines_with_heading(after))


@lru_cache(maxsize=8)
def _headings_by_line(text: str) -> tuple[Headings, ...]:
    found = []
    current: list[tuple[int, str]] = []
    for line in iter_lines(text):
        heading = None if line.in_fence else _HEADING.fullmatch(line.text)
        if heading:
            level = len(heading[1])
            current = [*(outer for outer in current if outer[0] < level), (level, heading[2])]
        found.append(tuple(title for _level, title in current))
    return tuple(found)


def _lines_with_heading(text: str) -> list[str]:
    return [
        f"{headings[-1] if headings else ''}\0{line.strip()}"
        for line, headings in zip(text.split("\n"), _headings_by_line(text), strict=False)
    ]
