"""Recognises a finding that was reported before, so that what a person decided about it holds.

Each finding of a review has a fingerprint of its own. It takes that of an earlier finding, no less
grave, that stands at the same place or whose quote overlaps and whose text is alike; each earlier
fingerprint is taken once, by the finding that is most like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from review.domain.diffs.alignment import align_lines, headings_by_line
from review.domain.paths import fingerprint, normalise_prose
from review.vocabulary import Severity

_GRAVITY: dict[str, int] = {Severity.INFO: 1, Severity.WARN: 2, Severity.FAIL: 3}
_HALF = 0.5
_MOST = 0.8
_ALIKE = 0.9
_SAME_WORDING = 0.7
_RELATED = 0.25
# A shorter quote ("the", "TODO") lies inside many others without meaning the same place.
_TELLING_CHARACTERS = 12
# Bounds for hostile input: a review is as long as its writer likes.
MAX_COMPARISONS = 20_000
MAX_COMPARED = 2_000

_WORD = re.compile(r"[\u2e80-\uffff]|[^\W_\u2e80-\uffff]+")
_MARKED = re.compile(
    r"`([^`\n]{1,80})`|\"([^\"\n]{1,80})\"|\u201c([^\u201d\n]{1,80})\u201d"
    r"|(?<!\w)'([^'\n]{1,80})'(?!\w)|\u2018([^\u2019\n]{1,80})\u2019|\*\*([^*\n]{1,80})\*\*"
)
_IDENTIFIER = re.compile(r"\b(?=\w*[A-Z]\w*[A-Z]|\w*[A-Za-z]\w*[0-9_])\w{2,}\b")
_COMMON_WORDS = frozenset(
    _WORD.findall("""
    the and for that this with from are was were has have had not but its his her their there
    here which what when where who how why can could may might must should will would been being
    does did any all some one two more most than then them they you your our into onto over
    under also only about such without within because while used uses use sentence paragraph
    section note line text word term claim
""")
)
_MIN_WORD = 3


class Quoted(Protocol):
    """What a finding quotes and says."""

    @property
    def quote(self) -> str: ...
    @property
    def text(self) -> str: ...


class Reported(Quoted, Protocol):
    """The same, and how grave it is."""

    @property
    def severity(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """What identifies a finding that a review reports now.

    :param line: where it stands in the reviewed note, from 1; None where that is not known.
    :param lines: all lines where its quote begins.
    """

    quote: str
    text: str
    severity: str = ""
    line: int | None = None
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """An earlier finding of the same note and gate, as it was reported.

    :param line: where it stood in `note_text`, the text that was reviewed then.
    """

    fingerprint: str
    quote: str
    text: str
    severity: str = ""
    line: int | None = None
    note_text: str = field(default="", repr=False)


def choose_fingerprints(
    *,
    note_path: str,
    gate_path: str,
    note_text: str,
    reported: Sequence[ReportedFinding],
    earlier: Sequence[KnownFinding],
) -> tuple[str, ...]:
    """Give each finding of a review the fingerprint it had before, else one that nobody has.

    :param earlier: the newest first; not more than `MAX_COMPARISONS` pairs are compared.
    """
    if not reported:
        return ()
    note = _Note(note_text)
    compared = _as_last_graded(earlier[: max(1, MAX_COMPARISONS // len(reported))])
    old = [note.read(item) for item in compared]
    new = [note.read(item) for item in reported] if old else []
    likeness = (
        (-score, age, position)
        for position, one in enumerate(new)
        for age, other in enumerate(old)
        if (score := note.likeness(one, other)) > 0
    )
    chosen: dict[int, str] = {}
    left = {item.fingerprint for item in earlier}
    used = frozenset(left)
    for _score, age, position in sorted(likeness):
        value = earlier[age].fingerprint
        if position not in chosen and value in left:
            chosen[position] = value
            left.remove(value)
    rest = [item for position, item in enumerate(reported) if position not in chosen]
    own = iter(own_fingerprints(rest, note_path=note_path, gate_path=gate_path, used=used))
    return tuple(chosen.get(position) or next(own) for position in range(len(reported)))


def _as_last_graded(earlier: Sequence[KnownFinding]) -> list[KnownFinding]:
    """The findings with the severity that the newest report of each fingerprint has."""
    latest: dict[str, str] = {}
    return [
        replace(item, severity=latest.setdefault(item.fingerprint, item.severity))
        for item in earlier
    ]


def own_fingerprints(
    findings: Iterable[Quoted],
    *,
    note_path: str,
    gate_path: str,
    used: Iterable[str] = (),
) -> list[str]:
    """Fingerprints for the findings of one review in their order, none of them twice or `used`.

    So too are the findings of a review known that was carried over to these paths.
    """
    taken = set(used)
    numbers: dict[str, int] = {}
    found = []
    for item in findings:
        numbered = partial(
            fingerprint, note_path=note_path, gate_path=gate_path, quote=item.quote, text=item.text
        )
        first = value = numbered()
        while value in taken:
            number = numbers[first] = numbers.get(first, 1) + 1
            value = numbered(number=number)
        taken.add(value)
        found.append(value)
    return found


def say_the_same(one: Reported, other: Reported) -> bool:
    """Whether two findings of one quote may be the same remark about two places of it."""
    if one.severity != other.severity:
        return False
    note = _Note("")
    first, second = (note.read(ReportedFinding(item.quote, item.text)) for item in (one, other))
    alike = _agreement(first.words, second.words)
    return not note.name_different_things(first, second, alike)


@dataclass(frozen=True, slots=True)
class _Read:
    """A finding in normal form: its words, what it names, its quote and where the note has it."""

    source: ReportedFinding | KnownFinding
    words: tuple[str, ...]
    telling: frozenset[str]
    marked: frozenset[str]
    quote: str
    quoted: frozenset[str]
    span: tuple[int, int] | None


class _Note:
    """The reviewed text, against which findings are compared."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._prose = normalise_prose(text)
        self._telling = _telling(_WORD.findall(self._prose))

    def read(self, item: ReportedFinding | KnownFinding) -> _Read:
        quote = normalise_prose(item.quote[:MAX_COMPARED])
        text = item.text[:MAX_COMPARED]
        words = _WORD.findall(normalise_prose(text))
        marks = ["".join(found) for found in _MARKED.findall(text)] + _IDENTIFIER.findall(text)
        named = " ".join(mark for mark in marks if normalise_prose(mark) != quote)
        return _Read(
            source=item,
            words=tuple(words),
            telling=_telling(words),
            marked=_telling(_WORD.findall(normalise_prose(named)), shortest=1),
            quote=quote,
            quoted=_telling(_WORD.findall(quote)),
            span=self._span(quote),
        )

    def likeness(self, new: _Read, old: _Read) -> float:
        """How like an earlier finding a new one is; 0 where they are two.

        A graver one is always another: nobody decided about it. A milder one is less like it.
        """
        step = _GRAVITY.get(old.source.severity, 0) - _GRAVITY.get(new.source.severity, 0)
        if step < 0:
            return 0.0
        return self._likeness_of_words(new, old) / (1 + step)

    def _likeness_of_words(self, new: _Read, old: _Read) -> float:
        alike = _agreement(new.words, old.words)
        if self.name_different_things(new, old, alike):
            return 0.0
        if _quote_the_same(new, old):
            return self._likeness_of_place(new, old, alike)
        overlap = _overlap(new.span, old.span)
        if overlap >= _HALF:
            return 1 + (overlap + alike) / 2 if _related(new, old) else 0.0
        if new.quote and old.quote and not _quotes_agree(new, old):
            return 0.0
        if new.quote and self._is_same_place(new, old) and _related(new, old):
            return 1 + alike / 2
        return alike if alike >= _ALIKE else 0.0

    def _likeness_of_place(self, new: _Read, old: _Read, alike: float) -> float:
        """The same quote: at the place where it stood, at an unknown one, or moved elsewhere."""
        same = self._is_same_place(new, old)
        if same is None:
            return 3 + alike
        if same:
            return 4 + alike
        # The passage that the old finding quotes is still where it was: this is another one.
        if any(line in self._follow(old) for line in _lines(new)):
            return 0.0
        if alike < _HALF:
            return 0.0
        return 2 + (alike + self._has_same_heading(new, old)) / 2

    def _is_same_place(self, new: _Read, old: _Read) -> bool | None:
        if new.source.line is None or old.source.line is None or not _note_text(old):
            return None
        return new.source.line in self._follow(old)

    def _follow(self, old: _Read) -> range:
        line = old.source.line or 0
        if (before := _note_text(old)) == self._text:
            return range(line, line + 1)
        return align_lines(before, self._text).follow(line)

    def _has_same_heading(self, new: _Read, old: _Read) -> bool:
        before, now = headings_by_line(_note_text(old)), headings_by_line(self._text)
        old_line, new_line = old.source.line or 0, new.source.line or 0
        return before[old_line - 1 : old_line] == now[new_line - 1 : new_line]

    def name_different_things(self, new: _Read, old: _Read, alike: float) -> bool:
        """Whether each names something of the quote (else of the note) that the other does not.

        ISO and SOC that one sentence leaves undefined are two findings, worded alike.
        """
        context = new.quoted | old.quoted or self._telling
        ours = new.telling & context | new.marked
        theirs = old.telling & context | old.marked
        if not ours - _all(old) or not theirs - _all(new):
            return False
        if new.marked and old.marked and not (new.marked & _all(old) or old.marked & _all(new)):
            return True
        return not ours & theirs or alike >= _SAME_WORDING

    def _span(self, quote: str) -> tuple[int, int] | None:
        """Where the note has the quote, from its first part to its last if `…` shortens it."""
        parts = [part.strip() for part in quote.split("...") if part.strip()]
        if not parts or (start := self._prose.find(parts[0])) < 0:
            return None
        last = self._prose.find(parts[-1], start)
        return None if last < 0 else (start, last + len(parts[-1]))


def _telling(words: Iterable[str], *, shortest: int = _MIN_WORD) -> frozenset[str]:
    """Words that may name something, without the plural's s."""
    return frozenset(
        word.removesuffix("s")
        for word in words
        if (len(word) >= shortest or not word.isascii()) and word not in _COMMON_WORDS
    )


def _all(finding: _Read) -> frozenset[str]:
    return finding.telling | finding.marked


def _note_text(finding: _Read) -> str:
    return finding.source.note_text if isinstance(finding.source, KnownFinding) else ""


def _lines(finding: _Read) -> tuple[int, ...]:
    return finding.source.lines if isinstance(finding.source, ReportedFinding) else ()


def _related(one: _Read, other: _Read) -> bool:
    """Whether two texts have telling words in common; a text without any may mean whatever."""
    ours, theirs = (frozenset(word[:6] for word in _all(item)) for item in (one, other))
    fewer = min(len(ours), len(theirs))
    return not fewer or len(ours & theirs) / fewer >= _RELATED


def _overlap(one: tuple[int, int] | None, other: tuple[int, int] | None) -> float:
    """The share of the shorter span that both have in common, 0..1; of the longer for a tiny one."""
    if one is None or other is None:
        return 0.0
    common = min(one[1], other[1]) - max(one[0], other[0])
    shorter, longer = sorted(end - start for start, end in (one, other))
    return max(0, common) / (shorter if shorter >= _TELLING_CHARACTERS else longer)


def _quote_the_same(one: _Read, other: _Read) -> bool:
    """Whether two quotes are one, or have nearly all in common."""
    if one.quote == other.quote:
        return bool(one.quote)
    if one.span is None or other.span is None:
        return False
    shorter, longer = sorted(end - start for start, end in (one.span, other.span))
    return shorter >= _MOST * longer and _overlap(one.span, other.span) >= _MOST


def _quotes_agree(one: _Read, other: _Read) -> bool:
    """Whether one quote may be the other after an edit of the note: not where both stand in it."""
    if one.span is not None and other.span is not None:
        return False
    return _agreement(one.quote.split(), other.quote.split()) >= _HALF


def _agreement(one: Sequence[str], other: Sequence[str]) -> float:
    """How alike two texts are, word by word, 0..1."""
    if one == other:
        return 1.0
    from rapidfuzz.distance import Indel

    return float(Indel.normalized_similarity(one, other))
