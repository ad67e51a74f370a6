"""The blocks of a note and their inline markup, as rules read them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from html import unescape

from review.domain.markdown.anchors import shown_text
from review.domain.markdown.document import (
    COMMENT,
    LABEL,
    MARKER,
    MATH,
    SPAN,
    TEMPLATE,
    MarkdownDocument,
    Token,
)
from review.domain.markdown.links import LinkKind, link_kind
from review.protocol.typed_review import ReviewFinding
from review.runners.rules.words import safe_quote
from review.vocabulary import Severity

OPAQUE = "\ue000"  # stands for each character of code, math, images and addresses in masked text
_HIDDEN = frozenset({"code_inline", MATH, TEMPLATE, "image"})
_CODE_TAG = re.compile(r"<(/?)(?:code|kbd|samp|var|tt)\b", re.IGNORECASE)
_NOT_NEWLINE = re.compile(r"[^\n]")
# Where a flavour has no math its links count, but its letters are no prose either.
_MATH_LIKE = re.compile(r"\$\$[^$]++\$\$|\$(?![\s\d$])[^$\n]*+(?<![\s\\])\$(?!\d)")
_ENTITY = re.compile(r"&#?\w{1,31};")
_URL = re.compile(r"(?:https?|ftp)://[^\s<>\"`\ue000]+|www\.[^\s<>\"`\ue000]+")

_Fill = tuple[int, int, str]  # start and end of a span, and what each of its characters becomes


@dataclass(frozen=True, slots=True)
class InlineLink:
    """A link, image or footnote mark, its text and target; offsets are in the block's text."""

    text: str
    target: str
    start: int
    end: int
    kind: LinkKind = LinkKind.INLINE


@dataclass
class Inline:
    """The content of a block; `masked` is as long; embeds and autolinks are no `links`."""

    masked: str = ""
    links: list[InlineLink] = field(default_factory=list)
    images: list[InlineLink] = field(default_factory=list)
    html_images: list[tuple[int, str]] = field(default_factory=list)
    footnotes: list[InlineLink] = field(default_factory=list)
    urls: list[InlineLink] = field(default_factory=list)


def read_inline(text: str, block: Token) -> Inline:
    """Read the inline markup of one block; `text` is as long as the content of its token."""
    found, fills, code_from = Inline(), list[_Fill](), -1
    for token in block.children or ():
        if SPAN not in token.meta:
            continue
        start, end = token.meta[SPAN]
        if token.type == "link_open":
            fills += _add_link(found.links, token, block.content)
            continue
        _add(found, token)
        fills.append((start, end, OPAQUE if token.type in _HIDDEN else " "))
        tag = _CODE_TAG.match(token.content) if token.type == "html_inline" else None
        if tag:
            if tag[1] and code_from >= 0:
                fills.append((code_from, start, OPAQUE))
            code_from = -1 if tag[1] else end
    masked = _MATH_LIKE.sub(lambda found: _NOT_NEWLINE.sub(OPAQUE, found[0]), _fill(text, fills))
    for match in _URL.finditer(masked):
        address = match[0].rstrip(".,;:!?'\"*_)]")
        start = match.start()
        found.urls.append(InlineLink(address, address, start, start + len(address)))
    masked = _fill(masked, ((url.start, url.end, OPAQUE) for url in found.urls))
    found.masked = _ENTITY.sub(_read_entity, masked)
    return found


def _add(found: Inline, token: Token) -> None:
    start, end = token.meta[SPAN]
    if token.type == "image":
        source = str(token.attrGet("src") or "")
        found.images.append(InlineLink(token.content, source, start, end))
    elif token.type == "footnote_ref":
        name = str(token.meta.get("label", ""))
        found.footnotes.append(InlineLink(name, name, start, end))
    elif token.type == "html_inline" and token.content[:4].lower() == "<img":
        found.html_images.append((start, token.content))


def _add_link(links: list[InlineLink], token: Token, content: str) -> list[_Fill]:
    """Add a link that leads somewhere; return what is no prose of it."""
    start, end = token.meta[SPAN]
    kind = link_kind(token, content)
    if kind in (LinkKind.EMBED, LinkKind.AUTOLINK):
        return [(start, end, OPAQUE)]
    label_start, label_end = token.meta.get(LABEL, (start, end))
    target = str(token.attrGet("href") or "")
    links.append(InlineLink(content[label_start:label_end], target, start, end, kind))
    return [(start, label_start, " "), (label_end, end, " ")]


def _read_entity(found: re.Match[str]) -> str:
    """Return what an entity stands for, as long as it is; letters are kept as they are written."""
    char = unescape(found[0])
    if len(char) != 1 or char.isalnum():
        return found[0]
    return char + (char if char.isspace() else OPAQUE) * (len(found[0]) - 1)


def _fill(text: str, fills: Iterable[_Fill]) -> str:
    """Replace the characters of each span, line feeds excepted; of two that overlap the first counts."""
    pieces, done = [], 0
    for start, end, char in sorted(fills, key=lambda fill: (fill[0], -fill[1])):
        if end > done:
            start = max(start, done)
            pieces += [text[done:start], _NOT_NEWLINE.sub(char, text[start:end])]
            done = end
    return "".join([*pieces, text[done:]])


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
        before = bisect_right(self.links, offset, key=lambda link: link.start)
        link = self.links[before - 1] if before else None
        return link if link and offset < link.end else None

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def line_at(self, offset: int) -> int:
        return self.line + self.text.count("\n", 0, offset)

    def finding(
        self,
        said: str,
        at: int = 0,
        *,
        before: int = 0,
        end: int | None = None,
        severity: Severity = Severity.WARN,
    ) -> ReviewFinding:
        """Make a finding that quotes the line around an offset, or the row; not beyond `end`."""
        start = self.text.rfind("\n", 0, at) + 1
        if at - before > start:
            start = self.text.find(" ", at - before, at) + 1 or at - before
        cut = start + _LONGEST_EXCERPT if end is None else end
        quote = self.row or self.text[start:cut].lstrip().partition("\n")[0]
        return ReviewFinding(severity, said, safe_quote(quote), self.line_at(at))


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
            html = token.content.strip() if token.type == "html_block" else ""
            is_comment = html.startswith("<!--") and html.endswith("-->")
            kind = BlockKind.COMMENT if is_comment else _LEAVES[token.type]
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
