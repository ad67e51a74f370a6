"""Measures a change of a note as a gate sees it, and says whether it is trivial to that gate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from review.domain.applicability import SKIP_KEY
from review.domain.diffs.lines import numbered, shared_ends
from review.domain.regions import Regions
from review.vocabulary import Region, Staleness


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

_REWRITE = re.compile(r"rewrite\s*+\(\s*+(\d*+\.\d++|\d++\.?)\s*+\)")


@dataclass(frozen=True, slots=True)
class Change:
    """A change through a gate's eyes: the watched regions it touched, in the order of `Region`.

    `body_ratio` is what was inserted or deleted, as a share of the reviewed body's words, watched
    or not; it may exceed 1.
    """

    watched: tuple[Region, ...]
    body_ratio: float
    trivial: bool


def changed_regions(before: Regions, after: Regions) -> frozenset[Region]:
    """Return the regions that differ in any byte; what a note skips is in none of them.

    Two texts that differ in anything else never give none.
    """
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
    """Return the words that were inserted or deleted, as a share of the words of `before`.

    0 for the same words; a body that more than doubles, or is replaced, has more than 1. What
    Markdown reads between words counts as one: a break between paragraphs, an indentation, a hard
    line break. Rewrapping lines changes nothing.

    Lines are counted instead where a text has more than `MAX_WORDS` words. Where it has more than
    `MAX_LINES` lines too, everything between the first and the last difference counts as changed.
    """
    old, new = _tokens(before), _tokens(after)
    size = len(before.split())
    if max(len(old), len(new)) > MAX_WORDS:
        old, new = before.split("\n"), after.split("\n")
        size = len(old)
    return _changed_tokens(old, new) / max(1, size)


def _changed_tokens(old: Sequence[str], new: Sequence[str]) -> int:
    """Return a lower bound of the tokens inserted or deleted."""
    if old == new:
        return 0
    if max(len(old), len(new)) > MAX_LINES:
        return len(old) + len(new) - 2 * sum(shared_ends(old, new))
    from rapidfuzz.distance import Indel  # a warm selector measures nothing

    return Indel.distance(*numbered(old, new))


def as_gate_sees(
    before: Regions,
    after: Regions,
    *,
    watches: frozenset[Region],
    rewrite_threshold: float | None,
) -> Change:
    """Judge a change: trivial if nothing watched changed, or only the body and by little enough.

    `rewrite_threshold` is what `parse_staleness_rule` gave for the gate.
    """
    changed = changed_regions(before, after)
    share = body_ratio(before.body, after.body) if Region.BODY in changed else 0.0
    watched = tuple(region for region in Region if region in changed and region in watches)
    by_little = rewrite_threshold is not None and share <= rewrite_threshold
    return Change(watched, share, not watched or (watched == (Region.BODY,) and by_little))


def parse_staleness_rule(raw: str) -> float | None:
    """Read a gate's `staleness`: `None` for `changed`, the share 0..1 for `rewrite(0.5)`.

    :raises ValueError: anything else.
    """
    rule = raw.strip().lower()
    if rule == "changed":
        return None
    found = _REWRITE.fullmatch(rule)
    if found is None or float(found[1]) > 1:
        raise ValueError(f"{raw[:80]!r} is no staleness rule; expected changed, or rewrite(0.5)")
    return float(found[1])


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    between = ""  # what stands between the last words and the next
    for line in text.split("\n"):
        words = line.split()
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
