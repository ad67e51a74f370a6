"""Glob patterns of what a folder walk leaves out."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[[!^]?[^\]/]+\]|.", re.DOTALL)
_TRANSLATED = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def excluder(patterns: Sequence[str]) -> Callable[[str], bool] | None:
    """Make the test of a root-relative path; `None` where nothing is excluded.

    `*` and `?` stay within one folder, `**` spans folders. A pattern without a slash fits a name
    at any depth; a folder that fits takes all below it along.
    """
    if not patterns:
        return None
    expression = "|".join(_translate(pattern) for pattern in patterns)
    fits = re.compile(f"(?:{expression})(?:/.*)?", re.DOTALL).fullmatch
    return lambda path: fits(path) is not None


def _translate(pattern: str) -> str:
    pattern = unicodedata.normalize("NFC", pattern).removeprefix("./").strip("/")
    anywhere = "" if "/" in pattern else "(?:[^/]+/)*"
    return anywhere + "".join(_translate_token(token[0]) for token in _TOKEN.finditer(pattern))


def _translate_token(token: str) -> str:
    if token in _TRANSLATED:
        return _TRANSLATED[token]
    return _translate_class(token) if len(token) > 1 else re.escape(token)


def _translate_class(token: str) -> str:
    negated = token[1] in "!^" and len(token) > len("[!]")
    inner = token[2:-1] if negated else token[1:-1]
    characters = "".join(char if char == "-" else re.escape(char) for char in inner)
    translated = f"[{'^' * negated}{characters}]"
    try:
        re.compile(translated)
    except re.error:  # a range that runs backwards: take it for what is written
        return re.escape(token)
    return translated
