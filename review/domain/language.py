"""Detects the language of a note: declared, or by its script and function words."""

from __future__ import annotations

import re
from collections import Counter

_READ = 20_000  # characters
_FEWEST = 5  # small words
_LETTER = re.compile(r"[^\W\d_]")
_CODE = re.compile(r"(?ms)^(`{3,}|~{3,}).*?^\1|`[^`\n]*`")
_SCRIPTS = {
    "ja": re.compile("[\u3040-\u30ff]"),
    "ko": re.compile("[\uac00-\ud7af]"),
    "zh": re.compile("[\u4e00-\u9fff]"),
    "ru": re.compile("[\u0400-\u04ff]"),
}
_SHARE = {"ja": 0.05}  # of the letters; kana stand among ideographs
_SMALL_WORDS = {
    "en": "the and of to is that it with for are this be on as not which from by",
    "de": "der die das und ist nicht ein eine mit auf für den dem sich auch wird von zu",
    "fr": "le la les des est une et dans pour que qui sur pas avec du au vous cette",
    "es": "el los las una que es para con por del se no como más en lo su está",
    "it": "il che di è una per non con del della sono gli nel alla questo si più come",
    "pt": "o os uma que não para com por do da em são como mais você ao seu está",
    "nl": "de het een en van is niet dat op te met voor zijn je wordt aan naar ook",
    "tr": "bir ve bu için ile olarak daha olan gibi çok ne değil da de en kadar her",
}
_LANGUAGES = {
    word: [name for name, words in _SMALL_WORDS.items() if word in words.split()]
    for word in {word for words in _SMALL_WORDS.values() for word in words.split()}
}


def language_of(text: str) -> str:
    """Return the two-letter language code; empty if unknown."""
    prose = _CODE.sub(" ", text[:_READ])
    letters = len(_LETTER.findall(prose))
    for name, script in _SCRIPTS.items():
        if letters and len(script.findall(prose)) > letters * _SHARE.get(name, 0.3):
            return name
    counts = Counter(
        name for word in prose.casefold().split() for name in _LANGUAGES.get(word.strip(".,;:"), ())
    )
    (first, most), (_, next_most) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return first if most >= _FEWEST and most > next_most * 1.3 else ""
