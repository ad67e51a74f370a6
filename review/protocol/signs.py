"""Reads the signs that stand beside a decision: a tick beside a PASS, a cross beside a FAIL."""

from __future__ import annotations

from review.protocol.folding import compiled
from review.vocabulary import Decision

_GOOD = "\u2705\u2714\u2713\u2611\U0001f7e2\U0001f44d\U0001f49a"
_MIXED = "\u26a0\U0001f7e1\U0001f7e0\u2757"
_BAD = "\u274c\u274e\u2717\u2718\u26d4\U0001f534\U0001f6ab\U0001f6d1\U0001f44e"
_NEUTRAL = "\U0001f3af\U0001f389\U0001f4dd\U0001f50d"
_SIGN = rf"[{_GOOD}{_MIXED}{_BAD}{_NEUTRAL}]\ufe0f?"
_NEAR = 80
_AGREEING = {
    Decision.PASS: _GOOD,
    Decision.WARN: _MIXED,
    Decision.FAIL: _BAD,
    Decision.ERROR: _MIXED + _BAD,
}


def without_signs(text: str) -> tuple[str, str]:
    """Give the line without the signs near its beginning, and those signs."""
    if text.isascii():
        return text, ""
    head = text[:_NEAR]
    signs = "".join(compiled(_SIGN).findall(head))
    if not signs:
        return text, ""
    return " ".join(compiled(_SIGN).sub(" ", head).split(" ")).strip() + text[_NEAR:], signs


def agree(signs: str, decision: Decision) -> bool:
    """Whether none of the signs says something else than the decision."""
    allowed = _AGREEING.get(decision, "") + _NEUTRAL + "\ufe0f"
    return all(sign in allowed for sign in signs)
