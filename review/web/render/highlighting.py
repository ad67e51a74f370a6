"""Colours code on pages, by classes that the stylesheet knows."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

_MAX_CHARACTERS = 20_000
# By the first letters of a kind of token as Pygments abbreviates it.
CLASSES = {"c": "code-comment", "k": "code-keyword", "s": "code-string", "m": "code-number"}


def highlighted(code: str, info: str) -> SafeString:
    """Give `code` as HTML; `info` names its language, and what is unknown or long has no colours."""
    words = info.split()
    lexer = _lexer(words[0].strip("{}.").lower()) if words else None
    if lexer is None or len(code) > _MAX_CHARACTERS:
        return escape(code)
    return SafeString("".join(_piece(kind, text) for kind, text in lexer.get_tokens(code)))


def _piece(kind: Any, text: str) -> SafeString:
    from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]

    name = CLASSES.get(STANDARD_TYPES.get(kind, "")[:1])
    return format_html('<span class="{}">{}</span>', name, text) if name else escape(text)


@cache
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
