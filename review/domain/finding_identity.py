"""Recognises a finding that was reported before, so that what a person decided about it holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from review.domain.identity import fingerprint, normalise_prose

_HALF = 0.5
_ALIKE = 0.9
# A shorter quote ("the", "TODO") lies inside many others without meaning the same place.
_TELLING_CHARACTERS = 12


@dataclass(frozen=True, slots=True)
class KnownFinding:
    """An earlier finding of the same note and gate, as it was reported."""

    fingerprint: str
    quote: str
    text: str


def choose_fingerprint(
    *,
    note_path: str,
    gate_path: str,
    quote: str,
    text: str,
    note_text: str,
    earlier: Sequence[KnownFinding],
) -> str:
    """Give the fingerprint of an earlier finding this one repeats, else its own (DESIGN section 6).

    It repeats the one with the same quote, else the one whose quote it overlaps most in the note,
    by half of the shorter quote or more, else the one whose text is most alike, by 0.9 or more of
    its words. Alike texts under quotes of different places are two findings: a gate words all its
    findings alike. Leave out of `earlier` what another finding of the same review has taken.
    """
    own = fingerprint(note_path=note_path, gate_path=gate_path, quote=quote, text=text)
    if not earlier or any(known.fingerprint == own for known in earlier):
        return own
    note = _normal_note(note_text)
    place = _place(note, quote)
    places = [_place(note, known.quote) for known in earlier]
    best = max(range(len(earlier)), key=lambda at: _overlap(place, places[at]))
    if _overlap(place, places[best]) >= _HALF:
        return earlier[best].fingerprint
    alike = [
        _likeness(text, known.text) if _may_agree(quote, known.quote, place, other) else 0.0
        for known, other in zip(earlier, places, strict=True)
    ]
    best = max(range(len(earlier)), key=lambda at: alike[at])
    return earlier[best].fingerprint if alike[best] >= _ALIKE else own


@lru_cache(maxsize=2)
def _normal_note(text: str) -> str:
    return normalise_prose(text)


def _place(note: str, quote: str) -> tuple[int, int] | None:
    """Where the quote stands in the normalised note; one shortened by `…` from its first part on."""
    parts = [part for part in map(normalise_prose, normalise_prose(quote).split("...")) if part]
    if not parts:
        return None
    start = note.find(parts[0])
    if start < 0:
        return None
    last = note.find(parts[-1], start)
    return None if last < 0 else (start, last + len(parts[-1]))


def _overlap(one: tuple[int, int] | None, other: tuple[int, int] | None) -> float:
    """The share of the shorter place that both have in common, 0..1; of the longer for a tiny one."""
    if one is None or other is None:
        return 0.0
    common = min(one[1], other[1]) - max(one[0], other[0])
    shorter, longer = sorted((one[1] - one[0], other[1] - other[0]))
    return max(0, common) / (shorter if shorter >= _TELLING_CHARACTERS else longer)


def _may_agree(
    quote: str, other: str, place: tuple[int, int] | None, other_place: tuple[int, int] | None
) -> bool:
    """Whether two quotes leave it open that they are about one place."""
    if not quote.strip() or not other.strip():
        return True
    if place is not None and other_place is not None:
        return False
    return _likeness(quote, other) >= _HALF


def _likeness(one: str, other: str) -> float:
    """How alike two texts are, by words, 0..1."""
    from review.domain.trivial_change import body_ratio

    return 1 - body_ratio(normalise_prose(one), normalise_prose(other))
