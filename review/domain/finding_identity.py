"""Recognises a finding that was reported before, so that what a person decided about it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from review.domain.identity import fingerprint, normalise_prose
from review.domain.trivial_change import body_ratio

_HALF = 0.5
_ALIKE = 0.9
# A shorter quote ("the", "TODO") lies inside many others without meaning the same place.
_TELLING_CHARACTERS = 12
# Each finding is held against each earlier one: with more pairs than this the oldest are left out,
# and of a text no more than this is compared. A review is as long as its writer likes.
MAX_COMPARISONS = 20_000
MAX_COMPARED = 2_000


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """An earlier finding of the same note and gate, as it was reported."""

    fingerprint: str
    quote: str
    text: str


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """What identifies a finding that a review reports now."""

    quote: str
    text: str


def choose_fingerprints(
    *,
    note_path: str,
    gate_path: str,
    note_text: str,
    reported: Sequence[ReportedFinding],
    earlier: Sequence[KnownFinding],
) -> tuple[str, ...]:
    """Give each finding of a review the fingerprint it had before, else its own (DESIGN section 6).

    It repeats the earlier finding with the same quote, else the one whose quote it overlaps most in
    the note, by half of the shorter quote or more, else the one whose text is most alike, by 0.9 of
    its words or more. Alike texts under quotes of different places are two findings: a gate words
    all its findings alike. Of several findings only the first takes an earlier one's fingerprint.

    :param earlier: the newest first; not more than `MAX_COMPARISONS` pairs are compared.
    """
    own = [
        fingerprint(note_path=note_path, gate_path=gate_path, quote=new.quote, text=new.text)
        for new in reported
    ]
    known = {old.fingerprint for old in earlier}
    taken = set(own)
    left = [old for old in earlier if old.fingerprint not in taken]
    if not left or not own:
        return tuple(own)
    candidates = _Candidates(note_text, left[: max(1, MAX_COMPARISONS // len(own))])
    return tuple(
        value if value in known else candidates.take(new) or value
        for value, new in zip(own, reported, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Placed:
    """A finding in normal form: its words, its quote, and where the note has the quote."""

    words: str
    quote: str
    place: tuple[int, int] | None


class _Candidates:
    """The earlier findings that no finding of this review has taken yet."""

    def __init__(self, note_text: str, earlier: Sequence[KnownFinding]) -> None:
        self._note = normalise_prose(note_text)
        self._left = [(old.fingerprint, self._placed(old)) for old in earlier]

    def take(self, new: ReportedFinding) -> str | None:
        """Give the fingerprint that `new` had before, to no other one again; `None` if it is new."""
        placed = self._placed(new)
        found = self._best(placed, _overlap, _HALF) or self._best(placed, _agreement, _ALIKE)
        self._left = [entry for entry in self._left if entry[0] != found]
        return found

    def _best(
        self, new: _Placed, likeness: Callable[[_Placed, _Placed], float], least: float
    ) -> str | None:
        best, found = 0.0, None
        for value, old in self._left:
            if (alike := likeness(new, old)) >= least and alike > best:
                best, found = alike, value
        return found

    def _placed(self, finding: KnownFinding | ReportedFinding) -> _Placed:
        quote = normalise_prose(finding.quote[:MAX_COMPARED])
        words = normalise_prose(finding.text[:MAX_COMPARED])
        return _Placed(words, quote, self._place(quote))

    def _place(self, quote: str) -> tuple[int, int] | None:
        """Where the note has the quote, from its first part to its last if `…` shortens it."""
        parts = [part.strip() for part in quote.split("...") if part.strip()]
        if not parts or (start := self._note.find(parts[0])) < 0:
            return None
        last = self._note.find(parts[-1], start)
        return None if last < 0 else (start, last + len(parts[-1]))


def _overlap(one: _Placed, other: _Placed) -> float:
    """The share of the shorter place that both have in common, 0..1; of the longer for a tiny one."""
    if one.place is None or other.place is None:
        return 0.0
    common = min(one.place[1], other.place[1]) - max(one.place[0], other.place[0])
    shorter, longer = sorted(end - start for start, end in (one.place, other.place))
    return max(0, common) / (shorter if shorter >= _TELLING_CHARACTERS else longer)


def _agreement(one: _Placed, other: _Placed) -> float:
    """How alike two texts are, 0..1; 0 where their quotes are about different places."""
    if one.quote and other.quote:
        if one.place is not None and other.place is not None:
            return 0.0
        if 1 - body_ratio(one.quote, other.quote) < _HALF:
            return 0.0
    shorter, longer = sorted(text.count(" ") + 1 for text in (one.words, other.words))
    # So many words too few or too many cannot be alike: 2 * shorter / (shorter + longer) at best.
    if 2 * shorter < _ALIKE * (shorter + longer):
        return 0.0
    return 1 - body_ratio(one.words, other.words)
