"""Rules on links within a note: anchors, footnotes and labels have what they point to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from review.runners.rules.blocks import Block, BlockKind
from review.runners.rules.checks import Check, finding, link_finding, shown
from review.runners.rules.inline import InlineLink, LinkKind
from review.runners.rules.page import Page, Passage
from review.runners.rules.values import RuleFinding
from review.runners.rules.words import letters_only
from review.vocabulary import Severity

_ANCHOR_ID = re.compile(r"\b(?:id|name)\s?=\s?[\"']?([^\s\"'<>]+)|\{#([^\s{}]+)")
_BLOCK_ID = re.compile(r"(?:^|\s)\^([\w-]+)\s*$", re.MULTILINE)
_GENERATED_ANCHOR = re.compile(
    r"(?:top|L\d+(?:-L?\d+)?|fn:?[\w-]*|fnref[\w:-]*|cite[\w:-]*|page=\d+|:~:.*)"
)
_COUNTER = re.compile(r"-\d+$")
_LEADING_NUMBER = re.compile(r"^\d+")
_FOOTNOTE_NAME = re.compile(r"(?=[^\W_])[\w-]{1,60}")
_RANGE = re.compile(r"\w-\w")
_LABEL_SPACE = re.compile(r"\s+")
_CAPITALS = re.compile(r"[A-Z_-]+")


def _broken_anchors(page: Page) -> Iterator[RuleFinding]:
    anchors: frozenset[str] | None = None
    for passage in page.passages:
        for link in passage.links:
            if not link.target.startswith("#") or link.kind is LinkKind.REFERENCE:
                continue
            anchors = _anchors_of(page) if anchors is None else anchors
            if not _leads_to(link.target[1:], anchors):
                yield link_finding(
                    passage, link, f"no heading of the note answers to {shown(link.target)}"
                )


def _anchors_of(page: Page) -> frozenset[str]:
    anchors = set()
    for passage in page.passages:
        if passage.block.kind is BlockKind.HEADING:
            name = letters_only(_shown_text(passage))
            anchors |= {name, _LEADING_NUMBER.sub("", name), letters_only(passage.block.text)}
    text = page.given.text
    for found in _ANCHOR_ID.finditer(text):
        anchors.add(letters_only(found[1] or found[2]))
    anchors |= {letters_only(found[1]) for found in _BLOCK_ID.finditer(text)}
    return frozenset(anchors)


def _shown_text(passage: Passage) -> str:
    """The heading as shown: the addresses of its links are not part of its anchor."""
    text, pieces, done = passage.block.text, [], 0
    for link in passage.links:
        if link.kind is LinkKind.INLINE and link.start >= done:
            pieces += [text[done : link.start], link.text]
            done = link.end
    return "".join([*pieces, text[done:]])


def _leads_to(anchor: str, anchors: frozenset[str]) -> bool:
    anchor = unquote(anchor).rpartition("#")[2]
    if not anchor or _GENERATED_ANCHOR.fullmatch(anchor):
        return True
    name = letters_only(anchor)
    return (
        not name
        or name in anchors
        or letters_only(_COUNTER.sub("", anchor)) in anchors
        or (_LEADING_NUMBER.sub("", name) or name) in anchors
    )


def _footnotes(page: Page) -> Iterator[RuleFinding]:
    defined = {_footnote_name(block): block for block in page.blocks if _is_footnote(block)}
    used: set[str] = set()
    for passage in page.passages:
        is_definition = passage.block.kind is BlockKind.FOOTNOTE
        for link in passage.inline.links:
            if link.kind is not LinkKind.FOOTNOTE or (is_definition and _opens(passage, link)):
                continue
            used.add(link.target)
            if link.target not in defined and _is_footnote_mark(passage, link, bool(defined)):
                yield link_finding(passage, link, f"the footnote {shown(link.target)} has no text")
    for name, block in defined.items():
        if name not in used:
            said = f"nothing refers to the footnote {shown(name)}"
            yield finding(Severity.INFO, said, quote=block.excerpt(0), line=block.line)


def _is_footnote(block: Block) -> bool:
    return block.kind is BlockKind.FOOTNOTE


def _footnote_name(block: Block) -> str:
    return block.text.partition("]:")[0].lstrip().removeprefix("[^")


def _opens(passage: Passage, link: InlineLink) -> bool:
    return not passage.block.text[: link.start].strip() if link.start < 4 else False


def _is_footnote_mark(passage: Passage, link: InlineLink, any_defined: bool) -> bool:
    """Tell a footnote from a regular expression's `[^a-z]+`, which people write without backticks."""
    after = passage.block.text[link.end : link.end + 1]
    if not _FOOTNOTE_NAME.fullmatch(link.target) or (after and after in "*+?{]"):
        return False
    if _RANGE.fullmatch(link.target):
        return False
    return any_defined or link.target.isdigit()


def _undefined_references(page: Page) -> Iterator[RuleFinding]:
    known: set[str] | None = None
    for passage in page.passages:
        for link in passage.links:
            if link.kind is not LinkKind.REFERENCE or not _is_reference(passage, link):
                continue
            known = _definitions(page) if known is None else known
            if _label(link.target) not in known:
                yield link_finding(
                    passage, link, f"the link label {shown(link.target)} is defined nowhere"
                )


def _definitions(page: Page) -> set[str]:
    return {
        _label(block.text.partition("]:")[0].lstrip()[1:])
        for block in page.blocks
        if block.kind is BlockKind.DEFINITION
    }


def _label(raw: str) -> str:
    return _LABEL_SPACE.sub(" ", raw.strip()).casefold()


def _is_reference(passage: Passage, link: InlineLink) -> bool:
    """Leave out what has brackets side by side for another reason: indices, log tags, citations."""
    before = passage.block.text[max(0, link.start - 1) : link.start]
    if before.isalnum() or before in ("]", ")", "_", "\\", "`", "["):
        return False
    if not any(char.isalpha() for char in link.text) or not any(map(str.isalnum, link.target)):
        return False
    return not (_CAPITALS.fullmatch(link.text) or _CAPITALS.fullmatch(link.target))


CHECKS = (
    Check(
        "broken-anchors",
        "Anchors have their heading",
        "every link within the note leads to one of its headings",
        "Spell the anchor as the heading is spelled now.",
        _broken_anchors,
    ),
    Check(
        "broken-footnotes",
        "Footnotes have their text",
        "every footnote mark has its text",
        "Write the footnote's text, or take its mark out.",
        _footnotes,
    ),
    Check(
        "undefined-references",
        "Link labels are defined",
        "every link label is defined",
        "Add `[label]: address` below, or write the address in the link.",
        _undefined_references,
    ),
)
