"""Folds text so that it can be searched for words, whatever its case, accents and disguises."""

from __future__ import annotations

import re
import string
import unicodedata
from functools import cache

_ASCII_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# Combining marks, and characters that take no room: joiners, direction marks, soft hyphens.
_UNSEEN = frozenset({"Mn", "Me", "Cf"})


def ascii_lower(text: str) -> str:
    """Lower A-Z only: under re.IGNORECASE a long s is an s, and a letter may grow in length."""
    return text.translate(_ASCII_LOWER)


def fold(text: str) -> str:
    """Fold case, compatibility forms, accents, emphasis and characters that are not seen."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(char for char in decomposed if unicodedata.category(char) not in _UNSEEN)
    return text.casefold().replace("*", "").replace("_", " ")


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern at its first use: start-up must not pay for a grammar it may not need."""
    return re.compile(pattern)
