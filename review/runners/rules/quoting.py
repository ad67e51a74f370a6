"""Words of a note in a form that is safe to repeat in a review."""

from __future__ import annotations

import re

LONGEST_QUOTE = 160
LONGEST_FRAGMENT = 80
_REACH = 4 * LONGEST_QUOTE
# Controls, line separators, direction overrides and halves of surrogate pairs.
_UNSAFE = re.compile(
    "<!--|[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+"
)
# A quote must not look like a heading, a bullet, a fence or a sentinel to whoever reads it back.
_MARKUP = re.compile(r"(?:[>\s]|#{1,6}\s|`{3,}|~{3,}|[-+*]\s|={3,}|\d{1,9}[.)]\s)+")
_WORDY = re.compile(r"[^\W_]")


def safe_quote(raw: str) -> str:
    """Return the first clean run of `raw` without markup before it: bounded, single blanks only."""
    for piece in _UNSAFE.split(raw[:_REACH]):
        marks = _MARKUP.match(piece)
        text = " ".join((piece[marks.end() :] if marks else piece).split())
        if _WORDY.search(text):
            return _cut(text, LONGEST_QUOTE).strip()
    return ""


def shown(fragment: str) -> str:
    """Put a few words of the note between quotation marks, safe to stand in a finding's text."""
    clean = " ".join(_UNSAFE.sub(" ", fragment[:_REACH]).replace("`", "").split())
    short = _cut(clean, LONGEST_FRAGMENT)
    return f"“{short}{'…' if short != clean else ''}”"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head, blank, _ = text[:limit].rpartition(" ")
    return head if blank and len(head) > limit // 2 else text[:limit]
