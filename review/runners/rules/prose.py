"""Rules on paragraphs: repeated, overlong, unfinished, or tied to a day or a place on the page."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from review.protocol.typed_review import TypedFinding
from review.runners.rules.blocks import Block, BlockKind
from review.runners.rules.inline import OPAQUE
from review.runners.rules.page import Page, Passage
from review.runners.rules.registry import Check, finding, shown, warn
from review.runners.rules.words import (
    ends_few_sentences,
    is_ragged,
    plain,
    sentences,
    word_count,
)
from review.vocabulary import Severity

_FEWEST_REPEATED_WORDS = 15
_TABS = re.compile(
    r"<Tab|^[ \t]*(?:===[!+]? \"|:{3,}[ \t]*\{?tab)|\{[%{]<?[ \t]*(?:end)?tab",
    re.MULTILINE | re.IGNORECASE,
)
_LONGEST_PARAGRAPH = 180
_OPENING = r"(?:^|(?<=\n))[ \t]*[*_]{0,3}"
_MARK = r"(?:TODO|FIXME|TBD|TBC|XXX)"
_PLACEHOLDER = re.compile(
    rf"(?<![\w\"“\u2018'/-])(?<!\w[ ]){_MARK}(?:\([^()\n]{{0,40}}\))?[*_]{{0,3}}:(?!\w)"
    rf"|[(\[]{_MARK}(?:[:;, ][^()\[\]\n]{{0,200}})?[)\]]"
    rf"|{_OPENING}{_MARK}[*_]{{0,3}}[ \t]+(?!(?:lists?|items?|comments?|marks?|markers?|apps?|files?|"
    r"entry|entries|tests?|is|are|and|or|in|tags?|labels?|tokens?|words?|placeholders?)\b)[a-z]"
    r"|\[(?:insert|your|fill in|add|describe)\b[^\[\]\n]{2,80}\](?![(\[])"
    r"|<(?:insert|your|fill in|placeholder)\b[^<>\n]{0,80}>",
)
_WHOLE_PLACEHOLDER = re.compile(
    rf"[*_(\[]{{0,3}}(?:{_MARK}|(?i:to be (?:determined|decided|written|defined|completed|added|"
    r"announced|done|filled in)|coming soon|fill (?:me |this )?in|work in progress|"
    r"under construction|placeholder(?: text)?))[*_)\]]{0,3}[.!…]{0,3}"
)
_LOREM = re.compile(r"\blorem\s+ipsum\s+dolor\b", re.IGNORECASE)
_UNITS = (
    r"(?:week|weekend|month|quarter|year|semester|spring|summer|autumn|fall|winter|monday|"
    r"tuesday|wednesday|thursday|friday|saturday|sunday)"
)
_AGEING = re.compile(
    r"\b(?:(?<!most[ -])(?<!least[ -])(?<!more[ -])(?<!too )recently(?![ -](?:used|accessed|opened|updated|modified|added|"
    r"created|changed|viewed|played|edited|closed|visited|seen|touched|active)\b)"
    rf"|(?<!the )(?:last|next|this|the past|the coming) {_UNITS}"
    rf"|(?:a few|a couple of|some|several|two|three|\d{{1,2}}) {_UNITS}s? ago"
    r"|in the near future|the other day)\b",
    re.IGNORECASE,
)
_VAGUE_NOW = re.compile(
    r"\b(?:(?<!\ba )(?<!\bthe )(?<!\bany )(?<!\bthat )(?<!you are )(?<!you're )currently(?! (?:being|in use|used|using|pending|scheduled|running|loaded|open|active|selected|visible|logged|looks?|exists?|under)\b)|nowadays|these days|yesterday|at the moment(?! (?:it|he|she|the|a|an|that|when|where|of|they|you|we|i)\b)|at present|as of (?:today|now|this writing))\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b|\bFY\d\d\b")
_POSITION = re.compile(
    r"\b(?:see|as|mentioned|described|discussed|noted|explained|listed|shown|defined|outlined|stated|"
    r"introduced|given|covered|said|cited|referenced)[ \n](?:(?:mentioned|described|discussed|noted|"
    r"explained|listed|shown|defined|outlined|stated|said|cited)[ \n])?"
    r"(?:above|below|(?<!see )(?<!as )(?:earlier|previously))\b"
    r"|\bthe[ \n](?:above|below)(?:-mentioned)?[ \n](?:section|paragraph|list|table|example|figure|"
    r"diagram|code|text|passage|quote|note|chapter|point|points|sections|paragraphs)\b"
    r"|\b(?:afore|above-?)mentioned\b",
    re.IGNORECASE,
)
_DATE_KEYS = (
    "date",
    "created",
    "published",
    "publishDate",
    "pubDate",
    "posted",
    "lastmod",
    "updated",
)
_DATE = re.compile(
    r"(?<!\d)(?:19|20)\d\d[-/._]?(?:0[1-9]|1[0-2])(?:[-/._]?(?:[0-2]\d|3[01]))?(?!\d)"
    r"|(?i:\b(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zé]*\.? (?:\d{1,2},? )?(?:19|20)\d\d)"
    r"|(?:19|20)\d\d\s?年"
)
# Of the reader's time, of a process, or of a case: true whenever it is read.
_ANY_DAY = re.compile(
    r"\b(?:you|your|you've|you'll|if|when(?:ever)?|unless|each|every|they|their|who|that|which|"
    r"e\.g|for example|imagine|suppose|can|should|must|may)\b|^This \w+ (?:is|means|will)\b",
    re.IGNORECASE,
)
_NAME_OF_TIME = re.compile(r"\w+ [A-Z]")  # "This Week in Startups"
_RECENT_EVENT = re.compile(
    r"(?:\b(?:we|i|it|has|have|had|was|were|been|be|is|are)|'ve|\b[A-Z]\w+) $"
)
_HEAD_LINES = 12
_HARD_BREAK = re.compile(r"(?: {2,}|\\)\n|<br\s*/?>\n?")
_REPEATS = re.compile(
    r"change[-_ ]?log|release[-_ ]?notes|what'?s[-_ ]new|history|\bnews\b|template|vorlage|mod[eè]le|plantilla|шаблон|模板|템플릿|テンプレート",
    re.IGNORECASE,
)
_SLOT = re.compile(r"\{\{|\$\{|_{4,}|\[(?:insert|your)\b|<[a-z _-]+>|\bTODO\b|…{2,}|\.{5,}")
_CONTEXT = 60  # characters
_NEAR = 24  # characters between a link and the words that go with it
_POINTED_AT = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.ITEM, BlockKind.MATH})
# Between marks of the same kind, no word split by them; an apostrophe opens none within a word.
_QUOTED = re.compile(
    r"\"[^\"\n]{1,200}\"|「[^」\n]{1,200}」|“[^“”\n]{1,200}”|„[^„“”\n]{1,200}[“”]|«[^«»\n]{1,200}»"
    r"|(?<!\w)['\u2018][^'\u2018\u2019\n]{1,200}['\u2019](?!\w)"
)


def _repeated_paragraphs(page: Page) -> Iterator[TypedFinding]:
    if _REPEATS.search(f"{page.given.note_path.rpartition('/')[2]} {page.title}"):
        return
    first: dict[str, tuple[int, Block | None]] = {}
    if _TABS.search(page.given.text):
        return  # a reader sees one tab at a time
    for heading, passage in page.sections:
        block = passage.block
        # A step of instructions may be needed twice, and so may what leads up to an example, a
        # picture, code and addresses; a slot tells of a template.
        is_lead = block.inside or block.text.rstrip().endswith((":", "\uff1a"))
        own_words = word_count(passage.prose.replace(OPAQUE, " "))
        is_short = own_words < _FEWEST_REPEATED_WORDS
        if is_short or is_lead or _SLOT.search(passage.prose):
            continue
        line, section = first.setdefault(plain(block.text), (block.line, heading))
        if line != block.line:
            # In sections that stand alone, as of a reference, it may be meant.
            yield finding(
                Severity.WARN if section is heading else Severity.INFO,
                f"this paragraph stands on line {line} already",
                quote=block.text.lstrip(),
                line=block.line,
            )


def _long_paragraphs(page: Page) -> Iterator[TypedFinding]:
    for passage in page.prose:
        words = max(map(word_count, _HARD_BREAK.split(passage.prose)))
        if words > _LONGEST_PARAGRAPH and not _is_no_prose(passage):
            yield warn(
                f"a paragraph of {words} words, over {_LONGEST_PARAGRAPH}",
                quote=passage.block.text.lstrip(),
                line=passage.block.line,
            )


def _is_no_prose(passage: Passage) -> bool:
    """True for a table of contents, a list without bullets, or a pasted log."""
    linked = sum(word_count(link.text) for link in passage.links)
    return (
        linked * 2 > word_count(passage.prose)
        or is_ragged(passage.block.text)
        or ends_few_sentences(passage.prose)
    )


def _placeholders(page: Page) -> Iterator[TypedFinding]:
    # Where the source is shown too, the filler is an example.
    is_shown = any(
        block.kind is BlockKind.CODE and _LOREM.search(block.text) for block in page.blocks
    )
    for passage in page.passages:
        block = passage.block
        if block.kind in (BlockKind.QUOTE, BlockKind.FOOTNOTE):
            continue
        for found in () if is_shown else _LOREM.finditer(passage.prose):
            yield _placed(
                Severity.FAIL, "filler text stands for what is to be written", passage, found
            )
        if block.kind is BlockKind.CELL:
            if not block.level and _WHOLE_PLACEHOLDER.fullmatch(passage.prose.strip()):
                yield warn("a table cell waits to be filled", quote=block.source, line=block.line)
        elif block.kind is not BlockKind.HEADING and _WHOLE_PLACEHOLDER.fullmatch(
            passage.prose.strip()
        ):
            said = "a placeholder stands in place of the text"
            yield warn(said, quote=block.text.lstrip(), line=block.line)
        else:
            for found in _PLACEHOLDER.finditer(passage.prose):
                yield _placed(Severity.WARN, "a mark of work to be done", passage, found)


def _relative_dates(page: Page) -> Iterator[TypedFinding]:
    if _is_dated(page):
        return
    for heading, passage in page.sections:
        if heading is not None and (_YEAR.search(heading.text) or _DATE.search(heading.text)):
            continue
        for start, end in sentences(passage.prose):
            sentence = passage.prose[start:end]
            asks = sentence.rstrip(" \n*_").endswith("?")
            if not _YEAR.search(sentence) and not asks:
                yield from _dates_in(sentence, passage, start)


def _dates_in(sentence: str, passage: Passage, start: int) -> Iterator[TypedFinding]:
    for severity, pattern in ((Severity.WARN, _AGEING), (Severity.INFO, _VAGUE_NOW)):
        for found in pattern.finditer(sentence):
            if not _is_quoted(sentence, found):
                is_event = _is_event(sentence, found)
                yield _aged(severity if is_event else Severity.INFO, passage, start, found)


def _is_event(sentence: str, found: re.Match[str]) -> bool:
    """True for a complete sentence about a single past or future event."""
    if not sentence.rstrip(" \n*_)").endswith((".", "!")) or _ANY_DAY.search(sentence):
        return False
    if found[0].lower() == "recently":
        if not sentence[: found.start()].strip(" *_"):
            return sentence.startswith(",", found.end())
        return bool(_RECENT_EVENT.search(sentence, 0, found.start()))
    is_named = _NAME_OF_TIME.match(found[0]) or sentence[found.end() :][:1] in ("'", "\u2019", "-")
    return not is_named and found[0].lower() != "in the near future"


def _is_dated(page: Page) -> bool:
    """True if the note is dated; then "yesterday" means one day whenever it is read."""
    if any(page.field(key) for key in _DATE_KEYS):
        return True
    if _YEAR.search(page.given.note_path) or _YEAR.search(page.title):
        return True
    head = "\n".join(page.document.lines[:_HEAD_LINES])
    return any(_DATE.search(text) for text in (page.given.note_path, page.title, head))


def _aged(severity: Severity, passage: Passage, start: int, found: re.Match[str]) -> TypedFinding:
    offset = start + found.start()
    return finding(
        severity,
        f"{shown(found[0])} means another time whenever it is read",
        quote=passage.block.excerpt(offset, before=min(found.start(), _CONTEXT)),
        line=passage.block.line_at(offset),
    )


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    return any(
        quoted.start() < found.start() and found.end() < quoted.end()
        for quoted in _QUOTED.finditer(text)
    )


def _positions(page: Page) -> Iterator[TypedFinding]:
    above = {block.line: before.kind for before, block in pairwise(page.blocks)}
    below = {block.line: after.kind for block, after in pairwise(page.blocks)}
    for passage in page.prose:
        line = passage.block.line
        for found in _unlinked(passage):
            beside = above if "above" in found[0].lower() else below
            if beside.get(line) not in _POINTED_AT:
                said = f"{shown(found[0])} names no place"
                yield _placed(Severity.WARN, said, passage, found)


def _unlinked(passage: Passage) -> Iterator[re.Match[str]]:
    """Phrases of place that neither a link, a colon nor quotation marks stand beside."""
    links = passage.links
    starts = [link.start for link in links]
    for found in _POSITION.finditer(passage.prose):
        last = bisect_right(starts, found.end() + _NEAR)
        near = links[max(0, last - 2) : last]
        if any(link.end >= found.start() - _NEAR for link in near):
            continue
        if not passage.prose.startswith(":", found.end()) and not _is_quoted(passage.prose, found):
            yield found


def _placed(severity: Severity, said: str, passage: Passage, found: re.Match[str]) -> TypedFinding:
    block, offset = passage.block, found.start()
    quote = block.excerpt(offset, before=_CONTEXT)
    return finding(severity, said, quote=quote, line=block.line_at(offset))


CHECKS = (
    Check(
        "repeated-paragraphs",
        "No paragraph twice",
        "no paragraph stands in the note twice",
        "Keep the one where a reader needs it and link to it from the other place.",
        _repeated_paragraphs,
    ),
    Check(
        "long-paragraphs",
        "Paragraphs of a readable length",
        f"paragraphs have at most {_LONGEST_PARAGRAPH} words",
        "Split it where the subject turns; one claim a paragraph.",
        _long_paragraphs,
    ),
    Check(
        "placeholder-text",
        "No placeholders",
        "nothing in the note waits to be written",
        "Write what is missing, or take the place out and keep the task where tasks are kept.",
        _placeholders,
    ),
    Check(
        "relative-dates",
        "Dates that stay true",
        "times are given so that they stay true",
        "Name the date or the version that is meant.",
        _relative_dates,
    ),
    Check(
        "positional-references",
        "References that name their place",
        "references to other places name or link them",
        "Name the section or link its heading; what is above today may be elsewhere tomorrow.",
        _positions,
    ),
)
