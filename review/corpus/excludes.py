"""Glob patterns of what a folder walk leaves out."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[[!^]?[^\]/]+\]|.", re.DOTALL)
_REPEATED = re.compile(r"(?:\*\*/){2,}|\*{3,}")
_TRANSLATED = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
# With more of what can stretch than this, a regular expression tries too many ways to fit.
_MAX_STRETCHES, _MAX_LENGTH = 3, 300


def excluder(patterns: Sequence[str]) -> Callable[[str], bool] | None:
    """Make the test of a root-relative path; `None` where nothing is excluded.

    `*` and `?` stay within one folder, `**` spans folders. A pattern without a slash fits a name
    at any depth; a folder that fits takes all below it along. Linear in the length of the path.
    """
    if not patterns:
        return None
    plain: list[str] = []
    tests: list[Callable[[str], bool]] = []
    for pattern in patterns:
        tokens = _tokens(pattern)
        stretches = sum(token in ("*", "**", "**/") for token in tokens)
        if stretches > _MAX_STRETCHES or len(tokens) > _MAX_LENGTH:
            tests.append(_Stepper(tokens).fits)
        else:
            plain.append("".join(map(_translate_token, tokens)))
    if plain:
        fits = re.compile(f"(?:{'|'.join(plain)})(?:/.*)?", re.DOTALL).fullmatch
        tests.insert(0, lambda path: fits(path) is not None)
    return tests[0] if len(tests) == 1 else lambda path: any(test(path) for test in tests)


def _tokens(pattern: str) -> list[str]:
    pattern = unicodedata.normalize("NFC", pattern).removeprefix("./").strip("/")
    pattern = pattern if "/" in pattern else f"**/{pattern}"
    pattern = _REPEATED.sub(lambda found: "**/" if "/" in found[0] else "**", pattern)
    return [token[0] for token in _TOKEN.finditer(pattern)]


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


class _Stepper:
    """Fits a pattern by following all ways at once: bit `n` is set where part `n` comes next.

    `**/` is two parts, so that it can be left only at the start of a name: the place between
    names, and the inside of a name that it spans.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        self._parts: list[Callable[[str], object]] = []
        self._stay_anywhere = self._stay_in_name = self._between = self._in_spanned = 0
        for word in tokens:
            bit = 1 << len(self._parts)
            if word == "**/":
                self._between |= bit
                self._in_spanned |= bit << 1
                self._parts += [_is_of_name, _never]
            elif word in ("*", "**"):
                self._stay_in_name |= bit if word == "*" else 0
                self._stay_anywhere |= bit if word == "**" else 0
                self._parts.append(_never)
            else:
                self._parts += _single_tests(word)
        self._end = 1 << len(self._parts)
        self._takers: dict[str, int] = {}

    def fits(self, path: str) -> bool:
        """Whether the path, or a folder on its way, is what the pattern describes."""
        now = self._skipped(1)
        for char in path:
            if char == "/":
                if now & self._end:
                    return True
                ahead = (now & self._taking(char)) << 1
                now = ahead | (now & self._stay_anywhere) | ((now & self._in_spanned) >> 1)
            else:
                ahead = (now & self._taking(char)) << 1
                stays = self._stay_anywhere | self._stay_in_name | self._in_spanned
                now = ahead | (now & stays)
            now = self._skipped(now)
            if not now:
                return False
        return bool(now & self._end)

    def _skipped(self, now: int) -> int:
        """Add what comes next where a part that may stand for nothing does."""
        one = self._stay_anywhere | self._stay_in_name
        while True:
            more = now | (now & one) << 1 | (now & self._between) << 2
            if more == now:
                return now
            now = more

    def _taking(self, char: str) -> int:
        found = self._takers.get(char)
        if found is None:
            found = sum(1 << n for n, takes in enumerate(self._parts) if takes(char))
            self._takers[char] = found
        return found


def _single_tests(word: str) -> list[Callable[[str], object]]:
    """Tests of one character each; a class that is none is taken for what is written."""
    expression = _translate_token(word)
    if expression == re.escape(word):
        return [char.__eq__ for char in word]
    return [re.compile(expression, re.DOTALL).fullmatch]


def _is_of_name(char: str) -> bool:
    return char != "/"


def _never(char: str) -> bool:
    return False
