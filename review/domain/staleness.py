"""Cuts notes into the parts that gates watch, and judges a change of them as a gate sees it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from review.domain.applicability import SKIP_KEY
from review.domain.diffs.lines import numbered, shared_ends
from review.domain.markdown.document import read_markdown
from review.domain.markdown.frontmatter import parse_frontmatter
from review.vocabulary import Region, Staleness

# What may be a heading of level 1, in the line that makes it one.
_H1_LINE = re.compile(r"(?:^|[\r\n]) {0,3}(?:#[ \t]|=+[ \t]*(?=[\r\n]|\Z))[^\r\n]*")
_LINE_END = re.compile(r"\r\n?|\n|\Z")


@dataclass(frozen=True, slots=True)
class Regions:
    """The watched parts of one text.

    `title` is the first H1 as it is written, marks included and its line end not; without an H1 it
    is the frontmatter's title. `title_text` are its words. `frontmatter` is the whole block with its
    marker lines (and a BOM), `body` what follows it less the H1, which stood at `title_offset` of
    the body. So `frontmatter + body[:title_offset] + title + body[title_offset:]` is the text again.
    """

    title: str
    title_text: str
    description: str
    frontmatter: str
    body: str
    title_offset: int | None = None


def regions_of(text: str) -> Regions:
    """Cut `text` up; an H1 is `# …` or a paragraph underlined with `=`."""
    matter = parse_frontmatter(text)
    offset = matter.body_offset or text.startswith("\ufeff")
    block, body = text[:offset], text[offset:]
    description = _scalar(matter.fields.get("description"))
    first = _H1_LINE.search(body)
    # The first that may be one usually is: nothing below it need be read.
    for piece in (body[: first.end()], body) if first else ():
        if found := _find_title(piece):
            start, end, words = found
            return Regions(
                body[start:end], words, description, block, body[:start] + body[end:], start
            )
    title = _scalar(matter.fields.get("title"))
    return Regions(title, title.strip(), description, block, body)


def _scalar(value: object) -> str:
    """Return a value that should be text as a gate sees it; a list must not look like no value."""
    return value if isinstance(value, str) else "" if value is None else repr(value)


def _find_title(body: str) -> tuple[int, int, str] | None:
    for token, inline in pairwise(read_markdown(body).tokens):
        words = " ".join(inline.content.split())
        if token.tag == "h1" and token.type == "heading_open" and token.level == 0 and words:
            first, behind = token.map or (0, 1)
            ends = list(_LINE_END.finditer(body))
            return ends[first - 1].end() if first else 0, ends[behind - 1].start(), words
    return None


@dataclass(frozen=True, slots=True)
class Digests:
    """The two texts of a pair as hashes or snapshot ids, compared for equality only."""

    note: object
    gate: object


def staleness_reasons(*, current: Digests, accepted: Digests | None) -> tuple[Staleness, ...]:
    """Return every reason that holds, in the order of precedence; `()` is fresh."""
    if accepted is None:
        return (Staleness.MISSING_REVIEW,)
    reasons = []
    if accepted.gate != current.gate:
        reasons.append(Staleness.GATE_CHANGED)
    if accepted.note != current.note:
        reasons.append(Staleness.NOTE_CHANGED)
    return tuple(reasons)


MAX_WORDS = 20_000  # 0.06 s at the worst; 90,000 words took 1.4 s
MAX_LINES = 60_000  # 0.6 s at the worst

_SKIPS = re.compile(rf"^{SKIP_KEY}[ \t]*[:=].*(?:\r?\n|\Z)(?:[ \t]+.*(?:\r?\n|\Z))*", re.MULTILINE)
_PARAGRAPH = "\n\n"
_HARD_BREAK = "  \n"
_TELLING_INDENT = 2
# In scripts without spaces each sign is one: Thai, Lao, Khmer, and from CJK on.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1780-\u17ff\u2e80-\uffff]|[^\s\u0e00-\u0eff\u1780-\u17ff\u2e80-\uffff]+"
)


@dataclass(frozen=True, slots=True)
class Change:
    """A change through a gate's eyes: watched regions, and the share of words; may exceed 1."""

    watched: tuple[Region, ...]
    body_ratio: float
    trivial: bool


def changed_regions(before: Regions, after: Regions) -> frozenset[Region]:
    """Return the regions that differ in any byte; what a note skips is in none of them."""
    changed = {
        region for region in Region if getattr(before, region.value) != getattr(after, region.value)
    }
    if _without_skips(before.frontmatter) == _without_skips(after.frontmatter):
        changed.discard(Region.FRONTMATTER)
    if before.title_offset != after.title_offset:
        changed.add(Region.BODY)  # the heading moved among the same words
    return frozenset(changed)


def _without_skips(frontmatter: str) -> str:
    rest = _SKIPS.sub("", frontmatter)
    return "" if rest != frontmatter and not rest.strip("-+ \t\r\n") else rest


@lru_cache(maxsize=16)  # each gate asks about the same texts
def body_ratio(before: str, after: str) -> float:
    """Return the words that were inserted or deleted, as a share of those of `before`.

    What Markdown reads between words counts as one: a break between paragraphs, an indentation,
    a hard break. Above `MAX_WORDS` lines count, above `MAX_LINES` all from first to last.
    """
    old, new = _tokens(before), _tokens(after)
    size = len(_words(before))
    if max(len(old), len(new)) > MAX_WORDS:
        old, new = before.split("\n"), after.split("\n")
        size = len(old)
    return _changed_tokens(old, new) / max(1, size)


def _changed_tokens(old: Sequence[str], new: Sequence[str]) -> int:
    """Return a lower bound of the tokens inserted or deleted."""
    if max(len(old), len(new)) > MAX_LINES:
        return len(old) + len(new) - 2 * sum(shared_ends(old, new))
    from rapidfuzz.distance import Indel  # a warm selector measures nothing

    return Indel.distance(*numbered(old, new))


def as_gate_sees(
    before: Regions, after: Regions, *, watches: frozenset[Region], rewrite_threshold: float | None
) -> Change:
    """Judge a change: trivial if nothing watched changed, or only the body and by little enough."""
    changed = changed_regions(before, after)
    share = body_ratio(before.body, after.body) if Region.BODY in changed else 0.0
    watched = tuple(region for region in Region if region in changed and region in watches)
    by_little = rewrite_threshold is not None and share <= rewrite_threshold
    return Change(watched, share, not watched or (watched == (Region.BODY,) and by_little))


def _words(text: str) -> list[str]:
    return text.split() if text.isascii() else _WORD.findall(text)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    between = ""  # what stands between the last words and the next
    for line in text.split("\n"):
        words = _words(line)
        if not words:
            between = _PARAGRAPH
            continue
        if between and tokens:
            tokens.append(between)
        indentation = line[: len(line) - len(line.lstrip())]
        if len(indentation.expandtabs()) >= _TELLING_INDENT:
            tokens.append(indentation)
        tokens += words
        between = _HARD_BREAK if line.removesuffix("\r").endswith("  ") else ""
    return tokens
