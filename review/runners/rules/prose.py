"""Rules on paragraphs and sentences: repeated, overlong, unfinished, or tied to a day or a place on the page."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, pairwise, takewhile

from review.runners.rules.blocks import OPAQUE, Block, BlockKind
from review.runners.rules.lists import NEVER_TWICE
from review.runners.rules.page import Findings, Page, info_if, rule
from review.runners.rules.words import (
    ends_few_sentences,
    is_ragged,
    plain,
    sentences,
    shown,
    word_count,
)
from review.vocabulary import Severity

_FEWEST_REPEATED_WORDS = 15
_TABS = re.compile(
    r"<Tab|^[ \t]*(?:===[!+]? \"|:{3,}[ \t]*\{?tab)|\{[%{]<?[ \t]*(?:end)?tab",
    re.MULTILINE | re.IGNORECASE,
)
_LONGEST_PARAGRAPH = 200
_SURELY_LONG = 250
_OPENING = r"(?:^|(?<=\n))[ \t]*[*_]{0,3}"
_MARK = r"(?:TODO|FIXME|TBD|TBC|XXX)"
_PLACEHOLDER = re.compile(
    rf"(?<![\w\"“\u2018'/-])(?<!\w[ ])(?<!//[ ]){_MARK}(?:\([^()\n]{{0,40}}\))?[*_]{{0,3}}:(?!\w)"
    rf"|(?<![\"”] )[(\[]{_MARK}(?:[:;, ][^()\[\]\n]{{0,200}})?[)\]]"
    rf"|{_OPENING}{_MARK}[*_]{{0,3}}[ \t]+(?!(?:lists?|items?|comments?|marks?|markers?|apps?|files?|"
    r"entry|entries|tests?|is|are|and|or|in|tags?|labels?|tokens?|words?|placeholders?)\b)[a-z]"
    r"|\[(?:insert|your|fill in|add|describe)\b[^\[\]\n]{2,80}\](?![(\[/\\])"
    r"|(?<![\\/=])<(?:insert|your|fill in|placeholder)\b[^<>\n]{0,80}>"
)
_WHOLE_PLACEHOLDER = re.compile(
    rf"[*_(\[]{{0,3}}(?:{_MARK}|(?i:to be (?:determined|decided|written|defined|completed|added|"
    r"announced|done|filled in)|coming soon|fill (?:me |this )?in|work in progress|"
    r"under construction|placeholder(?: text)?))[*_)\].!…]{0,6}"
)
# Says that it is the text that is unfinished, and not a plan or a product.
_UNWRITTEN = re.compile(
    rf"[*_(\[]*(?:{_MARK}|(?i:to be (?:written|completed|added|filled)|fill|under con))"
)
_TO_WRITE = re.compile(
    rf"[*_(\[]*(?:(?i:fill)|{_MARK}\b.{{0,40}}?\b(?i:writ\w+|say|add|cover|describe|document|docs|explain|expand|elaborate|finish"
    r"|complete|fill|rewrite|clarify|mention|examples?|links?|sections?|diagrams?|screenshots?)\b)"
)
_TASK = re.compile(r"[#* ]*TODO\b")  # which Logseq keeps in a block of its own
_MARKED = "a mark of work to be done"
# Templates, and what tells of a day, as it was then.
_PASSING = re.compile(
    r"(?:^|[/_. -])(?:templates?|posts?|blogs?|news|journals?|daily|changelogs?)(?:[/_. -]|$)",
    re.IGNORECASE,
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
    r"\b(?<!not )(?:see|as|mentioned|described|discussed|noted|explained|listed|shown|defined|outlined|stated|"
    r"introduced|given|covered|said|cited|referenced)[ \n](?:(?:mentioned|described|discussed|noted|"
    r"explained|listed|shown|defined|outlined|stated|said|cited)[ \n])?"
    r"(?:above|below|(?<!see\s)(?<!as\s)(?:earlier|previously))\b"
    r"|\bthe[ \n](?:above|below)(?:-mentioned)?[ \n](?:section|paragraph|list|table|example|figure|"
    r"diagram|code|text|passage|quote|note|chapter|point|points|sections|paragraphs)\b"
    r"|\b(?:afore|above-?)mentioned\b",
    re.IGNORECASE,
)
_DATED = ("date", "created", "published", "publishDate", "pubDate", "posted", "lastmod", "updated")
_ADDRESSES = ("path", "slug", "permalink", "url")
_DATE = re.compile(
    r"(?<!\d)(?:19|20)\d\d[-/._]?(?:0[1-9]|1[0-2])(?:[-/._]?(?:[0-2]\d|3[01]))?(?!\d)"
    r"|(?i:\b(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])[a-zé]*\.? (?:\d{1,2},? )?(?:19|20)\d\d)"
    r"|(?:19|20)\d\d\s?年"
)
_HEAD_LINES = 12
_HARD_BREAK = re.compile(r"(?: {2,}|\\)\n|<br\s*/?>\n?")
_REPEATS = re.compile(
    r"change[-_ ]?log|release[-_ ]?notes|what'?s[-_ ]new|history|\bnews\b|meeting|minutes|template|vorlage|mod[eè]le|plantilla|шаблон|模板|템플릿|テンプレート",
    re.IGNORECASE,
)
_SLOT = re.compile(r"\{\{|\$\{|_{4,}|\[(?:insert|your)\b|<[a-z _-]+>|\bTODO\b|…{2,}|\.{5,}")
_CONTEXT = 60  # characters
_NEAR = 24  # characters between a link and the words that go with it
_POINTED_AT = frozenset(
    map(BlockKind, ("cell", "code", "comment", "html", "item", "marker", "math", "table"))
)
_NO_PICTURE = ("<!--", "<a", "<br")
_SHOWN = re.compile(r"\b(?:code|table|figure|diagram|list|example|shown|listed)\b")
_NAMES_PLACE = re.compile(
    rf":|\s+(?:in|under)\s+(?:[\"“'‘]|[Ss]ection\b)|\s+the\s|[,.]?\s+{OPAQUE}{{12}}"
)  # a picture
# Between marks of the same kind, no word split by them; an apostrophe opens none within a word.
_QUOTED = re.compile(
    r"\"[^\"\n]{1,200}\"|「[^」\n]{1,200}」|“[^“”\n]{1,200}”|„[^„“”\n]{1,200}[“”]|«[^«»\n]{1,200}»"
    r"|(?<!\w)['\u2018][^'\u2018\u2019\n]{1,200}['\u2019](?!\w)"
)


@rule(
    "no paragraph stands in the note twice",
    "Keep the one where a reader needs it and link to it from the other place.",
)
def repeated_paragraphs(page: Page) -> Findings:
    # A reader sees one tab at a time.
    name = f"{page.given.note_path.rpartition('/')[2]} {page.title}"
    if _REPEATS.search(name) or _TABS.search(page.given.text):
        return
    first: dict[str, tuple[int, Block | None]] = {}
    for heading, block in page.sections:
        # A step of instructions may be needed twice, and so may what leads up to an example, a
        # picture, code and addresses; a slot tells of a template.
        is_lead = block.inside or block.text.rstrip().endswith((":", "\uff1a"))
        is_short = word_count(block.prose.replace(OPAQUE, " ")) < _FEWEST_REPEATED_WORDS
        if is_short or is_lead or _SLOT.search(block.prose):
            continue
        line, section = first.setdefault(plain(block.text), (block.line, heading))
        if line != block.line:
            # In sections that stand alone, as of a reference, it may be meant.
            severity = info_if(section is not heading)
            yield block.finding(f"this paragraph stands on line {line} already", severity=severity)


@rule(
    f"paragraphs have at most {_LONGEST_PARAGRAPH} words",
    "Split it where the subject turns; one claim a paragraph.",
)
def long_paragraphs(page: Page) -> Findings:
    for block in page.prose:
        words = max(map(word_count, _HARD_BREAK.split(block.prose)))
        if words > _LONGEST_PARAGRAPH and not _is_no_prose(block):
            said = f"a paragraph of {words} words, over {_LONGEST_PARAGRAPH}"
            # In a vault it may be pasted.
            yield block.finding(said, severity=info_if(page.is_of_vault or words <= _SURELY_LONG))


def _is_no_prose(block: Block) -> bool:
    """True for a table of contents, a list without bullets, or a pasted log."""
    return (
        sum(word_count(link.text) for link in block.links) * 2 > word_count(block.prose)
        or is_ragged(block.text)
        or ends_few_sentences(block.prose)
    )


@rule(
    "nothing in the note waits to be written",
    "Write what is missing, or take the place out and keep the task where tasks are kept.",
)
def placeholder_text(page: Page) -> Findings:
    passes = _PASSING.search(page.given.note_path) is not None
    tasks = page.given.flavour.name == "logseq"
    for block in page.texts:
        kind, prose = block.kind, block.prose
        if kind in (BlockKind.QUOTE, BlockKind.FOOTNOTE) or (tasks and _TASK.match(prose)):
            continue
        for found in _LOREM.finditer(prose):  # which mostly shows a layout, or is the subject
            said = "filler text stands for what is to be written"
            yield block.finding(said, found.start(), before=_CONTEXT, severity=Severity.INFO)
        is_whole = _WHOLE_PLACEHOLDER.fullmatch(prose.strip())
        if kind in (BlockKind.CELL, BlockKind.HEADER):
            if kind is BlockKind.CELL and prose.strip(" *_()[]") in ("TODO", "FIXME", "TBD", "TBC"):
                said = "a table cell waits to be filled"
                yield block.finding(said, severity=Severity.INFO)
        elif is_whole and kind is not BlockKind.HEADING:
            severity = info_if(passes or not _UNWRITTEN.match(prose.strip()))
            yield block.finding("a placeholder stands in place of the text", severity=severity)
        else:
            for found in _PLACEHOLDER.finditer(prose):
                mark = prose[found.start() :].lstrip()
                severity = info_if(passes or not _TO_WRITE.match(mark))
                yield block.finding(_MARKED, found.start(), before=_CONTEXT, severity=severity)


@rule("times are given so that they stay true", "Name the date or the version that is meant.")
def relative_dates(page: Page) -> Findings:
    if _is_dated(page):
        return
    for heading, block in page.sections:
        if heading is not None and (_YEAR.search(heading.text) or _DATE.search(heading.text)):
            continue
        for start, end in sentences(block.prose):
            sentence = block.prose[start:end]
            asks = sentence.rstrip(" \n*_").endswith("?")
            if not _YEAR.search(sentence) and not asks:
                yield from _dates_in(sentence, block, start)


def _dates_in(sentence: str, block: Block, start: int) -> Findings:
    for found in chain(_AGEING.finditer(sentence), _VAGUE_NOW.finditer(sentence)):
        if not _is_quoted(sentence, found):
            yield block.finding(
                f"{shown(found[0])} means another time whenever it is read",
                start + found.start(),
                before=min(found.start(), _CONTEXT),
                severity=Severity.INFO,  # the note may have a date where its readers see it
            )


def _is_dated(page: Page) -> bool:
    """True if the note is dated; then "yesterday" means one day whenever it is read."""
    path, title = page.given.note_path, page.title
    if any(map(page.field_line, _DATED)) or _YEAR.search(path) or _YEAR.search(title):
        return True
    head = "\n".join(page.document.lines[:_HEAD_LINES])
    return any(map(_DATE.search, (path, title, head, *map(page.field, _ADDRESSES))))


def _is_quoted(text: str, found: re.Match[str]) -> bool:
    return any(
        quoted.start() < found.start() and found.end() < quoted.end()
        for quoted in _QUOTED.finditer(text)
    )


@rule(
    "references to other places name or link them",
    "Name the section or link its heading; what is above today may be elsewhere tomorrow.",
)
def positional_references(page: Page) -> Findings:
    for block in page.prose:
        for found in _unlinked(block):
            words = found[0].lower()
            beside = _rest_of_section(page.blocks, block, is_below="below" in words)
            pointed_at = beside if _SHOWN.search(words) else beside[:1]
            if not any(map(_is_pointed_at, pointed_at)):
                said = f"{shown(found[0])} names no place"
                # Who reads from the top finds what was said a moment ago.
                yield block.finding(said, found.start(), before=_CONTEXT, severity=Severity.INFO)


def _rest_of_section(blocks: list[Block], block: Block, *, is_below: bool) -> list[Block]:
    """Return what stands above a block under its heading, or below it with the subsections."""
    above = blocks[: blocks.index(block)][::-1]
    text = list(takewhile(lambda one: not one.level, above))
    if not is_below:
        return text
    level = above[len(text)].level if len(text) < len(above) else 0
    return list(takewhile(lambda one: not 0 < one.level <= level, blocks[len(above) + 1 :]))


def _is_pointed_at(block: Block) -> bool:
    """True for code, lists, tables, formulas, what a site fills in, and a picture alone."""
    if block.kind is BlockKind.PARAGRAPH:
        return not block.prose.strip(f"{OPAQUE} \n")
    return block.kind in _POINTED_AT and not block.text.startswith(_NO_PICTURE)


def _unlinked(block: Block) -> Iterator[re.Match[str]]:
    """Phrases of place that neither a link, a colon nor quotation marks stand beside."""
    starts = [link.start for link in block.links]
    for found in _POSITION.finditer(block.prose):
        last = bisect_right(starts, found.end() + _NEAR)
        near = block.links[max(0, last - 2) : last]
        is_linked = any(link.end >= found.start() - _NEAR for link in near)
        is_lead_in = _NAMES_PLACE.match(block.prose, found.end())
        if not is_linked and not is_lead_in and not _is_quoted(block.prose, found):
            yield found


_LONGEST_SENTENCE = 45  # words
_NO_SENTENCE = 100  # words
_WORDS_PER_SEPARATOR = 5  # with fewer it is an enumeration, not a sentence
_SEPARATORS = re.compile("[,;\uff1b\u3001\uff0c\u00b7|]")
_PHRASAL = {
    "in": re.compile(
        r"\b(?:log|sign|zoom|opt|check|fill|plug|hand|turn|tune|kick|step|typ|mov|com|liv|pull)\w*\s$|\b(?:came|built|set|put)(?: \w+)?\s$"
    ),
    "for": re.compile(r"\b(?:ask|car|hop|long|look|paid|pay|search|wait|wish)\w*\s$"),
    "by": re.compile(r"\b(?:get|got|go|pass|stand|stood|stop|drop|swing|com|came)\w*\s$"),
}
# What somebody said, or a licence, is left as it is.
_SPEECH = re.compile(r"[*_\s]*[\"“„«「][^\"”“»」]{60}|Permission is hereby granted")
_SPOKEN = re.compile(
    r"transcript|podcast|youtube|interview-with|logs?[-_ ](?:for|of)\b", re.IGNORECASE
)
_GOES_ON = ("-", "'", "\u2019")
_WITHOUT_STOPS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
)  # Thai, Lao, Burmese, Khmer
_HOLDS_TOGETHER = "/-\"'\u201c\u2018"
_WORD = re.compile(r"[^\W\d_]+")
_LONG_WORD = re.compile(r"[a-zA-Z]{2,}")


@rule(
    f"sentences have at most {_LONGEST_SENTENCE} words",
    "Split it at its conjunctions, or make its parts a list.",
)
def overlong_sentences(page: Page) -> Findings:
    shows_lines = page.is_of_vault
    for block in () if _SPOKEN.search(page.given.note_path) else page.prose:
        for start, end in () if _SPEECH.match(block.text) else sentences(block.prose):
            sentence = block.prose[start:end]
            words = max(map(word_count, sentence.split("\n") if shows_lines else [sentence]))
            if words > _LONGEST_SENTENCE and not _is_no_sentence(sentence, words):
                said = f"a sentence of {words} words, over {_LONGEST_SENTENCE}"
                # A still longer one is a log, a transcript or a list; vaults hold what was pasted,
                # and minutes what was said.
                is_noted = words > _NO_SENTENCE or bool(_REPEATS.search(page.given.note_path))
                severity = info_if(shows_lines or is_noted)
                yield block.finding(said, start, severity=severity)


def _is_no_sentence(sentence: str, words: int) -> bool:
    """True for an enumeration, a list without bullets, or a script without full stops."""
    if len(_SEPARATORS.findall(sentence)) * _WORDS_PER_SEPARATOR >= words or is_ragged(sentence):
        return True
    is_of_signs = sentence.isascii() and len(_LONG_WORD.findall(sentence)) * 2 < words
    return is_of_signs or len(_WITHOUT_STOPS.findall(sentence)) * 2 > len(sentence)


@rule("no word stands twice in a row by mistake", "Take one of the two out.")
def repeated_words(page: Page) -> Findings:
    for block in () if _SPOKEN.search(page.given.note_path) else page.prose:
        for first, second in pairwise(_WORD.finditer(block.prose)):
            word = second[0]
            if word not in NEVER_TWICE or not _is_same_word(block.prose, first, word):
                continue
            if _stand_side_by_side(block.text, first, second):
                yield block.finding(
                    f"the word {shown(word)} stands twice", first.start(), before=30
                )


def _is_same_word(prose: str, first: re.Match[str], word: str) -> bool:
    """Not in "AND and OR" and "Move To to …", where the first is a name; a sentence may begin so."""
    if first[0] == word:
        return True
    before = prose[: first.start()].rstrip()
    return first[0] == word.capitalize() and (not before or before[-1] in ".!?:\n")


def _stand_side_by_side(text: str, first: re.Match[str], second: re.Match[str]) -> bool:
    """Not in "for for-await", and not where the doubled word is the subject: 'the "the the" typo'."""
    phrasal = _PHRASAL.get(first[0].lower())
    if phrasal and phrasal.search(text, max(0, first.start() - 20), first.start()):
        return False
    before = text[max(0, first.start() - 1) : first.start()]
    if before in _HOLDS_TOGETHER and before:
        return False
    return (
        text[first.end() : second.start()].isspace()
        and text[second.end() : second.end() + 1] not in _GOES_ON
    )
