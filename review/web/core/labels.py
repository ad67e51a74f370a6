"""Stored words as people read them: labels, glyphs, ages and counts."""

from __future__ import annotations

from datetime import timedelta

from review.vocabulary import (
    Decision,
    DispositionState,
    JobStatus,
    LookReason,
    NotAccepted,
    PairStatus,
    Severity,
    Staleness,
)

_SECOND, _MINUTE, _HOUR, _DAY = 1, 60, 3600, 86400

# Shapes that differ without colour, and that every system font has.
GLYPHS: dict[str, str] = {
    Decision.PASS: "✓",
    Decision.WARN: "▲",
    Decision.FAIL: "✕",
    Decision.ERROR: "!",
    Decision.UNKNOWN: "?",
    Severity.INFO: "i",
    JobStatus.QUEUED: "○",
    JobStatus.RUNNING: "▶",
    JobStatus.COMPLETED: "✓",
    JobStatus.FAILED: "✕",
    PairStatus.PENDING: "○",
    PairStatus.MISSING: "∅",
    DispositionState.OPEN: "●",
    DispositionState.FIXED: "✓",
    DispositionState.REJECTED: "⊘",
    DispositionState.DEFERRED: "⏱",
    Staleness.MISSING_REVIEW: "∅",
    Staleness.GATE_CHANGED: "◇",
    Staleness.NOTE_CHANGED: "△",
    NotAccepted.SUPERSEDED: "↷",
    "fresh": "●",
    "stale": "◐",
    "abandoned": "◌",
    "ready": "↓",
    "new": "★",
    "persisting": "=",
    "regressed": "↩",
    "trusted": "✓",
    "noisy": "✕",
    "undecided": "?",
}

_LABELS: dict[str, str] = {
    Decision.UNKNOWN: "unknown",
    "ready": "ready to ingest",
    Staleness.MISSING_REVIEW: "stale: missing review",
    Staleness.GATE_CHANGED: "stale: gate changed",
    Staleness.NOTE_CHANGED: "stale: note changed",
    LookReason.FINDINGS_DISAGREE: "findings contradict the decision",
    LookReason.DECISION_UNKNOWN: "unknown: no decision could be read",
    LookReason.DECISION_ERROR: "error: the reviewer could not judge",
    LookReason.QUOTES_OF_ANOTHER_NOTE: "unknown: the quotes are from another note",
    LookReason.QUOTES_NOT_FOUND: "no quote occurs in the note",
    LookReason.NO_FINDINGS: "warn or fail without a finding",
}


def label(word: str) -> str:
    return _LABELS.get(word, str(word).replace("-", " "))


def age(span: timedelta) -> str:
    """How long ago, in one unit: "just now", "5 min ago", "3 h ago", "12 days ago"."""
    seconds = span.total_seconds()
    if seconds < -_MINUTE:
        return "in the future"
    for size, unit, noun in (
        (45 * _SECOND, 0, "just now"),
        (_HOUR, _MINUTE, "min ago"),
        (_DAY, _HOUR, "h ago"),
        (2 * _DAY, _DAY, "day ago"),
    ):
        if seconds < size:
            return f"{max(1, int(seconds // unit))} {noun}" if unit else noun
    return f"{int(seconds // _DAY):,} days ago"


def duration(span: timedelta) -> str:
    """A length of time in its two largest units: "2 h 05 min", "48 s"."""
    seconds = max(0, int(span.total_seconds()))
    if seconds < _MINUTE:
        return f"{seconds} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min {seconds % _MINUTE:02} s"
    if seconds < _DAY:
        return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE:02} min"
    return f"{seconds // _DAY} d {seconds % _DAY // _HOUR:02} h"


def count_words(number: int, noun: str) -> str:
    """A number with its noun, in the right form; `noun` is "job", or "entry,entries"."""
    one, _comma, many = noun.partition(",")
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
