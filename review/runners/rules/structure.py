"""Rules on how a note is built: headings, sections, fences and tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from review.protocol.typed_review import TypedFinding
from review.runners.rules.blocks import Block, BlockKind, split_cells
from review.runners.rules.page import Page
from review.runners.rules.registry import Check, finding, shown, warn
from review.runners.rules.words import plain
from review.vocabulary import Severity

if TYPE_CHECKING:
    from markdown_it.token import Token

_TOP = 1
_FEWEST_LABELS = 3
_COMPONENT = re.compile(r"\s*<[A-Z]\w*")  # what stands in it has levels of its own
_INDEX = re.compile(r"(?:^|/)_?(?:index|readme)\.mdx?$", re.IGNORECASE)
_POINTS = ".:!?*_ "
_SKELETON = re.compile(
    r"\.github/|template|change[-_ ]?log|release[-_ ]?notes|\bhistory\b|vorlage|mod[eè]le|plantilla|шаблон|模板|템플릿|テンプレート",
    re.IGNORECASE,
)
_LABEL_WITH_VALUE = re.compile(r"[^:\n]{1,40}(?::|\uff1a|\s[-\u2013\u2014])\s*[^\s:]")
_CODE = re.compile(r"(`+)[^`]+\1")
_ODD_FENCE = re.compile(r"^ {0,3}`{3,}[^`\n]*[^`\s][^`\n]*`", re.MULTILINE)
_DELIMITER_ROW = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?\|?\s*")


def _further_h1(page: Page) -> Iterator[TypedFinding]:
    tops = [block for block in page.headings if block.level == _TOP]
    for block in tops[1:]:
        yield warn(
            f"a second heading of level 1; the first stands on line {tops[0].line}",
            quote=block.text,
            line=block.line,
        )


def _skipped_levels(page: Page) -> Iterator[TypedFinding]:
    # Without a title the text is a piece of another, which begins at any level.
    above = _TOP if page.title or not page.headings else page.headings[0].level
    framed = {
        below.line
        for block, below in pairwise(page.blocks)
        if block.kind is BlockKind.HTML and _COMPONENT.match(block.text)
    }
    for block in page.headings:
        if block.level > above + 1 and block.line not in framed:
            yield warn(
                f"a heading of level {block.level} follows level {above}",
                quote=block.text,
                line=block.line,
            )
        above = block.level


def _empty_sections(page: Page) -> Iterator[TypedFinding]:
    if _SKELETON.search(f"{page.given.note_path} {page.title}"):
        return
    blocks = [block for block in page.blocks if not _is_invisible(block)]
    for block, below in pairwise([*blocks, None]):
        if block is None or block.kind is not BlockKind.HEADING or not plain(block.words):
            continue
        is_index = block.level == _TOP and _INDEX.search(page.given.note_path)
        if block.inside or is_index or _says_something(block):
            continue
        if below is None or (below.kind is BlockKind.HEADING and below.level <= block.level):
            yield warn(
                f"nothing stands under {shown(block.words)}", quote=block.text, line=block.line
            )


def _says_something(heading: Block) -> bool:
    """True if a heading is the content itself: a link, or a label with its value."""
    children = heading.token.children or () if heading.token else ()
    return bool(_LABEL_WITH_VALUE.match(heading.words)) or any(
        token.type in ("link_open", "image") for token in children
    )


def _is_invisible(block: Block) -> bool:
    return block.kind in (BlockKind.RULE, BlockKind.COMMENT)


def _twin_headings(page: Page) -> Iterator[TypedFinding]:
    counts = Counter(block.words.casefold() for block in page.headings)
    path: list[tuple[int, dict[str, int]]] = [(0, {})]  # level, and its subheadings by words
    for block in page.headings:
        while path[-1][0] >= block.level:
            path.pop()
        siblings, words = path[-1][1], " ".join(block.words.casefold().split()).strip(_POINTS)
        if _is_code(block):
            words = ""  # the name of a file, whose state is shown again
        if words and words in siblings:
            # Repeated text there is a label, as of good and bad examples.
            is_label = counts[block.words.casefold()] >= _FEWEST_LABELS
            yield finding(
                Severity.INFO if is_label else Severity.WARN,
                f"the heading {shown(block.words)} stands on line {siblings[words]} already",
                quote=block.text,
                line=block.line,
            )
        siblings.setdefault(words, block.line)
        path.append((block.level, {}))


def _is_code(heading: Block) -> bool:
    children = heading.token.children or () if heading.token else ()
    return bool(children) and all(token.type == "code_inline" for token in children)


def _open_fences(page: Page) -> Iterator[TypedFinding]:
    # A fence with backticks behind it opens none in CommonMark, and does in other dialects.
    is_sure = not _ODD_FENCE.search("\n".join(page.document.lines))
    for block in page.blocks:
        if not _is_fence(block) or block.token is None:
            continue
        if _is_closed(block):
            if not _opens_again(block.token):
                continue
            severity = Severity.WARN
            said = "the code fence opened here is not closed before the next one opens"
        elif any(
            line.strip() for line in page.document.lines[block.last_line - page.lines_above :]
        ):
            severity = Severity.WARN
            said = (
                "the code fence opened here ends with its list item or quotation, not with a fence"
            )
        else:
            severity = Severity.FAIL
            said = "the code fence opened here is never closed: all that follows is code"
        severity = severity if is_sure else Severity.INFO
        yield finding(severity, said, quote=block.lines[0], line=block.line)


def _is_fence(block: Block) -> bool:
    return block.token is not None and block.token.type == "fence"


def _opens_again(fence: Token) -> bool:
    """True if a fence of the same width opens inside: then the closing fence belongs to that one."""
    marker = re.escape(fence.markup)
    return bool(
        re.search(
            rf"^ {{0,3}}{marker}(?!{marker[-1]})[ \t]*\w+[ \t]*$", fence.content, re.MULTILINE
        )
    )


def _is_closed(block: Block) -> bool:
    if block.token is None:
        return True
    lines_with_markers = block.last_line - block.line + 1
    return lines_with_markers - block.token.content.count("\n") > 1


def _uneven_tables(page: Page) -> Iterator[TypedFinding]:
    for block in page.blocks:
        if block.kind is BlockKind.TABLE:
            yield from _uneven_rows(block, pipes_in_code=page.given.flavour.name == "mkdocs")
        elif block.kind is BlockKind.PARAGRAPH:
            yield from _uneven_header(block)


def _uneven_rows(table: Block, *, pipes_in_code: bool) -> Iterator[TypedFinding]:
    _header, delimiter, *rows = table.lines
    width = len(split_cells(delimiter))
    for number, row in enumerate(rows, start=table.line + 2):
        cells = len(split_cells(_CODE.sub("", row) if pipes_in_code else row))
        if cells > width:
            said = f"this row has {cells} cells under {width} headers: what is over is not shown"
            yield warn(said, quote=row, line=number)
        elif 1 < cells < width and row.strip(" |:-"):
            said = f"this row has {cells} cells under {width} headers"
            yield finding(Severity.INFO, said, quote=row, line=number)


def _uneven_header(block: Block) -> Iterator[TypedFinding]:
    """Find a row of dashes whose number differs from the header's: that makes no table."""
    for number, (header, delimiter) in enumerate(pairwise(block.lines), start=block.line):
        if not _DELIMITER_ROW.fullmatch(delimiter) or "|" not in header:
            continue
        cells, width = len(split_cells(header)), len(split_cells(delimiter))
        if cells != width and width > 1:
            said = (
                f"the header has {cells} cells, the dashes below it {width}: this is not shown as "
                "a table"
            )
            yield warn(said, quote=header, line=number)


def _nameless_fences(page: Page) -> Iterator[TypedFinding]:
    for block in page.blocks:
        if _is_fence(block) and block.token is not None and not block.token.info.strip():
            quote = next((line for line in block.lines[1:] if line.strip()), "")
            said = "the code fence does not name its language"
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
