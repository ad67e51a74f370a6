"""Rules on anchors, footnotes and labels: they have what they point to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from review.domain.markdown.anchors import Anchors, letters_only, read_anchors
from review.domain.markdown.links import LinkKind
from review.protocol.typed_review import TypedFinding
from review.runners.rules.blocks import Block
from review.runners.rules.inline import InlineLink, InlineLinkKind
from review.runners.rules.page import Page, Passage
from review.runners.rules.registry import Check, finding, line_finding, link_finding, shown
from review.vocabulary import Severity

_FOOTNOTE_NAME = re.compile(r"(?=[^\W_])[\w-]{1,60}")
_RANGE = re.compile(r"\w-\w")
_REFERENCE = re.compile(r"(?<!!)\[([^\[\]]+)\]\[([^\[\]^][^\[\]]*)?\](?![*+?{(\[:])")
_OBJECT = re.compile(r"`?[\w-]+(?:[.:/][\w-]+)+`?")
_CAPITALS = re.compile(r"[A-Z_-]+")
_CHARACTERS = re.compile(r"\S*\w-\w\S*|\W*\w\W*")


def _broken_anchors(page: Page) -> Iterator[TypedFinding]:
    own = read_anchors(page.document, page.given.flavour)
    for passage in page.passages:
        for link in passage.links:
            if not link.target.startswith("#"):
                continue
            by_words = link.kind is InlineLinkKind.WIKILINK
            if not own.have(link.target[1:], by_words=by_words):
                yield link_finding(
                    passage, link, f"no heading of the note answers to {shown(link.target)}"
                )
    yield from _anchors_elsewhere(page, own)


def _anchors_elsewhere(page: Page, own: Anchors) -> Iterator[TypedFinding]:
    for link in page.given.links:
        if link.resolved is None or not link.anchor or link.target.startswith("#"):
            continue
        anchors = own if link.resolved == page.given.note_path else page.anchors_of(link.resolved)
        by_words = link.kind in (LinkKind.WIKILINK, LinkKind.EMBED)
        if anchors is not None and not anchors.have(link.anchor, by_words=by_words):
            said = f"no heading of {shown(link.resolved)} answers to {shown(link.target)}"
            yield line_finding(page, link, said)


def _footnotes(page: Page) -> Iterator[TypedFinding]:
    defined = page.footnotes
    used: set[str] = set()
    for passage in page.passages:
        for link in passage.inline.links:
            if link.kind is not InlineLinkKind.FOOTNOTE:
                continue
            name = link.target.casefold()
            used.add(name)
            if name not in defined and _is_footnote_mark(passage, link, bool(defined)):
                yield link_finding(passage, link, f"the footnote {shown(link.target)} has no text")
    for name, line in defined.items():
        if name not in used:
            said = f"nothing refers to the footnote {shown(name)}"
            yield finding(Severity.INFO, said, quote=page.quoted_line(line), line=line)


def _is_footnote_mark(passage: Passage, link: InlineLink, any_defined: bool) -> bool:
    """True for a footnote, not for a regular expression such as `[^a-z]+` without backticks."""
    after = passage.block.text[link.end : link.end + 1]
    if not _FOOTNOTE_NAME.fullmatch(link.target) or (after and after in "*+?{]"):
        return False
    if _RANGE.fullmatch(link.target):
        return False
    return any_defined or link.target.isdigit()


def _undefined_references(page: Page) -> Iterator[TypedFinding]:
    """Look for brackets side by side that the reader, who knows all definitions, took for text."""
    for passage in page.passages:
        for found in _REFERENCE.finditer(passage.prose):
            words, label = found[1], found[2] or found[1]
            if _stands_in_link(passage, found.start()) or _is_site_label(page, label):
                continue
            if _is_reference(passage.block, found.start(), words, label):
                link = InlineLink(
                    InlineLinkKind.REFERENCE, words, label, found.start(), found.end()
                )
                said = f"the link label {shown(label)} is defined nowhere"
                yield link_finding(passage, link, said)


def _stands_in_link(passage: Passage, start: int) -> bool:
    return any(link.start <= start < link.end for link in passage.links)


def _is_site_label(page: Page, label: str) -> bool:
    """True if an MkDocs plugin may resolve the label, or a heading does, as in Pandoc."""
    if page.given.flavour.name == "pandoc":
        return letters_only(label) in read_anchors(page.document, page.given.flavour).words
    return page.given.flavour.name == "mkdocs" and bool(_OBJECT.fullmatch(label))


def _is_reference(block: Block, start: int, words: str, label: str) -> bool:
    """Leave out what has brackets side by side for another reason: indices, log tags, citations."""
    before = block.text[max(0, start - 1) : start]
    if before.isalnum() or (before and before in "])_\\`[.\ue000"):
        return False
    if not any(char.isalpha() for char in words) or not any(map(str.isalnum, label)):
        return False
    patterns = (_CAPITALS, _CHARACTERS)
    return not any(pattern.fullmatch(text) for pattern in patterns for text in (words, label))


CHECKS = (
    Check(
        "broken-anchors",
        "Anchors have their heading",
        "every link to a heading leads to one that is there",
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
