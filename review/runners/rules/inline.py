"""Blanks what is not the author's prose in a block: its code, addresses, pictures and markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from review.domain.markdown import links
from review.domain.markdown.document import COMMENT, LABEL, MATH, SPAN, TEMPLATE

if TYPE_CHECKING:
    from markdown_it.token import Token

OPAQUE = "\ue000"  # stands for each character of code, math, images and addresses in masked text
_HIDDEN = frozenset({"code_inline", MATH, TEMPLATE, "image"})
_BLANKED = frozenset({"html_inline", COMMENT, "footnote_ref"})
_CODE_TAG = re.compile(r"<(/?)(?:code|kbd|samp|var|tt)\b", re.IGNORECASE)
_NOT_NEWLINE = re.compile(r"[^\n]")
# Where a flavour has no math its links count, but its letters are no prose either.
_MATH_LIKE = re.compile(r"\$\$[^$]++\$\$|\$(?![\s\d$])[^$\n]*+(?<![\s\\])\$(?!\d)")
_URL = re.compile(r"(?:https?|ftp)://[^\s<>\"`\ue000]+|www\.[^\s<>\"`\ue000]+")


class InlineLinkKind(Enum):
    INLINE = "inline"
    REFERENCE = "reference"
    WIKILINK = "wikilink"
    AUTOLINK = "autolink"
    IMAGE = "image"
    EMBED = "embed"
    FOOTNOTE = "footnote"


@dataclass(frozen=True, slots=True)
class InlineLink:
    """A link or image of a block; `start` and `end` are offsets in the block's text.

    `text` is what is shown (or the alternative text), `target` the address or the footnote's name.
    """

    kind: InlineLinkKind
    text: str
    target: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Inline:
    """The content of a block; `masked` is as long as its text, line feeds in the same places."""

    links: tuple[InlineLink, ...]
    urls: tuple[InlineLink, ...]
    images_in_html: tuple[tuple[int, str], ...]
    masked: str


def read_inline(text: str, block: Token) -> Inline:
    """Read the inline markup of one block; `text` is as long as the content of its token."""
    reader = _Reader(block.content)
    for token in block.children or ():
        if SPAN in token.meta:
            reader.add(token)
    masked = _MATH_LIKE.sub(_opaque, _fill(text, reader.fills))
    urls = tuple(_bare_urls(masked))
    return Inline(
        links=tuple(sorted(reader.links, key=lambda link: (link.start, link.end))),
        urls=urls,
        images_in_html=tuple(reader.images),
        masked=_fill(masked, [(url.start, url.end, OPAQUE) for url in urls]),
    )


class _Reader:
    def __init__(self, content: str) -> None:
        self.links: list[InlineLink] = []
        self.images: list[tuple[int, str]] = []
        self.fills: list[tuple[int, int, str]] = []
        self._content = content
        self._code_from = -1  # of HTML

    def add(self, token: Token) -> None:
        start, end = token.meta[SPAN]
        if token.type == "link_open":
            self._add_link(token, start, end)
        elif token.type in _HIDDEN:
            self.fills.append((start, end, OPAQUE))
        elif token.type in _BLANKED:
            self.fills.append((start, end, " "))
            self._note_code(token.content, start, end)
        if token.type == "image":
            target = str(token.attrGet("src") or "")
            self.links.append(InlineLink(InlineLinkKind.IMAGE, token.content, target, start, end))
        elif token.type == "footnote_ref":
            name = str(token.meta.get("label", ""))
            self.links.append(InlineLink(InlineLinkKind.FOOTNOTE, name, name, start, end))
        elif token.type == "html_inline" and token.content[:4].lower() == "<img":
            self.images.append((start, token.content))

    def _note_code(self, tag: str, start: int, end: int) -> None:
        found = _CODE_TAG.match(tag)
        if found and found[1] and self._code_from >= 0:
            self.fills.append((self._code_from, start, OPAQUE))
        if found:
            self._code_from = -1 if found[1] else end

    def _add_link(self, token: Token, start: int, end: int) -> None:
        kind = InlineLinkKind(links.link_kind(token, self._content))
        label_start, label_end = token.meta.get(LABEL, (start, end))
        shown = self._content[label_start:label_end]
        target = str(token.attrGet("href") or "")
        self.links.append(InlineLink(kind, shown, target, start, end))
        if kind in (InlineLinkKind.EMBED, InlineLinkKind.AUTOLINK):
            self.fills.append((start, end, OPAQUE))
        else:
            self.fills += [(start, label_start, " "), (label_end, end, " ")]


def _opaque(found: re.Match[str]) -> str:
    return _NOT_NEWLINE.sub(OPAQUE, found[0])


def _bare_urls(masked: str) -> Iterator[InlineLink]:
    for match in _URL.finditer(masked):
        address = match[0].rstrip(".,;:!?'\"*_)]")
        end = match.start() + len(address)
        yield InlineLink(InlineLinkKind.INLINE, address, address, match.start(), end)


def _fill(text: str, fills: list[tuple[int, int, str]]) -> str:
    """Replace the characters of each span, line feeds excepted; of two that overlap the first counts."""
    pieces, done = [], 0
    for start, end, char in sorted(fills, key=lambda fill: (fill[0], -fill[1])):
        if end > done:
            start = max(start, done)
            pieces += [text[done:start], _NOT_NEWLINE.sub(char, text[start:end])]
            done = end
    return "".join([*pieces, text[done:]])
