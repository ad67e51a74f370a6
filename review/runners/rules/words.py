"""Counts and compares words in any script, in linear time; quotes them safely."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from html import unescape

from review.runners.rules.lists import ABBREVIATIONS, BEFORE_FIGURES, BEFORE_SMALL_LETTERS

# Scripts written without spaces: kana, ideographs, Thai, Lao, letters of Burmese and Khmer.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u1021\u1780-\u17a2\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)
_UNSPACED_PER_WORD = 3
_ALPHANUMERIC = re.compile(r"[^\W_]")
_PUNCTUATION = re.compile("[!-/:-@\\[-`{-~\u00a1-\u00bf\u2000-\u206f\u3000-\u303f\uff00-\uff0f]+")
_JOINERS = re.compile("[\u2013\u2014/]")
# Stops of other scripts: ideographic, Devanagari, Arabic, Urdu, Armenian, Ethiopic, Burmese, Khmer.
_STOPS = "\u3002\uff01\uff1b\uff1f\uff0e\uff61\u0964\u0965\u061f\u06d4\u0589\u1362\u1367\u1368\u104a\u104b\u17d4\u17d5"
_TERMINATOR = re.compile(
    f"[.!?\u2026]+[\"'\u201d\u2019)\\]*_\u00bb]*|[{_STOPS}]+[\u300d\u300f\u201d\u2019\uff09\"')*_]*"
)
_BREAK = re.compile(
    "(?: {2}|\\\\|:[ \ue000]*)\n|[\U0001f300-\U0001faff](?=\\s+[A-Z])|\n[ \t]*(?:\\*\\*|__|[*+-][ \t]|[\u2022\u2013\u2014])"
)
_LAST_TOKEN = re.compile(r"(\d\s)?([\w.]+)$")
_TOKEN_REACH = 16
_BLANK_MISSING = re.compile(r"[a-z)][.!?][A-Z][a-z]+\s")  # "… in Islam.According to …"
_FEWEST_LINES = 4
_WRAPPED = 0.6  # of the longest line
_MOST_SHORT = 0.3  # of the lines
_MOST_WORDS_A_STOP = 60
_NORMALISED = 2000  # characters


def word_count(text: str) -> int:
    """Count words; three characters of a script without spaces count as one."""
    unspaced = len(_UNSPACED.findall(text))
    tokens = _JOINERS.sub(" ", _UNSPACED.sub(" ", text)).split()
    spaced = sum(1 for token in tokens if _ALPHANUMERIC.search(token))
    return spaced + unspaced // _UNSPACED_PER_WORD


def plain(text: str) -> str:
    """Fold case, width and punctuation away, so that only the words are compared."""
    # Normalising takes quadratic time on a long run of combining marks.
    normal = unicodedata.normalize("NFKC", text) if len(text) <= _NORMALISED else text
    return " ".join(_PUNCTUATION.sub(" ", normal.casefold()).split())


def word_sequence(text: str) -> str:
    """Return the words alone, a blank between two; each character of an unspaced script is one."""
    pieces = _UNSPACED.sub(r" \g<0> ", unescape(text)).split()
    return " ".join(" ".join(map(plain, pieces)).split())


def is_ragged(text: str) -> bool:
    """True if line breaks are the author's: a list, a log, a table of contents, a poem.

    Wrapped lines are about equally long, and few begin with a capital, a figure or a bracket.
    """
    lines = text.strip().split("\n")
    if len(lines) < _FEWEST_LINES:
        return False
    longest = max(map(len, lines))
    short = sum(1 for line in lines[:-1] if len(line) < longest * _WRAPPED)
    firsts = [line.lstrip()[:1] for line in lines]
    is_list = len(lines) > _FEWEST_LINES and not any(
        c.isalpha() and not c.isupper() for c in firsts
    )
    return is_list or short > len(lines) * _MOST_SHORT


def ends_few_sentences(text: str) -> bool:
    """True if a text has too few full stops to be prose."""
    stops = len(_TERMINATOR.findall(text))
    return word_count(text) > _MOST_WORDS_A_STOP * max(stops, 1)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ends of sentences of a block's masked text, and of bullets and broken lines."""
    start = 0
    for end in sorted({*_sentence_ends(text), len(text)}):
        stripped = len(text[start:end]) - len(text[start:end].lstrip())
        if start + stripped < end:
            yield start + stripped, end
        start = end


def _sentence_ends(text: str) -> Iterator[int]:
    for found in _BREAK.finditer(text):
        yield found.end() if found[0].endswith("\n") else found.start()
    for found in _TERMINATOR.finditer(text):
        if _ends_sentence(text, found):
            yield found.end()


def _ends_sentence(text: str, found: re.Match[str]) -> bool:
    if found[0][0] in _STOPS:
        return True
    following = text[found.end() : found.end() + 1]
    if _UNSPACED.match(following):
        return True
    if following and not following.isspace():
        return bool(_BLANK_MISSING.match(text, found.start() - 1))
    if found[0] != ".":
        return True
    before = _LAST_TOKEN.search(text[max(0, found.start() - _TOKEN_REACH) : found.start()])
    following = text[found.end() : found.end() + 2].strip()
    if before is None or (before[1] and not following.islower()):  # a unit, as in "350 ms."
        return True
    token = before[2].lower()
    return not (
        token in ABBREVIATIONS
        or (token in BEFORE_FIGURES and following.isdigit())
        or (token in BEFORE_SMALL_LETTERS and following.islower())
    )


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
