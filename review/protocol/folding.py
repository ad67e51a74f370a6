"""Folds text so that it can be searched for words, whatever its case, accents and disguises."""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# Combining marks, and characters that take no room: joiners, direction marks, soft hyphens.
_UNSEEN = frozenset({"Mn", "Me", "Cf"})
# Letters of other scripts that are drawn like a Latin one, after case folding.
_LOOKALIKES = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u04cf\u051d\u0501\u0433"
    "\u03b1\u03b2\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03c9\u03dd\u0131\u026a\u0280\u1d00\u1d07\u1d0f\u029f\ua730",
    "abekmhopctyxijslwdrabeiknoptuxwfiiraeolf",
)


def ascii_lower(text: str) -> str:
    """Lower A-Z only: under re.IGNORECASE a long s is an s, and a letter may grow in length."""
    return text.translate(_ASCII_LOWER)


def fold(text: str) -> str:
    """Fold case, compatibility forms, accents, emphasis and characters that are not seen."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(char for char in decomposed if unicodedata.category(char) not in _UNSEEN)
    return text.casefold().replace("*", "").replace("_", " ")


def skeleton(text: str) -> str:
    """Fold text, letters that only look Latin too: a disguised word is read as what it shows."""
    folded = fold(text)
    return folded if folded.isascii() else folded.translate(_LOOKALIKES)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: start-up must not pay for a grammar it may not need."""
    return re.compile(pattern)
