"""Rules on single sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from review.protocol.typed_review import TypedFinding
from review.runners.rules.lists import NEVER_TWICE
from review.runners.rules.page import Page
from review.runners.rules.quoting import shown
from review.runners.rules.rule import rule
from review.runners.rules.words import is_ragged, sentences, word_count

_LONGEST_SENTENCE = 45  # words
_WORDS_PER_SEPARATOR = 5  # with fewer it is an enumeration, not a sentence
_SEPARATORS = re.compile("[,;\uff1b\u3001\uff0c\u00b7|]")
_PHRASAL = {
    "in": re.compile(
        r"\b(?:log|sign|zoom|opt|check|fill|plug|hand|turn|tune|kick|step|typ|mov|com|liv|pull)\w*\s$|\b(?:came|built|set|put)\s$"
    ),
    "for": re.compile(r"\b(?:ask|car|hop|long|look|paid|pay|search|wait|wish)\w*\s$"),
    "by": re.compile(r"\b(?:get|got|go|pass|stand|stood|stop|drop|swing|com|came)\w*\s$"),
}
_SPOKEN = re.compile(r"transcript", re.IGNORECASE)
_GOES_ON = ("-", "'", "\u2019")
_WITHOUT_STOPS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
)  # Thai, Lao, Burmese, Khmer
_HOLDS_TOGETHER = "/-\"'\u201c\u2018"
_WORD = re.compile(r"[^\W\d_]+")


@rule(
    f"sentences have at most {_LONGEST_SENTENCE} words",
    "Split it at its conjunctions, or make its parts a list.",
)
def overlong_sentences(page: Page) -> Iterator[TypedFinding]:
    for block in page.prose:
        for start, end in sentences(block.prose):
            sentence = block.prose[start:end]
            words = word_count(sentence)
            if words > _LONGEST_SENTENCE and not _is_no_sentence(sentence, words):
                yield block.finding(f"a sentence of {words} words, over {_LONGEST_SENTENCE}", start)


def _is_no_sentence(sentence: str, words: int) -> bool:
    """True for an enumeration, a list without bullets, or a script without full stops."""
    if len(_SEPARATORS.findall(sentence)) * _WORDS_PER_SEPARATOR >= words or is_ragged(sentence):
        return True
    return len(_WITHOUT_STOPS.findall(sentence)) * 2 > len(sentence)


@rule(
    "no word stands twice in a row by mistake",
    "Take one of the two out.",
)
def repeated_words(page: Page) -> Iterator[TypedFinding]:
    for block in () if _SPOKEN.search(page.given.note_path) else page.prose:
        for first, second in pairwise(_WORD.finditer(block.prose)):
            word = second[0]
            if word not in NEVER_TWICE or not _is_same_word(block.prose, first, word):
                continue
            if _stand_side_by_side(block.text, first, second):
                yield block.finding(
                    f"the word {shown(word)} stands twice", first.start(), before=30
                )


def _is_same_word(prose: str, first: re.Match[str], word: str) -> bool:
    """Not in "AND and OR" and "Move To to …", where the first is a name; a sentence may begin so."""
    if first[0] == word:
        return True
    before = prose[: first.start()].rstrip()
    return first[0] == word.capitalize() and (not before or before[-1] in ".!?:\n")


def _stand_side_by_side(text: str, first: re.Match[str], second: re.Match[str]) -> bool:
    """Not in "for for-await", and not where the doubled word is the subject: 'the "the the" typo'."""
    phrasal = _PHRASAL.get(first[0].lower())
    if phrasal and phrasal.search(text, max(0, first.start() - 20), first.start()):
        return False
    before = text[max(0, first.start() - 1) : first.start()]
    if before in _HOLDS_TOGETHER and before:
        return False
    return (
        text[first.end() : second.start()].isspace()
        and text[second.end() : second.end() + 1] not in _GOES_ON
    )
