"""Recognise a finding that was reported before, so that what a person decided about it holds.

Each finding of a review has a fingerprint of its own. It takes that of an earlier finding, no less
severe, at the same place or with an overlapping quote and a similar text; each earlier fingerprint
is taken once, by the most similar finding. Its state is what a person decided, while that holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, cached_property, lru_cache
from itertools import count
from typing import NamedTuple, Protocol

from review.domain.diffs.lines import follow_line, headings_at
from review.domain.paths import FINGERPRINT_LENGTH, fingerprint, normalise_prose, sha256_hex
from review.vocabulary import GRAVITY, DispositionState

_HALF = 0.5
_NEARLY_ALL = 0.8
_SAME_TEXT = 0.9
_SAME_WORDING = 0.7
_RELATED = 0.25
# A shorter quote ("the", "TODO") is part of many others without meaning the same place.
_SPECIFIC_CHARACTERS = 12
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n(?=\s*(?:\n|[-*+#|>]|\d{1,3}[.)]\s))")
# Bounds for hostile input: a review is as long as its writer likes.
MAX_COMPARISONS = 20_000
MAX_COMPARED = 2_000

_WORD = re.compile(r"[\u2e80-\uffff]|[^\W_\u2e80-\uffff]+")
_NAMED = re.compile(
    r"`([^`\n]{1,80})`|\"([^\"\n]{1,80})\"|\u201c([^\u201d\n]{1,80})\u201d"
    r"|(?<!\w)'([^'\n]{1,80})'(?!\w)|\u2018([^\u2019\n]{1,80})\u2019|\*\*([^*\n]{1,80})\*\*"
    r"|\b((?=\w*[A-Z]\w*[A-Z]|\w*[A-Za-z]\w*[0-9_])\w{2,})\b"
)
_COMMON_WORDS = frozenset(
    _WORD.findall("""
    the and for that this with from are was were has have had not but its his her their there
    here which what when where who how why can could may might must should will would been being
    does did any all some one two more most than then them they you your our into onto over
    under also only about such without within because while used uses use sentence paragraph
    section note line text word term claim
""")
)


class Reported(Protocol):
    @property
    def quote(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def severity(self) -> str: ...


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """A finding of a note and gate; of one that is reported now the fingerprint is empty.

    :param line: from 1, in the text that was reviewed: `note_text`, of an earlier finding.
    :param lines: all lines where the quote of a finding that is reported now begins.
    """

    fingerprint: str
    quote: str
    text: str
    severity: str = ""
    line: int | None = None
    note_text: str = field(default="", repr=False)
    lines: tuple[int, ...] = ()


def choose_fingerprints(
    *,
    note_path: str,
    gate_path: str,
    note_text: str,
    reported: Sequence[KnownFinding],
    earlier: Sequence[KnownFinding],
) -> tuple[str, ...]:
    """Give each finding the fingerprint it had before (`earlier`, newest first), or a new one."""
    compare = _Comparison(note_text)
    latest: dict[str, str] = {}
    compared = [
        replace(item, severity=latest.setdefault(item.fingerprint, item.severity))
        for item in earlier[: max(1, MAX_COMPARISONS // max(1, len(reported)))]
    ]
    scores = (
        (-score, age, position)
        for position, new in enumerate(reported)
        for age, old in enumerate(compared)
        if (score := compare.score(new, old)) > 0
    )
    chosen: dict[int, str] = {}
    used = {item.fingerprint for item in earlier}
    left = set(used)
    for _score, age, position in sorted(scores):
        value = compared[age].fingerprint
        if position not in chosen and value in left:
            chosen[position] = value
            left.remove(value)
    rest = [item for position, item in enumerate(reported) if position not in chosen]
    own = iter(own_fingerprints(rest, note_path=note_path, gate_path=gate_path, used=used))
    return tuple(chosen.get(position) or next(own) for position in range(len(reported)))


def own_fingerprints(
    findings: Iterable[Reported], *, note_path: str, gate_path: str, used: Iterable[str] = ()
) -> list[str]:
    """Return fingerprints of one review's findings in order, all different and none `used`."""
    taken = set(used)
    found = []
    where = {"note_path": note_path, "gate_path": gate_path}
    for item in findings:
        values = (
            fingerprint(quote=item.quote, text=item.text, number=number, **where)
            for number in count(1)
        )
        found.append(next(value for value in values if value not in taken))
        taken.add(found[-1])
    return found


def say_the_same(one: Reported, other: Reported) -> bool:
    """True if two findings with one quote may be the same remark about two places of it."""
    compare = _Comparison("")
    words = [compare.words(item.quote, item.text) for item in (one, other)]
    return one.severity == other.severity and not compare.name_different_things(*words)


class _Words(NamedTuple):
    """A finding in normal form; `named` are quoted words and identifiers, `span` the quote's."""

    text: tuple[str, ...]
    specific: frozenset[str]
    named: frozenset[str]
    quote: str
    quoted: frozenset[str]
    span: tuple[int, int] | None

    @property
    def telling(self) -> frozenset[str]:
        return self.specific | self.named


class _Comparison:
    """Compares findings of a note; the note's text is the reviewed one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.words = cache(self._read_words)
        self._places = cache(self._follow)

    @cached_property
    def _prose(self) -> str:
        return normalise_prose(self._text)

    @cached_property
    def _specific(self) -> frozenset[str]:
        return _specific(self._prose)

    def score(self, new: KnownFinding, old: KnownFinding) -> float:
        """Return how similar two findings are; 0 if they differ or the new one is more severe."""
        step = GRAVITY.get(old.severity, 0) - GRAVITY.get(new.severity, 0)
        ours, theirs = self.words(new.quote, new.text), self.words(old.quote, old.text)
        if step < 0 or self.name_different_things(ours, theirs):
            return 0.0
        alike = _agreement(ours.text, theirs.text)
        share, share_of_longer = _overlap(ours.span, theirs.span)
        if share_of_longer >= _NEARLY_ALL or (ours.quote and ours.quote == theirs.quote):
            score = self._score_of_place(new, old, alike)
        elif share >= _HALF:
            score = 1 + (share + alike) / 2 if _related(ours, theirs) else 0.0
        elif ours.quote and theirs.quote and not self._may_be_edited(ours, theirs, old):
            score = 0.0
        elif new.line in self._places(old) and _related(ours, theirs):
            score = 1 + alike / 2
        elif not ours.quote and not theirs.quote and ours.named == theirs.named:
            # Without a quote, what both name stands for the place.
            is_same = ours.named or (alike >= _SAME_TEXT and not _differ(ours, theirs))
            score = (1 + alike) / 2 if is_same else 0.0
        else:
            score = alike if alike >= _SAME_TEXT else 0.0
        return score / (1 + step)

    def name_different_things(self, ours: _Words, theirs: _Words) -> bool:
        """True if each names something of the quote (or the note) that the other does not."""
        context = ours.quoted | theirs.quoted or self._specific
        mine = ours.specific & context | ours.named
        others = theirs.specific & context | theirs.named
        if mine <= theirs.telling or others <= ours.telling:
            return False
        if ours.named and theirs.named and ours.named.isdisjoint(theirs.telling):
            return theirs.named.isdisjoint(ours.telling)
        return mine.isdisjoint(others) or _agreement(ours.text, theirs.text) >= _SAME_WORDING

    def _score_of_place(self, new: KnownFinding, old: KnownFinding, alike: float) -> float:
        """Score findings with the same quote: at the same place, an unknown one, or another."""
        places = self._places(old)
        if not (new.line and old.line and old.note_text):
            return 3 + alike
        if new.line in places:
            return 4 + alike
        # The passage that the old finding quotes is still where it was: this is another one.
        if alike < _HALF or any(line in places for line in new.lines):
            return 0.0
        headings = headings_at(old.note_text, old.line), headings_at(self._text, new.line)
        return 2 + (alike + (headings[0] == headings[1])) / 2

    def _follow(self, old: KnownFinding) -> range:
        return follow_line(old.note_text, self._text, old.line or 0) if old.note_text else range(0)

    def _read_words(self, quote: str, text: str) -> _Words:
        quote, text = normalise_prose(quote[:MAX_COMPARED]), text[:MAX_COMPARED]
        prose = normalise_prose(text)
        names = map("".join, _NAMED.findall(text))
        named = " ".join(name for name in names if normalise_prose(name) != quote)
        return _Words(
            text=tuple(_WORD.findall(prose)),
            specific=_specific(prose),
            named=_specific(normalise_prose(named), shortest=1),
            quote=quote,
            quoted=_specific(quote),
            span=self._span(quote),
        )

    def _span(self, quote: str) -> tuple[int, int] | None:
        parts = [part.strip() for part in quote.split("...") if part.strip()]
        if not parts or (start := self._prose.find(parts[0])) < 0:
            return None
        last = self._prose.find(parts[-1], start)
        return None if last < 0 else (start, last + len(parts[-1]))

    def _may_be_edited(self, ours: _Words, theirs: _Words, old: KnownFinding) -> bool:
        """True if one quote may be the other after an edit of the note: not if both are in it."""
        if ours.span and theirs.span:
            return False
        quotes = [_WORD.findall(words.quote) for words in (ours, theirs)]
        alike, line = _agreement(*quotes), old.line or 0
        if not _RELATED <= alike < _HALF:
            return alike >= _HALF
        kept = _around(old.note_text, range(line, line + 1), theirs.quote)
        around = _around(self._text, self._places(old), ours.quote), kept
        is_part = min(map(len, around)) > max(map(len, quotes))
        return is_part and _agreement(*around) >= _SAME_WORDING


@lru_cache(maxsize=64)
def _around(text: str, lines: range, quote: str) -> list[str]:
    """Return the words around a quote in its sentence, with a sign in its place."""
    passage = "\n".join(text.split("\n")[max(0, lines.start - 1) : lines.stop])
    sentences = map(normalise_prose, _SENTENCE_END.split(passage[: 4 * MAX_COMPARED]))
    return next((it.replace(quote, " > ").split() for it in sentences if quote in it), [])


def _specific(prose: str, *, shortest: int = 3) -> frozenset[str]:
    """Return the words that may name something, without the plural's s."""
    return frozenset(
        word.removesuffix("s")
        for word in _WORD.findall(prose)
        if (len(word) >= shortest or not word.isascii()) and word not in _COMMON_WORDS
    )


def _related(ours: _Words, theirs: _Words) -> bool:
    """True if two texts share specific words, or one of them has none."""
    mine, others = (frozenset(word[:6] for word in words.telling) for words in (ours, theirs))
    fewer = min(len(mine), len(others))
    return not fewer or len(mine & others) / fewer >= _RELATED


def _differ(ours: _Words, theirs: _Words) -> bool:
    """True if each text has a specific word that the other lacks."""
    return not (ours.telling <= theirs.telling or theirs.telling <= ours.telling)


def _overlap(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[float, float]:
    """Return the shares of the shorter (if not tiny) and of the longer span that both cover."""
    if one is None or other is None:
        return 0.0, 0.0
    common = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    shorter, longer = sorted(end - start for start, end in (one, other))
    return common / (shorter if shorter >= _SPECIFIC_CHARACTERS else longer), common / longer


def _agreement(one: Sequence[str], other: Sequence[str]) -> float:
    from rapidfuzz.distance import Indel

    return float(Indel.normalized_similarity(one, other))


class Decided(Protocol):
    """The latest disposition of a finding; `note_sha256` is the note's digest at that moment."""

    state: str
    note_sha256: str
    at: datetime


@dataclass(frozen=True)
class EffectiveState:
    """The state that is in force; `regressed`: called fixed, and reported again of a later text."""

    state: DispositionState
    regressed: bool = False


_OPEN = EffectiveState(DispositionState.OPEN)


def finding_state(
    decided: Decided | None, *, text_read_at: datetime, note_sha256: str
) -> EffectiveState:
    """The state of a finding of a text read then; `note_sha256` is on disk now, "" if gone."""
    if decided is None:
        return _OPEN
    if decided.state == DispositionState.FIXED and text_read_at > decided.at:
        return EffectiveState(DispositionState.OPEN, regressed=True)
    if decided.state == DispositionState.DEFERRED and decided.note_sha256 != note_sha256:
        return EffectiveState(DispositionState.OPEN)
    return EffectiveState(DispositionState(decided.state))


def review_fingerprint(*, note_path: str, gate_path: str, partition: str) -> str:
    """Identify the decision of a review that lists no finding as severe as it."""
    return sha256_hex("\n".join(("review", note_path, gate_path, partition)).encode())[
        :FINGERPRINT_LENGTH
    ]


def own_finding_text(decision: str) -> str:
    return f"The review says {decision.upper()} and lists no finding of that severity."
