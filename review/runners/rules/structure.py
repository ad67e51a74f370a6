"""Rules on how a note is built: headings, sections, fences and tables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from review.domain.markdown_lines import Line
from review.runners.rules.blocks import Block, BlockKind, is_delimiter_row, split_cells
from review.runners.rules.checks import Check, finding, shown, warn
from review.runners.rules.page import Page
from review.runners.rules.values import RuleFinding
from review.runners.rules.words import plain
from review.vocabulary import Severity

_TOP = 1


def _further_h1(page: Page) -> Iterator[RuleFinding]:
    tops = [block for block in page.headings if block.level == _TOP]
    for block in tops[1:]:
        yield warn(
            f"a second heading of level 1; the first stands on line {tops[0].line}",
            quote=block.text,
            line=block.line,
        )


def _skipped_levels(page: Page) -> Iterator[RuleFinding]:
    above = _TOP
    for block in page.headings:
        if block.level > above + 1:
            yield warn(
                f"a heading of level {block.level} follows level {above}",
                quote=block.text,
                line=block.line,
            )
        above = block.level


def _empty_sections(page: Page) -> Iterator[RuleFinding]:
    blocks = [block for block in page.blocks if not _is_invisible(block)]
    for block, below in pairwise([*blocks, None]):
        if block is None or block.kind is not BlockKind.HEADING or not plain(block.text):
            continue
        if below is None or (below.kind is BlockKind.HEADING and below.level <= block.level):
            yield warn(
                f"nothing stands under {shown(block.text)}", quote=block.text, line=block.line
            )


def _is_invisible(block: Block) -> bool:
    comment = block.kind is BlockKind.HTML and block.text.lstrip().startswith("<!--")
    return block.kind is BlockKind.RULE or comment


def _twin_headings(page: Page) -> Iterator[RuleFinding]:
    path: list[tuple[int, dict[str, int]]] = [(0, {})]  # level, and its subheadings by words
    for block in page.headings:
        while path[-1][0] >= block.level:
            path.pop()
        siblings, words = path[-1][1], plain(block.text)
        if words and words in siblings:
            yield warn(
                f"the heading {shown(block.text)} stands on line {siblings[words]} already",
                quote=block.text,
                line=block.line,
            )
        siblings.setdefault(words, block.line)
        path.append((block.level, {}))


def _open_fences(page: Page) -> Iterator[RuleFinding]:
    opener: Line | None = None
    for line in page.lines:
        if opener is not None and not line.in_fence:
            yield warn(
                "the code fence opened here ends with its list item or quotation, not with a fence",
                quote=opener.text,
                line=opener.number,
            )
            opener = None
        if line.is_fence_marker:
            opener = line if opener is None or _has_language(line) else None
    if opener is not None:
        yield finding(
            Severity.FAIL,
            "the code fence opened here is never closed: all that follows is code",
            quote=opener.text,
            line=opener.number,
        )


def _has_language(line: Line) -> bool:
    return bool(line.text.lstrip("> \t-*+").strip("`~ \t"))


def _uneven_tables(page: Page) -> Iterator[RuleFinding]:
    for block in page.blocks:
        if block.kind is BlockKind.TABLE:
            yield from _uneven_rows(block)


def _uneven_rows(table: Block) -> Iterator[RuleFinding]:
    header, delimiter, *rows = table.lines
    width = len(split_cells(delimiter))
    if len(split_cells(header)) != width:
        yield warn(
            f"the header has {len(split_cells(header))} cells, the dashes below it {width}: this "
            "is not shown as a table",
            quote=header,
            line=table.line,
        )
        return
    for number, row in enumerate(rows, start=table.line + 2):
        cells = len(split_cells(row))
        if cells > width:
            said = f"this row has {cells} cells under {width} headers: what is over is not shown"
            yield warn(said, quote=row, line=number)
        elif 1 < cells < width and not is_delimiter_row(row):
            said = f"this row has {cells} cells under {width} headers"
            yield finding(Severity.INFO, said, quote=row, line=number)


def _nameless_fences(page: Page) -> Iterator[RuleFinding]:
    for block in page.blocks:
        marker, *inside = block.lines
        if block.kind is not BlockKind.CODE or not marker.lstrip("> \t-*+").startswith(
            ("```", "~~~")
        ):
            continue
        if not marker.lstrip("> \t-*+").strip("`~ \t"):
            said = "the code fence does not name its language"
            quote = next((line for line in inside if line.strip()), "")
            yield finding(Severity.INFO, said, quote=quote, line=block.line)


CHECKS = (
    Check(
        "multiple-h1",
        "One top heading",
        "there is at most one heading of level 1",
        "Make the later ones level 2, or split the note.",
        _further_h1,
    ),
    Check(
        "heading-level-skips",
        "No heading level skipped",
        "headings go down one level at a time",
        "Raise the heading by the levels that are missing above it.",
        _skipped_levels,
    ),
    Check(
        "empty-sections",
        "No empty section",
        "every heading has text or subsections under it",
        "Write the section or take its heading out.",
        _empty_sections,
    ),
    Check(
        "duplicate-headings",
        "No twin headings",
        "headings under one parent differ",
        "Merge the sections, or say in the headings how they differ.",
        _twin_headings,
    ),
    Check(
        "unclosed-fences",
        "Code fences are closed",
        "every code fence is closed",
        "Close the fence with as many backticks as opened it, indented no less than its opening.",
        _open_fences,
    ),
    Check(
        "table-column-mismatch",
        "Table rows match their header",
        "table rows have as many cells as their header",
        "Add or merge cells; write a pipe inside a cell as `\\|`.",
        _uneven_tables,
    ),
    Check(
        "fences-without-language",
        "Code fences name their language",
        "code fences name their language",
        "Write the language after the opening fence, `text` where there is none.",
        _nameless_fences,
    ),
)
