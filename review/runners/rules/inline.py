"""Blanks what is not the author's prose in a block: its code, addresses, pictures and markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import unescape
from typing import TYPE_CHECKING

from review.domain.markdown.document import LABEL, MATH, SPAN, TEMPLATE
from review.domain.markdown.links import LinkKind, link_kind

if TYPE_CHECKING:
    from markdown_it.token import Token

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
    """A link, image or footnote mark; `start` and `end` are offsets in the block's text.

    `text` is what is shown (or the alternative text), `target` the address or the footnote's name.
    """

    text: str
    target: str
    start: int
    end: int
    kind: LinkKind = LinkKind.INLINE


@dataclass
class Inline:
    """The content of a block; `masked` is as long as its text, line feeds in the same places.

    `links` lead somewhere: there are no embeds and autolinks among them.
    """

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
    masked = _MATH_LIKE.sub(_opaque, _fill(text, fills))
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


def _opaque(found: re.Match[str]) -> str:
    return _NOT_NEWLINE.sub(OPAQUE, found[0])


def _fill(text: str, fills: Iterable[_Fill]) -> str:
    """Replace the characters of each span, line feeds excepted; of two that overlap the first counts."""
    pieces, done = [], 0
    for start, end, char in sorted(fills, key=lambda fill: (fill[0], -fill[1])):
        if end > done:
            start = max(start, done)
            pieces += [text[done:start], _NOT_NEWLINE.sub(char, text[start:end])]
            done = end
    return "".join([*pieces, text[done:]])
