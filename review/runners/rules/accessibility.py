"""Rules for readers who do not see the page: alternative texts, real headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from review.protocol.typed_review import TypedFinding
from review.runners.rules.blocks import Block, BlockKind
from review.runners.rules.inline import InlineLinkKind
from review.runners.rules.lists import EMPTY_ALTERNATIVES
from review.runners.rules.page import Page, Passage
from review.runners.rules.registry import Check, finding, shown, warn
from review.runners.rules.words import plain
from review.vocabulary import Severity

_HTML_IMAGE = re.compile(r"<img\b[^<>]*\bsrc[^<>]*>", re.IGNORECASE)
_HTML_ALT = re.compile(r"\balt\s?=|\brole\s?=\s?[\"']?(?:presentation|none)|\baria-", re.IGNORECASE)
_FILE_NAME = re.compile(r"[^\s/]+\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?|avif)", re.IGNORECASE)
_PLAYER = re.compile(
    r"https?://(?:[\w-]+\.)?(?:youtube\.com|youtu\.be|vimeo\.com|twitter\.com|x\.com)/",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"(?:img|image|screenshot|screen shot|picture|photo|dsc|figure|fig)[\s_-]*\d*"
)
_BOLD_LINE = re.compile(r"(?:\*\*([^*\n]+)\*\*|__([^_\n]+)__)")
_LONGEST_HEADING = 80
_HEADS = frozenset({BlockKind.PARAGRAPH, BlockKind.ITEM})


def _images(page: Page) -> Iterator[TypedFinding]:
    for passage in page.passages:
        yield from _markdown_images(passage)
        for offset, tag in passage.inline.images_in_html:
            if not _HTML_ALT.search(tag):
                yield _image_at(passage.block, offset, "an image without alternative text")
    for block in page.blocks:
        if block.kind is BlockKind.HTML:
            for found in _HTML_IMAGE.finditer(block.text):
                if not _HTML_ALT.search(found[0]):
                    yield _image_at(block, found.start(), "an image without alternative text")


def _markdown_images(passage: Passage) -> Iterator[TypedFinding]:
    for link in passage.inline.links:
        if link.kind is not InlineLinkKind.IMAGE:
            continue
        if _PLAYER.match(link.target):
            continue  # shown as a player, not as an image
        if not link.text.strip():
            yield _image_at(
                passage.block, link.start, "an image without alternative text", end=link.end
            )
        elif _is_no_description(link.text):
            said = f"the alternative text {shown(link.text)} does not describe the image"
            yield _image_at(passage.block, link.start, said, end=link.end)


def _is_no_description(text: str) -> bool:
    text = text.strip()
    return bool(
        plain(text) in EMPTY_ALTERNATIVES
        or _FILE_NAME.fullmatch(text)
        or _NUMBERED.fullmatch(text.lower())
    )


def _image_at(block: Block, offset: int, said: str, *, end: int | None = None) -> TypedFinding:
    quote = block.excerpt(offset)
    if end is not None and not block.source:
        quote = quote[: end - offset]
    return warn(said, quote=quote, line=block.line_at(offset))


def _bold_headings(page: Page) -> Iterator[TypedFinding]:
    counts = Counter(block.text.strip() for block in page.blocks)
    for block, below in pairwise(page.blocks):
        text = block.text.strip()
        if block.kind is not BlockKind.PARAGRAPH or block.in_list or not block.gap_before:
            continue
        found = _BOLD_LINE.fullmatch(text) if len(text) <= _LONGEST_HEADING else None
        # Followed by code, a table or an image it is a caption.
        if (
            found is None
            or not below.gap_before
            or below.kind not in _HEADS
            or below.text.startswith("!")
        ):
            continue
        words = (found[1] or found[2]).strip()
        if words and words[-1].isalnum():
            # Repeated text there is a label.
            yield finding(
                Severity.INFO if counts[text] > 1 else Severity.WARN,
                f"the bold line {shown(words)} stands where a heading would",
                quote=text,
                line=block.line,
            )


CHECKS = (
    Check(
        "images-without-alt-text",
        "Images are described",
        "every image has an alternative text that describes it",
        "Say in the brackets what the image shows and why it is here.",
        _images,
    ),
    Check(
        "bold-as-heading",
        "Headings are headings",
        "no bold line stands in place of a heading",
        "Make it a heading of the level below the section it stands in.",
        _bold_headings,
    ),
)
