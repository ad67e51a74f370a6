"""The link table of a note: each target as written, and the file of the repository it means."""

from __future__ import annotations

import itertools
import posixpath
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

from review.domain.markdown.anchors import Anchors, anchors_of
from review.domain.markdown.flavours import COMMONMARK, Flavour
from review.domain.markdown.frontmatter import parse_frontmatter
from review.domain.markdown.link_forms import ANCHORED, Share, form_of, targets_in
from review.domain.markdown.links import (
    Link,
    LinkBase,
    LinkKind,
    ResolvedLink,
    RuleInput,
    RuleLink,
    extract_links,
    resolve_link,
)
from review.domain.markdown.prompt_text import text_for_prompt
from review.knowledge_base import reader
from review.knowledge_base.walker import KB_FOLDER, MARKDOWN, Scanner, ScanRules, matcher
from review.protocol.prompt import LinkRow, PromptNote

_Item = TypeVar("_Item")
_MOST_NOTES, _MOST_LINKS, _MOST_ANCHORS = 1000, 200, 60  # in the samples for shares of links
_MAX_BYTES = 5_000_000
_MAX_FILES = 50
_MAX_LINKED_BYTES = 2_000_000
_MAX_REPOSITORY_FILE = 1_000_000
_HEAD_CHARACTERS = 2_000
_HEAD = re.compile(r"(---|\+\+\+)\s.*?^\1", re.DOTALL | re.MULTILINE)
_ADDRESS = re.compile(
    r"^(?:(?:(id)|path|permalink|slug|url|redirect_from)[ \t]*[:=]|[ \t]*-(?=[ \t]+[\"']?(?:/|[\w./-]+\.html\b)))[ \t]*[\"']?([\w./-]+)",
    re.MULTILINE,
)
_WITH_IDS = ("dendron", "docusaurus")  # which take the id of a note for its address
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGETS = re.compile(r"^([^\s#:=][^#:=\n]*?)[ \t]*::?(?!=)([^\n]*)", re.MULTILINE)
_INCLUDE = re.compile(r"^(?:-?include|sinclude)\b", re.MULTILINE)
_ANY_NAME = re.compile(r"[^/.]*[%$][^/.]*")  # may stand for a target of any plain name
# It need not be there, and documents speak of it.
_OPTIONAL = frozenset(("kb/review.toml",))


class RepositoryFiles(Collection[str]):
    """The files and folders below the root that a link may lead to; iteration: of `kb/`.

    Membership looks at the disk; hidden files and reports are no targets, which a worker may read.
    `is_gone` and `make_targets` err towards "it may be there".
    """

    def __init__(self, root: str, *, rules: ScanRules, disk_paths: reader.DiskPaths) -> None:
        self._root = root
        self._rules = replace(rules, suffix="", excludes=(), roots=(KB_FOLDER, *rules.roots))
        self._disk_paths = disk_paths
        self._is_there = cache(self._exists)
        self._ignored_in = cache(self._read_ignored)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._is_there(path)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    @cached_property
    def _paths(self) -> list[str]:
        found = Scanner(self._root, self._rules, self._disk_paths).walk_roots()
        return [entry.path for entry in found.entries]

    def _exists(self, path: str) -> bool:
        if not path or "/." in f"/{path}" or "\0" in path or self._rules.prunes(path):
            return False
        try:
            return any(
                "/." not in f"/{reader.resolve_inside(self._root, path, spelling)}"
                for spelling in self._disk_paths.spellings(path)
            )
        except reader.UnreadableFile:
            return False

    def is_gone(self, path: str, *, note_path: str) -> bool:
        # With one folder only, documents name files that their reader is to have.
        folder = "/".join(path.split("/")[:-1][:2])
        above = itertools.accumulate(posixpath.dirname(note_path).split("/"), posixpath.join)
        beside = any(posixpath.normpath(posixpath.join(at, path)) in self for at in above)
        if folder not in self or path in _OPTIONAL or path in self or beside:
            return False
        return not ("/." in f"/{path}" or self._rules.prunes(path) or self.ignores(path))

    @cached_property
    def make_targets(self) -> frozenset[str] | None:
        """The targets of the Makefile at the root; None if there is none or they are not known."""
        text = next(filter(None, map(self._read, _MAKEFILES)), "")
        if not text or _INCLUDE.search(text):
            return None
        names: list[str] = []
        for targets, prerequisites in _TARGETS.findall(text):
            names += targets.split()
            names += prerequisites.split() if targets == ".PHONY" else ()
        return None if any(map(_ANY_NAME.fullmatch, names)) else frozenset(names)

    def ignores(self, path: str) -> bool:
        """Return True if a `.gitignore` of the root or of a folder on the way names a path."""
        parts = path.split("/")
        cuts = ("/".join(parts[:cut]) for cut in range(len(parts)))
        return any(self._ignored_in(cut)(path[len(cut) :].lstrip("/")) for cut in cuts)

    def _read_ignored(self, folder: str) -> Callable[[str], bool]:
        with suppress(ValueError):
            return matcher(self._read(f"{folder}/.gitignore".lstrip("/")).splitlines())
        return lambda path: False

    def _read(self, name: str) -> str:
        try:
            data = reader.read_file(self._root, name, max_bytes=_MAX_REPOSITORY_FILE).data
        except reader.UnreadableFile:
            return ""
        return data.decode("utf-8", "replace")


class Linker:
    """Resolves the links of notes against the files there are now, as their flavour writes them."""

    def __init__(
        self,
        root: str,
        *,
        rules: ScanRules,
        disk_paths: reader.DiskPaths,
        flavour: Flavour = COMMONMARK,
        strip_comments: bool = False,
    ) -> None:
        self.flavour = flavour
        if flavour.name == "obsidian":  # which finds names in all of its vault
            rules = replace(rules, roots=("",))
        self.repository = RepositoryFiles(root, rules=rules, disk_paths=disk_paths)
        self._root = root
        self._disk_paths = disk_paths
        self._strip_comments = strip_comments
        self.base = LinkBase(self.repository, flavour, self._read_addresses)
        self.anchors_of = cache(self._read_anchors)
        self._size_of = cache(self._read_size)
        self.share_of = cache(self._count)

    def links(self, text: str) -> tuple[Link, ...]:
        return extract_links(text, self.flavour)

    def resolve(self, target: str, *, note_path: str, kind: LinkKind | None) -> ResolvedLink:
        return resolve_link(target, note_path=note_path, base=self.base, kind=kind)

    def rule_input(self, text: str, note_path: str) -> RuleInput:
        """Return a text as rules read it, with its links resolved."""
        pairs = (
            (link, self.resolve(link.target, note_path=note_path, kind=link.kind))
            for link in self.links(text)
        )
        links = tuple(
            RuleLink(link.target, link.line, found.path, found.external, found.anchor, link.kind)
            for link, found in pairs
        )
        about = (self.flavour, self.anchors_of, self.repository, self.text_of, self.share_of)
        return RuleInput(note_path, text, links, *about)

    def text_of(self, path: str) -> str | None:
        with suppress(reader.UnreadableFile):
            if path.endswith((".md", ".mdx")):
                file = reader.read_file(self._root, path, max_bytes=_MAX_BYTES)
                return reader.decode(path, file.data)
        return None

    def prompt_note(self, path: str, text: str) -> PromptNote:
        shown = text_for_prompt(text, self.flavour, strip_comments=self._strip_comments)
        return PromptNote(path, shown, self.table(path, shown))

    def table(self, note_path: str, text: str) -> tuple[LinkRow, ...]:
        """Return one row per target as written, in order; outside addresses and anchors have none."""
        rows: dict[str, str | None] = {}
        for link in self.links(text):
            if link.target.startswith("#") or rows.get(link.target):
                continue
            found = self.resolve(link.target, note_path=note_path, kind=link.kind)
            if not found.external:
                rows[link.target] = found.path
        return tuple(LinkRow(target, path, self._size_of(path)) for target, path in rows.items())

    def _read_anchors(self, path: str) -> Anchors | None:
        text = self.text_of(path)
        if text is None:
            return None
        return anchors_of(text[parse_frontmatter(text).body_offset :], self.flavour)

    def _count(self, form: str) -> Share:
        links = self._targets[form]
        most = _MOST_ANCHORS if form == ANCHORED else _MOST_LINKS
        found = [self._leads(*link, form) for link in _sample(links, most)]
        return Share(found.count(True), found.count(False))

    @cached_property
    def _targets(self) -> Mapping[str, list[tuple[str, str]]]:
        """The links in a sample of the notes by their form, each with the note's path."""
        links = defaultdict(list)
        notes = sorted(path for path in self.repository if path.endswith(MARKDOWN))
        for path in _sample(notes, _MOST_NOTES):
            for target in targets_in(self.text_of(path) or ""):
                for form in (form_of(target), ANCHORED)[target[0] == "#" : 1 + ("#" in target)]:
                    links[form].append((path, target))
        return links

    def _leads(self, note_path: str, target: str, form: str) -> bool | None:
        """Return whether a link leads to a file, or to a heading; None if that is not known."""
        found = self.resolve(target, note_path=note_path, kind=LinkKind.INLINE)
        if form != ANCHORED:
            return None if found.external else found.path is not None
        anchors = self.anchors_of(found.path) if found.path and found.anchor else None
        return anchors.have(found.anchor) if anchors else None

    def _read_addresses(self) -> dict[str, str]:
        """Return the notes by the ids and addresses in their frontmatter, which links may name."""
        found = {}
        for path in self.repository:
            if text := self.text_of(path):
                head = _HEAD.match(text[:_HEAD_CHARACTERS])
                for key, address in _ADDRESS.findall(head[0]) if head else ():
                    if not key or self.flavour.name in _WITH_IDS:
                        found[address.strip("/")] = path
        return found

    def _read_size(self, path: str | None) -> int | None:
        """Return the bytes of a note as it stands now; None of any other file."""
        if path is None or not path.endswith(MARKDOWN):
            return None
        spellings = (path, *self._disk_paths.spellings(path))
        files = (Path(self._root, spelling) for spelling in spellings)
        with suppress(OSError):
            return next((file.stat().st_size for file in files if file.is_file()), None)
        return None


def _sample(items: Sequence[_Item], most: int) -> list[_Item]:
    """Return at most so many items from all over a sequence, the same ones each time."""
    step = max(1.0, len(items) / most)
    return [items[int(at * step)] for at in range(min(len(items), most))]


def read_linked_files(
    notes: Iterable[tuple[str, str]], *, linker: Linker, root: str
) -> dict[str, bytes]:
    """Return the Markdown files that these notes (path and text) link to, within bounds."""
    rows = (row for path, text in notes for row in linker.prompt_note(path, text).links)
    found: dict[str, bytes] = {}
    left = _MAX_LINKED_BYTES
    for path in dict.fromkeys(row.resolved for row in rows if row.resolved):
        if path.endswith(MARKDOWN) and len(found) < _MAX_FILES:
            with suppress(reader.UnreadableFile):  # gone, no file, or too large for what is left
                found[path] = reader.read_file(root, path, max_bytes=left).data
                left -= len(found[path])
    return found
