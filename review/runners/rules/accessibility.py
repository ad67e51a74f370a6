"""Rules for readers who do not see the page: alternative texts, real headings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from review.protocol.typed_review import TypedFinding
from review.runners.rules.blocks import BlockKind
from review.runners.rules.lists import EMPTY_ALTERNATIVES
from review.runners.rules.page import Page
from review.runners.rules.quoting import shown
from review.runners.rules.rule import info_if, rule
from review.runners.rules.words import plain

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
_WITHOUT = "an image without alternative text"
# Words of a whole sentence, which is said with force; a heading may begin as a question does.
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|cannot|could|will|would|must|should|might|does|did|not|never"
    r"|please|ist|sind|wird|werden|hat|haben|kann|können|muss|müssen|soll|darf|nicht|est|sont|sera|peut"
    r"|doit|faut|está|están|fue|puede|debe|è|sono|può|deve|são|pode)\b|n['\u2019]t\b|[你您]|注意|不要"
)
_QUESTION = re.compile(
    r"(?:how|what|when|where|which|who|why|whether|was|wer|wie|wann|warum|wo|comment|pourquoi|quand|où"
    r"|qu|cómo|qué|cuándo|dónde|come|perché|como|por)\b",
    re.IGNORECASE,
)
_LONGEST_HEADING = 80
_HEADS = frozenset({BlockKind.PARAGRAPH, BlockKind.ITEM})


@rule(
    "every image has an alternative text that describes it",
    "Say in the brackets what the image shows and why it is here.",
)
def images_without_alt_text(page: Page) -> Iterator[TypedFinding]:
    html = [block for block in page.blocks if block.kind is BlockKind.HTML]
    for block in [*page.texts, *html]:
        for image in block.inline.images:
            said = _fault_of(image.text.strip())
            if said and not _PLAYER.match(image.target):  # which is no image
                yield block.finding(said, image.start, end=image.end)
        tags = [(found.start(), found[0]) for found in _HTML_IMAGE.finditer(block.text)]
        for offset, tag in tags if block.kind is BlockKind.HTML else block.inline.html_images:
            if not _HTML_ALT.search(tag):
                yield block.finding(_WITHOUT, offset)


def _fault_of(alternative: str) -> str:
    if not alternative:
        return _WITHOUT
    is_no_description = (
        plain(alternative) in EMPTY_ALTERNATIVES
        or _FILE_NAME.fullmatch(alternative)
        or _NUMBERED.fullmatch(alternative.lower())
    )
    said = f"the alternative text {shown(alternative)} does not describe the image"
    return said if is_no_description else ""


@rule(
    "no bold line stands in place of a heading",
    "Make it a heading of the level below the section it stands in.",
)
def bold_as_heading(page: Page) -> Iterator[TypedFinding]:
    counts = Counter(block.text.strip() for block in page.blocks)
    for block, below in pairwise(page.blocks):
        text = block.text.strip()
        if block.kind is not BlockKind.PARAGRAPH or BlockKind.ITEM in block.inside:
            continue
        found = _BOLD_LINE.fullmatch(text) if len(text) <= _LONGEST_HEADING else None
        # Followed by code, a table or an image it is a caption.
        stands_alone = block.gap_before and below.gap_before and below.kind in _HEADS
        if found is None or not stands_alone or below.text.startswith("!"):
            continue
        words = (found[1] or found[2]).strip()
        is_sentence = _CLAUSE.search(words) and not _QUESTION.match(words)
        if words and words[-1].isalnum() and not is_sentence:
            # Repeated text there is a label.
            said = f"the bold line {shown(words)} stands where a heading would"
            yield block.finding(said, severity=info_if(counts[text] > 1))
