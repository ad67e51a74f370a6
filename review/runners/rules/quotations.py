"""The rule on quotations: what a note quotes from another stands there, word for word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter

from review.domain.markdown.links import RuleInput
from review.runners.rules.blocks import OPAQUE, Block, BlockKind, InlineLink
from review.runners.rules.page import Findings, Page, info_if, page_of, rule
from review.runners.rules.words import sentences, shown, word_count, word_sequence

_FEWEST_WORDS = 5
_LONGEST_CREDIT = 6  # words beside the link
_NEAREST = 0.5  # of the quotation's words
_QUOTED = re.compile(
    r"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|(?<![\w\"])\"(?=\S)([^\"“”]+)(?<=\S)\"(?![\w\"])"
)
# Between a quotation and the link that follows it, or before the link of an attribution.
_CREDIT = r"(?:\(\s*|[-–—―]+\s*)(?:from|in|source)?:?\s*"
_CREDITED = re.compile(rf"[.,;:!?…]*\s*{_CREDIT}", re.IGNORECASE)
_CREDIT_LINE = re.compile(rf"\s*(?:{_CREDIT}|(?:from|source):?\s+)", re.IGNORECASE)
# Between a link and the quotation that follows it; a colon alone may introduce any words.
_SAYS = re.compile(
    r"[*_)]*,?\s+(?:says|states|reads|writes|puts it|defines it|warns|explains)"
    r"(?: so| it| that)?[:,]?\s*",
    re.IGNORECASE,
)
# The words may be those of another text, or of none.
_UNCERTAIN = re.compile(
    r"\b(?:not?|never|nothing|nobody|longer|instead|rather|used to|would|should|could|might|must|may"
    r"|until|once|replac\w*|remov\w*|renam\w*|reword\w*|chang\w*|old|former\w*|previous\w*|earlier"
    r"|originally|paraphras\w*|translat\w*|roughly|essentially|in short|in effect|as if)\b|n['’]t\b",
    re.IGNORECASE,
)
_SHORTENED = re.compile(r"(?:\[|\()?(?:…|\.{3,}|\. \. \.)(?:\]|\))?|\[[^\]]*\]")
_ALTERED_LETTER = re.compile(r"\[(\w)\](?=\w)")


_Quotation = tuple[Block, int, str, str]  # with the offset, the words, and their source


@rule(
    "what the note quotes from other notes stands in them",
    "Copy the words as they stand, with […] for what is left out, or drop the quotation marks.",
)
def verbatim_quotes(page: Page) -> Findings:
    notes = {
        link.target: link.resolved
        for link in page.given.links
        if link.resolved and link.resolved != page.given.note_path
    }
    found = [*_in_sentences(page, notes), *_in_blocks(page, notes)]
    for block, start, words, path in sorted(found, key=lambda item: item[0].line_at(item[1])):
        source = _source_of(page, path)
        if source is None or word_count(words) < _FEWEST_WORDS:
            continue
        readable = "\n".join(map(_readable, source.texts))
        if not (_stands_in(words, readable) or _stands_in(words, source.given.text)):
            said = f"{shown(words)} does not stand word for word in {shown(path)}"
            line, nearest = _nearest(words, source)
            near = f"; the nearest passage, on its line {line}: {shown(nearest)}" if nearest else ""
            is_doubtful = block.kind is BlockKind.QUOTE and not near  # a person's words, perhaps
            yield block.finding(said + near, start, severity=info_if(is_doubtful))


def _in_sentences(page: Page, notes: dict[str, str]) -> Iterator[_Quotation]:
    for block in page.prose:
        text = block.prose
        for quoted in _QUOTED.finditer(text) if text.count('"') % 2 == 0 else ():
            link = _credited_link(block, quoted)
            source = notes.get(link.target) if link else None
            start = quoted.start()
            if source and not _UNCERTAIN.search(text[_sentence_start(block, start) : start]):
                words = _readable(block)[slice(*quoted.span(quoted.lastindex or 0))]
                yield block, start, words, source


def _credited_link(block: Block, quoted: re.Match[str]) -> InlineLink | None:
    """Return the link beside a quotation that names its source: `"…" ([x](y))`, `[x](y) says: "…"`."""
    text = block.text
    before = [link for link in block.links if link.end <= quoted.start()]
    if before and _SAYS.fullmatch(text[before[-1].end : quoted.start()]):
        return before[-1]
    after = [link for link in block.links if link.start >= quoted.end()]
    is_credited = after and _CREDITED.fullmatch(text[quoted.end() : after[0].start])
    return after[0] if is_credited else None


def _sentence_start(block: Block, offset: int) -> int:
    starts = [start for start, _end in sentences(block.prose) if start <= offset]
    return starts[-1] if starts else 0


def _in_blocks(page: Page, notes: dict[str, str]) -> Iterator[_Quotation]:
    """Yield the paragraphs of block quotations that a line below or a lead-in ascribes to a note."""
    for index, block in enumerate(page.texts):
        if block.kind is not BlockKind.QUOTE:
            continue
        text = _readable(block)
        credit = text.rfind("\n") + 1
        source = _credit_of(block, credit, notes)
        if source is not None:
            text = text[:credit]
        for below in page.texts[index + 1 : index + 2] if source is None else ():
            if below.line <= block.last_line + 2:
                source = _credit_of(below, 0, notes)
        if source is None and index:
            source = _led_in(page.texts[index - 1], notes)
        if source is not None:
            yield block, 0, text, source


def _credit_of(block: Block, start: int, notes: dict[str, str]) -> str | None:
    """Return the note that an attribution names: a dash, a bracket or "from", and one link."""
    links = [link for link in block.links if link.start >= start]
    if len(links) != 1 or not _CREDIT_LINE.fullmatch(block.text[start : links[0].start]):
        return None
    rest = block.prose[links[0].end :]
    is_short = word_count(rest) <= _LONGEST_CREDIT and not _UNCERTAIN.search(rest)
    return notes.get(links[0].target) if is_short else None


def _led_in(block: Block, notes: dict[str, str]) -> str | None:
    """Return the note that a lead-in names: `[x](y) says:`."""
    text = block.text.rstrip()
    if not text.endswith(":") or not block.links:
        return None
    link = block.links[-1]
    start = _sentence_start(block, link.start)
    is_certain = _SAYS.fullmatch(text[link.end :]) and not _UNCERTAIN.search(text[start:])
    return notes.get(link.target) if is_certain else None


def _readable(block: Block) -> str:
    """Return the text of a block with its code and without the addresses of its links."""
    pairs = zip(block.text, block.prose, strict=True)
    return "".join(raw if masked == OPAQUE else masked for raw, masked in pairs)


def _source_of(page: Page, path: str) -> Page | None:
    """Read a quoted note; None where it is none, or where it includes other texts."""
    anchors = page.given.anchors_of(path)
    text = page.given.text_of(path)
    if text is None or (anchors is not None and anchors.is_open):
        return None
    return page_of(RuleInput(path, text, flavour=page.given.flavour))


def _stands_in(quote: str, text: str) -> bool:
    """Tell whether the parts of a quotation stand in a text, in their order."""
    at, within = 0, f" {word_sequence(text)} "
    for part in _SHORTENED.split(_ALTERED_LETTER.sub(r"\1", quote)):
        wanted = f" {word_sequence(part)} "
        at = within.find(wanted, at) if wanted.strip() else at
        if at < 0:
            return False
        at += max(0, len(wanted) - 1) if wanted.strip() else 0
    return True


def _nearest(quote: str, source: Page) -> tuple[int, str]:
    """Give the sentence that shares most words with the quotation, and its line."""
    wanted = set(word_sequence(quote).split())
    passages = (
        (block.line_at(start), block.prose[start:end])
        for block in source.texts
        for start, end in sentences(block.prose)
    )
    shares = (
        (len(wanted.intersection(word_sequence(passage[1]).split())) / len(wanted), passage)
        for passage in passages
    )
    share, nearest = max(shares, key=itemgetter(0), default=(0.0, (0, "")))
    return nearest if share > _NEAREST else (0, "")
