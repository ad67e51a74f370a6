"""The state of the files that a note links to, as far as a rule reads them.

A rule on links may judge the same note otherwise once another file was renamed or edited. So its
review keeps the state that it saw, and counts only while that is the state of today. Links are
found by a pattern, and files by their names: where that errs, a pair is judged again for nothing.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cache
from typing import NamedTuple, Protocol
from urllib.parse import unquote

from review.domain.markdown.anchors import letters_only

READING_RULES = frozenset(("unresolved-links", "broken-anchors", "verbatim-quotes"))

_LINK = re.compile(
    r"\]\(([^)\n]{1,500})|\[\[([^\[\]\n]{1,500})\]\]|^ {0,3}\[[^\]\n]{1,500}\]: *(\S{1,500})"
    r"|(?:href|src|ref|relref|link|post_url)[ =\"']{1,3}([^\s\"'>%}]{1,500})",
    re.MULTILINE,
)
_OUTSIDE = re.compile(r"<?(?:[A-Za-z][A-Za-z0-9+.-]+:|//|#|\Z)")
_TITLE = re.compile(r"\s[\"'(]")
# Headings, and what else an anchor may name.
_HEADING = re.compile(
    r"^ {0,3}#[^\n]*|^[^\n]++(?=\n {0,3}(?:=+|-+)[ \t]*$)|^[^\n]*(?:\{#|id=|name=|\^)[^\n]*",
    re.MULTILINE,
)
_QUOTATION = re.compile(r"^ {0,3}>|[\"“„«»「][^\"”“»«」\n]{20}", re.MULTILINE)
_FILE = re.compile(r"\.(?!md$|html$)[A-Za-z][A-Za-z0-9]{0,4}$")
# Translations of a note may have one name: `faq` in `test.en-US.md` means `faq.en-US.md`.
_SUFFIX = re.compile(r"(?:\.[a-z]{2}(?:-[a-zA-Z]{2,4})?)?(?:\.(?:md|html))?$")
_NUMBER = re.compile(r"^\d+\s*[-_.]+\s*")
_OF_FOLDER = frozenset(("index", "readme"))


class LinkFacts(NamedTuple):
    """Facts of one text: the names that it links to, its headings as a digest, and any quotation.

    A name that ends in `#` is linked to with an anchor; one that starts with `/` is the path of a
    file that is no note.
    """

    names: tuple[str, ...] = ()
    headings: str = ""
    quotes: bool = False


NO_LINKS = LinkFacts()


class LinkedNote(Hashable, Protocol):
    @property
    def path(self) -> str: ...
    @property
    def sha256(self) -> str: ...


class LinkStates:
    """Today's state of the files that the notes of a knowledge base link to."""

    def __init__(
        self,
        notes: Iterable[LinkedNote],
        *,
        facts_of: Callable[[LinkedNote], LinkFacts],
        find_file: Callable[[str], str],
    ) -> None:
        """Take all notes, and what finds another file by its path below the root or by its name."""
        self._named: dict[str, list[LinkedNote]] = defaultdict(list)
        for note in notes:
            self._named[name_of(note.path)].append(note)
        self._facts_of, self._find_file = facts_of, find_file
        self._state = cache(self._read_state)

    def of(self, note: LinkedNote, *, rule: str) -> str:
        """Return a digest of what a rule reads of the files that a note links to.

        It is another at another path, from which the same links may lead elsewhere.
        """
        facts = self._facts_of(note)
        names = facts.names if facts.quotes or rule != "verbatim-quotes" else ()
        return _digest([note.path, *(self._state(name, rule) for name in names)])

    def _read_state(self, name: str, rule: str) -> str:
        if name.startswith("/"):
            return self._find_file(name[1:])
        notes = self._named.get(name.removesuffix("#"), ())
        if rule == "verbatim-quotes":
            return " ".join(note.sha256 for note in notes)
        if rule == "unresolved-links":
            return "\n".join(note.path for note in notes)
        is_anchored = name.endswith("#")
        linked = notes if is_anchored else ()
        return "\n".join(f"{note.path} {self._facts_of(note).headings}" for note in linked)


def link_facts(text: str, *, note_path: str) -> LinkFacts:
    names = set(_names(text, note_path))
    quotes = bool(names) and _QUOTATION.search(text) is not None
    return LinkFacts(tuple(sorted(names)), _digest(_HEADING.findall(text)), quotes)


def name_of(path: str) -> str:
    """Return what the path of a note has in common with links to it."""
    folder, _, name = path.strip("/").rpartition("/")
    key = letters_only(_NUMBER.sub("", _SUFFIX.sub("", name)))
    return letters_only(folder.rpartition("/")[2]) if key in _OF_FOLDER else key


def _names(text: str, note_path: str) -> Iterator[str]:
    for inline, wikilink, reference, attribute in _LINK.findall(text):
        written = inline or reference or attribute
        targets = [_TITLE.split(written.strip(), maxsplit=1)[0].strip("<> ")]
        for target in wikilink.split("|") if wikilink else targets:  # its words may stand first
            path = unquote(target).partition("#")[0].partition("?")[0]
            is_file = _FILE.search(path) and not _OUTSIDE.match(target)
            if is_file:
                yield posixpath.normpath(posixpath.join("/", posixpath.dirname(note_path), path))
            if (wikilink or not is_file) and (name := _name(target)):  # of a note `a.b`, too
                yield name


def _name(target: str) -> str:
    """Return the name that a link's target gives a note; `""` for addresses outside."""
    path, _, anchor = unquote(target.strip()).partition("#")
    name = "" if _OUTSIDE.match(target) else name_of(path.partition("?")[0])
    return f"{name}#" if name and anchor else name


def _digest(parts: Iterable[str]) -> str:
    data = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8).hexdigest()
