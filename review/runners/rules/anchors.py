"""Rules on anchors, footnotes and labels: they have what they point to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from review.domain.markdown.anchors import letters_only, read_anchors
from review.domain.markdown.links import LinkKind
from review.protocol.typed_review import TypedFinding
from review.runners.rules.blocks import Block
from review.runners.rules.inline import InlineLink
from review.runners.rules.page import Page
from review.runners.rules.quoting import shown
from review.runners.rules.rule import info_if, rule
from review.vocabulary import Severity

_FOOTNOTE_NAME = re.compile(r"(?=[^\W_])[\w-]{1,60}")
_RANGE = re.compile(r"\w-\w")
_REFERENCE = re.compile(r"(?<!!)\[([^\[\]]+)\]\[([^\[\]^][^\[\]]*)?\](?![*+?{(\[:])")
_OBJECT = re.compile(r"`?[\w-]+(?:[.:/][\w-]+)+`?")
_CAPITALS = re.compile(r"[A-Z_-]+")
_BY_WORDS = (LinkKind.WIKILINK, LinkKind.EMBED)
_CHARACTERS = re.compile(r"\S*\w-\w\S*|\W*\w\W*")
_CONTEXT = 60  # characters
_MANY = 3


@rule(
    "every link to a heading leads to one that is there",
    "Spell the anchor as the heading is spelled now.",
)
def broken_anchors(page: Page) -> Iterator[TypedFinding]:
    own = read_anchors(page.document, page.given.flavour)
    within = [
        (block, link) for block in page.texts for link in block.links if link.target.startswith("#")
    ]
    broken = [
        (block, link)
        for block, link in within
        if not own.have(link.target[1:], by_words=link.kind in _BY_WORDS)
    ]
    # Without a title, or where most are broken, it may be a piece of a larger text that has them.
    is_piece = not page.title or (len(broken) >= _MANY and len(broken) * 2 > len(within))
    for block, link in broken:
        said = f"no heading of the note answers to {shown(link.target)}"
        yield block.finding(said, link.start, before=_CONTEXT, severity=info_if(is_piece))
    for other in page.given.links:
        if other.resolved is None or not other.anchor or other.target.startswith("#"):
            continue
        is_own = other.resolved == page.given.note_path
        anchors = own if is_own else page.anchors_of(other.resolved)
        if anchors and not anchors.have(other.anchor, by_words=other.kind in _BY_WORDS):
            said = f"no heading of {shown(other.resolved)} answers to {shown(other.target)}"
            yield page.link_finding(other, said)


@rule(
    "every footnote mark has its text",
    "Write the footnote's text, or take its mark out.",
)
def broken_footnotes(page: Page) -> Iterator[TypedFinding]:
    defined = {
        str(token.meta["label"]).casefold(): page.lines_above + 1 + token.map[0]
        for token in page.document.tokens
        if token.type == "footnote_reference_open" and token.map is not None
    }
    used: set[str] = set()
    for block in page.texts:
        for mark in block.inline.footnotes:
            name = mark.target.casefold()
            used.add(name)
            if name not in defined and _is_footnote_mark(block, mark, bool(defined)):
                said = f"the footnote {shown(mark.target)} has no text"
                yield block.finding(said, mark.start, before=_CONTEXT)
    for name, line in defined.items():
        if name not in used:
            said = f"nothing refers to the footnote {shown(name)}"
            yield page.finding(said, line, severity=Severity.INFO)


def _is_footnote_mark(block: Block, mark: InlineLink, any_defined: bool) -> bool:
    """True for a footnote, not for a regular expression such as `[^a-z]+` without backticks."""
    is_repeated = block.text.startswith(tuple("*+?{]"), mark.end)
    is_name = _FOOTNOTE_NAME.fullmatch(mark.target) and not _RANGE.fullmatch(mark.target)
    return bool(is_name and not is_repeated and (any_defined or mark.target.isdigit()))


@rule(
    "every link label is defined",
    "Add `[label]: address` below, or write the address in the link.",
)
def undefined_references(page: Page) -> Iterator[TypedFinding]:
    """Look for brackets side by side that the reader, who knows all definitions, took for text."""
    for block in page.texts:
        for found in _REFERENCE.finditer(block.prose):
            words, start = found[1], found.start()
            label = found[2] or words
            if block.link_at(start) or _is_site_label(page, label):
                continue
            if _is_reference(block, start, words, label):
                said = f"the link label {shown(label)} is defined nowhere"
                yield block.finding(said, start, before=_CONTEXT)


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
