"""Finds links, images, code and markup inside a block, and blanks what is not the author's prose."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from enum import Enum

_SPECIAL = re.compile(r"[\\`<\[\]$]")
_TICKS = re.compile(r"`+")
_AUTOLINK = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[^\s<>@]+@[^\s<>@]+)>")
_HTML_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_MATH = re.compile(r"\$(?![\s\d$])[^$\n]*(?<![\s\\])\$(?!\d)")
_FOOTNOTE = re.compile(r"\[\^([^\s\[\]^]+)\]")
_LABEL = re.compile(r"\[([^\[\]]*)\]")
_BLANKS = re.compile(r"[ \t]*\n?[ \t]*")
_ANGLED = re.compile(r"<([^<>\n]*)>")
_BARE = re.compile(r"(?:[^\s()\\\]]|\\.|\](?!\()|\([^\s()]*\))*")
_TITLE_CLOSERS = {'"': '"', "'": "'", "(": ")"}
_LONGEST_TITLE = 1000
_LONGEST_TEXT = 400
_NOT_NEWLINE = re.compile(r"[^\n]")
_URL = re.compile(r"(?:https?|ftp)://[^\s<>\"`\ue000]+|www\.[^\s<>\"`\ue000]+")

OPAQUE = "\ue000"  # stands for each character of code, math, images and addresses in masked text


class LinkKind(Enum):
    """How a link is written."""

    INLINE = "inline"
    REFERENCE = "reference"
    WIKILINK = "wikilink"
    IMAGE = "image"
    EMBED = "embed"
    FOOTNOTE = "footnote"


@dataclass(frozen=True, slots=True)
class InlineLink:
    """A link or image of a block; `start` and `end` are offsets in the block's text.

    `text` is what is shown (or the alternative text), `target` the address, the reference label or
    the footnote's name.
    """

    kind: LinkKind
    text: str
    target: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Inline:
    """What stands in a block; `masked` is as long as its text, line feeds in the same places."""

    links: tuple[InlineLink, ...]
    urls: tuple[InlineLink, ...]
    images_in_html: tuple[tuple[int, str], ...]
    masked: str


def read_inline(text: str) -> Inline:
    """Read the inline markup of one block in linear time."""
    scanner = _Scanner(text)
    scanner.scan()
    masked = scanner.masks.apply(text)
    urls = tuple(_bare_urls(masked))
    return Inline(
        links=tuple(sorted(scanner.links, key=lambda link: (link.start, link.end))),
        urls=urls,
        images_in_html=tuple(scanner.images),
        masked=_mask_urls(masked, urls),
    )


def _bare_urls(masked: str) -> list[InlineLink]:
    if "://" not in masked and "www." not in masked:
        return []
    found = []
    for match in _URL.finditer(masked):
        address = match[0].rstrip(".,;:!?'\"*_)]")
        found.append(
            InlineLink(
                LinkKind.INLINE, address, address, match.start(), match.start() + len(address)
            )
        )
    return found


def _mask_urls(masked: str, urls: tuple[InlineLink, ...]) -> str:
    masks = _Masks()
    for url in urls:
        masks.hide(url.start, url.end)
    return masks.apply(masked)


class _Masks:
    def __init__(self) -> None:
        self._spans: list[tuple[int, int, str]] = []

    def hide(self, start: int, end: int) -> None:
        """Make it one opaque word."""
        self._spans.append((start, end, OPAQUE))

    def blank(self, start: int, end: int) -> None:
        """Make it white space."""
        self._spans.append((start, end, " "))

    def apply(self, text: str) -> str:
        if not self._spans:
            return text
        pieces = []
        done = 0
        for start, end, fill in sorted(self._spans, key=lambda span: (span[0], -span[1])):
            if end <= done:
                continue
            start = max(start, done)
            pieces.append(text[done:start])
            pieces.append(_NOT_NEWLINE.sub(fill, text[start:end]))
            done = end
        pieces.append(text[done:])
        return "".join(pieces)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.links: list[InlineLink] = []
        self.images: list[tuple[int, str]] = []
        self.masks = _Masks()
        self._text = text
        self._open: list[tuple[int, bool]] = []  # brackets not yet closed; True for an image's
        self._ticks = _tick_runs(text) if "`" in text else {}
        self._comments = True

    def scan(self) -> None:
        position = 0
        actions = {
            "\\": self._escape,
            "`": self._code,
            "<": self._angle,
            "$": self._dollar,
            "[": self._opener,
            "]": self._closer,
        }
        while found := _SPECIAL.search(self._text, position):
            position = actions[found[0]](found.start())

    def _escape(self, start: int) -> int:
        return start + 2

    def _code(self, start: int) -> int:
        run = _TICKS.match(self._text, start)
        end = run.end() if run else start + 1
        width = end - start
        starts = self._ticks.get(width, [])
        nearest = bisect_left(starts, end)
        if nearest == len(starts):
            return end
        closed = starts[nearest] + width
        self.masks.hide(start, closed)
        return closed

    def _angle(self, start: int) -> int:
        text = self._text
        if self._comments and text.startswith("<!--", start):
            end = text.find("-->", start + 4)
            if end >= 0:
                self.masks.blank(start, end + 3)
                return end + 3
            self._comments = False
        if found := _AUTOLINK.match(text, start):
            self.masks.hide(start, found.end())
            return found.end()
        if found := _HTML_TAG.match(text, start):
            if found[0][:4].lower() == "<img":
                self.images.append((start, found[0]))
            self.masks.blank(start, found.end())
            return found.end()
        return start + 1

    def _dollar(self, start: int) -> int:
        if self._text.startswith("$$", start):
            end = self._text.find("$$", start + 2)
            closed = end + 2 if end >= 0 else start + 2
            self.masks.hide(start, closed)
            return closed
        found = _MATH.match(self._text, start)
        if found is None:
            return start + 1
        self.masks.hide(start, found.end())
        return found.end()

    def _opener(self, start: int) -> int:
        image = start > 0 and self._text[start - 1] == "!"
        if found := _WIKILINK.match(self._text, start):
            target, _, alias = found[1].partition("|")
            kind = LinkKind.EMBED if image else LinkKind.WIKILINK
            self._add(kind, alias or target, target.strip(), start - image, found.end())
            self._blank_around(kind, found.start() - image, found.end(), alias or target)
            return found.end()
        if not image and (found := _FOOTNOTE.match(self._text, start)):
            self._add(LinkKind.FOOTNOTE, found[1], found[1], start, found.end())
            self.masks.blank(start, found.end())
            return found.end()
        self._open.append((start, image))
        return start + 1

    def _blank_around(self, kind: LinkKind, start: int, end: int, shown: str) -> None:
        if kind is LinkKind.EMBED:
            self.masks.hide(start, end)
            return
        self.masks.blank(start, end - 2 - len(shown))
        self.masks.blank(end - 2, end)

    def _closer(self, close: int) -> int:
        if not self._open:
            return close + 1
        start, image = self._open.pop()
        reference = _LABEL.match(self._text, close + 1)
        if tail := _destination(self._text, close + 1):
            target, end = tail
            kind = LinkKind.IMAGE if image else LinkKind.INLINE
        elif reference and not reference[1].startswith("^"):
            target, end, kind = reference[1], reference.end(), LinkKind.REFERENCE
        else:
            return close + 1
        shown = self._text[start + 1 : min(close, start + 1 + _LONGEST_TEXT)]
        if kind is LinkKind.REFERENCE:
            target = target or shown
        self._add(kind, shown, target, start - image, end)
        self._mask_link(start, close, end, image=image)
        return end

    def _mask_link(self, start: int, close: int, end: int, *, image: bool) -> None:
        if image:
            self.masks.hide(start - 1, end)
            return
        self.masks.blank(start, start + 1)
        self.masks.blank(close, end)

    def _add(self, kind: LinkKind, text: str, target: str, start: int, end: int) -> None:
        self.links.append(InlineLink(kind, text, target, start, end))


def _tick_runs(text: str) -> dict[int, list[int]]:
    runs: dict[int, list[int]] = {}
    for found in _TICKS.finditer(text):
        runs.setdefault(len(found[0]), []).append(found.start())
    return runs


def _destination(text: str, start: int) -> tuple[str, int] | None:
    """Read `(address "title")` at `start`; give the address and where it ends."""
    if not text.startswith("(", start):
        return None
    position = _skip_blanks(text, start + 1)
    found = _ANGLED.match(text, position)
    address = found[1] if found else ""
    if found is None and (found := _BARE.match(text, position)):
        address = found[0]
    position = _skip_blanks(text, found.end() if found else position)
    closer = _TITLE_CLOSERS.get(text[position : position + 1])
    if closer:
        end = text.find(closer, position + 1, position + _LONGEST_TITLE)
        if end < 0:
            return None
        position = _skip_blanks(text, end + 1)
    return (address, position + 1) if text.startswith(")", position) else None


def _skip_blanks(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    return found.end() if found else position
