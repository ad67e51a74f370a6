"""Decides whether a gate applies to a note, by its type, traits, path and language."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

SKIP_KEY = "review_skip"  # in a note's frontmatter


@dataclass(frozen=True, slots=True)
class NoteKind:
    """The properties of a note that decide which gates apply.

    `language` and `type_path` are "" if unknown; `skips` are gates or lenses with reasons; `places`
    are the patterns of gates that its path matches.
    """

    type_path: str
    traits: frozenset[str]
    readable: bool
    language: str = ""
    skips: tuple[tuple[str, str], ...] = ()
    places: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Requirement:
    """A gate's conditions on a note: any of `types` (resolved), all of `traits`, a path that matches
    one of `places`, the `language`; and that the note does not skip it by `gate_id`."""

    types: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    language: str = ""
    gate_id: str = ""

    def applies(self, kind: NoteKind) -> bool:
        """Return whether the gate applies. Types compare as paths, or a bare name by the stem."""
        return self.skip_reason(kind) is None and self.applies_unskipped(kind)

    def skip_reason(self, kind: NoteKind) -> str | None:
        own = f"{self.gate_id}/"
        return next((why for name, why in kind.skips if own.startswith(f"{name}/")), None)

    def applies_unskipped(self, kind: NoteKind) -> bool:
        if self.places and kind.places.isdisjoint(self.places):
            return False
        if self.language and kind.language not in ("", self.language):
            return False
        if not self.types and not self.traits:
            return True
        if not kind.readable or not kind.traits.issuperset(self.traits):
            return False
        return not self.types or any(same_type(it, kind.type_path) for it in self.types)


def resolve_type(raw: str, *, note_path: str) -> str:
    """Return the root-relative path of a type's file, or the bare name unchanged.

    `./` and `../` start at the note's folder; what climbs out of the root stays as written.
    """
    written = unicodedata.normalize("NFC", raw).strip()
    if "/" not in written:
        return written
    base = posixpath.dirname(note_path) if written.startswith(("./", "../")) else ""
    path = posixpath.normpath(f"{base}/{written}".lstrip("/"))
    if path == ".." or path.startswith("../"):
        return written
    return f"{path.removesuffix('.md')}.md" if path != "." else ""


def same_type(required: str, found: str) -> bool:
    if not required or not found:
        return False
    if "/" in required and "/" in found:
        return required == found
    return _stem(required) == _stem(found)


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".md")


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
_ANY_SCRIPT = re.compile("|".join(script.pattern for script in _SCRIPTS.values()))
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
    prose = _CODE.sub(" ", text[:_READ])
    letters = len(_LETTER.findall(prose)) if _ANY_SCRIPT.search(prose) else 0
    for name, script in _SCRIPTS.items():
        if letters and len(script.findall(prose)) > letters * _SHARE.get(name, 0.3):
            return name
    counts = Counter(
        name for word in prose.casefold().split() for name in _LANGUAGES.get(word.strip(".,;:"), ())
    )
    (first, most), (_, next_most) = [*counts.most_common(2), ("", 0), ("", 0)][:2]
    return first if most >= _FEWEST and most > next_most * 1.3 else ""
