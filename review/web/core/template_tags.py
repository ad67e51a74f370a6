"""Template tags of the pages: badges that never speak by colour alone, moments, keys, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from review.calibration.calibration import TrackRecordJson
from review.domain.printing import count_words
from review.domain.statistics import FEW
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

_MINUTE, _HOUR, _DAY = 60, 3600, 86400

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
    LookReason.FLIPPED: "a repeat passed the same texts",
}


def label(word: str) -> str:
    return _LABELS.get(word, str(word).replace("-", " "))


def age(span: timedelta) -> str:
    """Format an age in one unit: "just now", "5 min ago", "3 h ago", "12 days ago"."""
    seconds = int(span.total_seconds())
    if seconds < 45:
        return "just now" if seconds >= -_MINUTE else "in the future"
    if seconds < _HOUR:
        return f"{max(1, seconds // _MINUTE)} min ago"
    if seconds < _DAY:
        return f"{seconds // _HOUR} h ago"
    return f"{count_words(seconds // _DAY, 'day')} ago"


def duration(span: timedelta) -> str:
    """A length of time in its two largest units: "2 h 05 min", "48 s"."""
    seconds = max(0, int(span.total_seconds()))
    for size, unit, part, name in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", 1, "s"),
    ):
        if seconds >= size:
            return f"{seconds // size} {unit} {seconds % size // part:02} {name}"
    return f"{seconds} s"


register = template.Library()
register.filter("labelled", label)
# `{{ 1|counted:"job" }}` is "1 job", `{{ 2|counted:"entry,entries" }}` is "2 entries".
register.filter("counted", count_words)
register.filter("quoted", shlex.quote)
register.filter("grouped", lambda number: f"{number:,}")  # 12345 as 12,345

_MOMENT = re.compile(r"\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z")


@register.simple_tag
def badge(word: str, text: str | int = "") -> SafeString:
    """A word of a closed list with its glyph and colour: `{% badge job.status %}`."""
    if not word:
        return SafeString("")
    if isinstance(text, int):
        text = f"{text:,} {label(word)}"
    return format_html(
        '<span class="badge is-{}"><span class="glyph" aria-hidden="true">{}</span>{}</span>',
        word,
        GLYPHS.get(word, "·"),
        text or label(word),
    )


@register.simple_tag
def tally(counts: Mapping[str, int]) -> SafeString:
    """Pairs by state: `counts` of `fresh` (passed), `warn`, `fail` and staleness reasons."""
    decided = {"pass": "fresh", "warn": "warn", "fail": "fail"}
    badges = [(badge(word, counts[key]),) for word, key in decided.items() if counts.get(key)]
    return format_html("{} {}", format_html_join(" ", "{}", badges), stale(counts))


@register.simple_tag
def stale(counts: Mapping[str, int]) -> SafeString:
    """Show the number of stale pairs by reason; nothing if there are none."""
    reasons = {word: counts[word] for word in Staleness.values if counts.get(word)}
    if not reasons:
        return SafeString("")
    return format_html(
        '<span class="stale-tally">{} <span class="soft small">{}</span></span>',
        badge("stale", sum(reasons.values())),
        ", ".join(f"{number:,} {word.replace('-', ' ')}" for word, number in reasons.items()),
    )


@register.simple_tag
def when(moment: datetime | str | None, otherwise: str = "–") -> SafeString:
    """Show an age, with the exact time as a tooltip: `{% when job.started_at %}`."""
    if not moment:
        return SafeString(otherwise)
    at = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return format_html(
        '<time datetime="{0}T{1}Z" title="{0} {1} UTC">{2}</time>',
        f"{at:%Y-%m-%d}",
        f"{at:%H:%M:%S}",
        age(timezone.now() - at),
    )


@register.simple_tag
def key(keys: str) -> SafeString:
    """The key that does the same, shown on a button; screen readers get it from the help."""
    return format_html('<kbd class="key" aria-hidden="true">{}</kbd>', keys)


@register.simple_tag(takes_context=True)
def query(context: dict[str, Any], **changes: str) -> str:
    """This page with filters changed: `{% query status="failed" gate=None %}`."""
    return str(context["filters"].url(**changes))


@register.simple_tag(takes_context=True)
def toggled(context: dict[str, Any], name: str, value: str) -> str:
    """This page with a value of a filter added, or taken out where it is set."""
    return str(context["filters"].toggled(name, value))


@register.simple_tag
def diff_url(note_path: str, gate_id: str, model_partition: str) -> str:
    """The page of a pair's change since its text was accepted."""
    wanted = urlencode({"gate": gate_id, "model": model_partition})
    return f"{reverse('diff', args=[note_path])}?{wanted}"


@register.filter
def cut_start(text: str, folder: str) -> str:
    """`{{ "prose/x"|cut_start:"prose" }}` is "x"."""
    return text.removeprefix(f"{folder}/")


@register.filter
def moments(text: str) -> str:
    """Moments inside a sentence, to the minute: 2026-01-31 09:30 UTC."""
    return _MOMENT.sub(r"\1 \2 UTC", text)


@register.filter
def precision(record: TrackRecordJson) -> dict[str, str]:
    """A measured precision in words, and the places of its interval and value, 0..100."""
    share = record.people
    low, high, value = (100 * part for part in (share.low, share.high, share.share or 0))
    interval = "" if record.word == FEW else f" · {low:.0f}–{high:.0f} %"
    return {
        "text": f"{share.k} of {share.n} right{interval}",
        "word": record.word,
        "low": f"{low:.1f}",
        "width": f"{high - low:.1f}",
        "value": f"{value:.1f}",
    }
