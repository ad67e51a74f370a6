"""Follows lines of a note from one version of its text to another, and names their headings."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from review.domain.diffs.lines import line_edits
from review.domain.markdown.lines import iter_lines

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")

Headings = tuple[str, ...]


class LineAlignment:
    """Where the lines of one text are in another: compared line by line within equal headings."""

    def __init__(self, before: str, after: str) -> None:
        self._edits = line_edits(_lines_with_heading(before), _lines_with_heading(after))
        self._starts = [edit.old for edit in self._edits]

    def follow(self, line: int) -> range:
        """The lines, from 1, that stand where `line` stood; none where it was deleted."""
        at = bisect_right(self._starts, line - 1) - 1
        # An insertion at a line (`old == old_end`) only shifts it.
        if at < 0:
            return range(line, line + 1)
        edit = self._edits[at]
        if line - 1 < edit.old_end:
            return range(edit.new + 1, edit.new_end + 1)
        now = line + edit.new_end - edit.old_end
        return range(now, now + 1)


@lru_cache(maxsize=8)
def align_lines(before: str, after: str) -> LineAlignment:
    """The alignment of two texts; the gates of one note ask for the same one."""
    return LineAlignment(before, after)


@lru_cache(maxsize=8)
def headings_by_line(text: str) -> tuple[Headings, ...]:
    """The headings that each line stands under, the outermost first, its own included."""
    found: list[Headings] = []
    levels: list[int] = []
    current: Headings = ()
    for line in iter_lines(text):
        heading = None if line.in_fence else _HEADING.fullmatch(line.text)
        if heading:
            level = len(heading[1])
            while levels and levels[-1] >= level:
                levels.pop()
            current = (*current[: len(levels)], heading[2])
            levels.append(level)
        found.append(current)
    return tuple(found)


def _lines_with_heading(text: str) -> list[str]:
    lines = text.split("\n")
    return [
        f"{headings[-1] if headings else ''}\0{line.strip()}"
        for line, headings in zip(lines, headings_by_line(text), strict=False)
    ]
