"""Finds the links of a note and says which file of the base each one means."""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from review.domain.markdown_lines import Line, iter_lines


class LinkKind(StrEnum):
    """How a link is written; an embed shows its target in place (`![[x]]`, `![alt](x)`)."""

    INLINE = "inline"
    REFERENCE = "reference"
    WIKILINK = "wikilink"
    EMBED = "embed"
    AUTOLINK = "autolink"


@dataclass(frozen=True, slots=True)
class Link:
    """One link: `target` with escapes and entities read, percent signs as written; `line` from 1."""

    target: str
    line: int
    kind: LinkKind


# Possessive quantifiers keep every pattern linear: no text makes them try a place twice.
_DESTINATION = r"<([^<>\n]*+)>|((?:[^\s()<\\]|\\.)(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*+\))*+|)"
_TITLE = r"""(?:\s++(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\)))?+"""
_INLINE = re.compile(rf"\(\s*+(?:{_DESTINATION}){_TITLE}\s*+\)")
_DEFINITION = re.compile(
    r"^ {0,3}(?:>[> ]*)?\[((?:[^\[\]\\]|\\.){1,999}+)\]:\s*+(?:<([^<>\n]*+)>|(\S++))"
    r"[ \t]*+(?:$|[\"'(])",  # a title may follow, prose may not: `[L]: still works` is a sentence
    re.MULTILINE,
)
_TOKEN = re.compile(
    r"\\.|`+|<!--|<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}+:|[^\s<>@:/]++@)[^\s<>]*+>|!?\[\[[^\[\]\n]++\]\]|!?\[|\]",
    re.DOTALL,
)
_FULL_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){0,999}+)\]", re.DOTALL)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_OPENS_BLOCK = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[-+*][ \t]|\d{1,9}[.)][ \t]|\|)")
_LONE_CR = re.compile(r"\r(?!\n)")
_MAX_LABEL = 999


def extract_links(text: str) -> tuple[Link, ...]:
    """Give the links of `text` in order; fenced code, code spans and comments hold none."""
    if "[" not in text and "<" not in text:
        return ()
    # A lone carriage return ends a line too; replacing it keeps the count of lines.
    blocks = list(_blocks(_LONE_CR.sub("\n", text) if "\r" in text else text))
    definitions: dict[str, str] = {}
    for block in blocks:
        for found in _DEFINITION.finditer(block.text) if "]:" in block.text else ():
            label = _label(found[1])
            if not label.startswith("^"):
                definitions.setdefault(label, _read(found[2] or found[3] or ""))
    return tuple(link for block in blocks for link in _Scanner(block, definitions).links())


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that one link may span, joined by line feeds."""

    text: str
    first_line: int
    starts: list[int]

    def line_at(self, offset: int) -> int:
        return self.first_line + bisect_right(self.starts, offset) - 1


def _blocks(text: str) -> Iterator[_Block]:
    lines: list[Line] = []
    for line in iter_lines(text):
        ends = line.in_fence or not line.text.strip()
        if lines and (ends or _OPENS_BLOCK.match(line.text)):
            yield from _block(lines)
            lines = []
        if not ends:
            lines.append(line)
    yield from _block(lines)


def _block(lines: list[Line]) -> Iterator[_Block]:
    joined = "\n".join(line.text for line in lines)
    if "[" not in joined and "<" not in joined:
        return
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line.text) + 1)
    yield _Block(joined, lines[0].number, starts)


class _Scanner:
    """Walks the marks of one block once, from left to right."""

    def __init__(self, block: _Block, definitions: dict[str, str]) -> None:
        self._block = block
        self._text = block.text
        self._definitions = definitions
        self._open: list[tuple[int, bool]] = []  # where each open bracket stands; is it an image
        self._fences: dict[int, list[int]] | None = None
        self._found: list[tuple[int, Link]] = []

    def links(self) -> list[Link]:
        position = 0
        while token := _TOKEN.search(self._text, position):
            position = self._step(token)
        return [link for _, link in sorted(self._found, key=lambda entry: entry[0])]

    def _step(self, token: re.Match[str]) -> int:
        """Take one mark; say where the next one may stand."""
        mark, end = token[0], token.end()
        if mark[0] == "`":
            return self._after_code(len(mark), end)
        if mark == "<!--":
            closed = self._text.find("-->", end)
            return len(self._text) if closed < 0 else closed
        if mark == "]":
            return self._close(end)
        if mark in ("[", "!["):
            self._open.append((token.start(), mark[0] == "!"))
        elif mark[0] == "<":
            address = mark[1:-1]
            scheme = "" if ":" in address.partition("@")[0] else "mailto:"
            self._add(token.start(), scheme + address, LinkKind.AUTOLINK)
        elif mark[0] != "\\":
            return self._wikilink(token)
        return end

    def _wikilink(self, token: re.Match[str]) -> int:
        is_embed = token[0][0] == "!"
        if _INLINE.match(self._text, token.end()):  # `[[1]](x.md)` is a link with brackets in it
            self._open.append((token.start(), is_embed))
            return token.start() + 1 + is_embed
        target = token[0].strip("![]").partition("|")[0].rstrip("\\").strip()
        self._add(token.start(), target, LinkKind.EMBED if is_embed else LinkKind.WIKILINK)
        return token.end()

    def _after_code(self, length: int, end: int) -> int:
        """Skip the code span that a run of backticks opens, if a run like it closes it."""
        if self._fences is None:
            self._fences = {}
            for run in re.finditer("`+", self._text):
                self._fences.setdefault(len(run[0]), []).append(run.start())
        starts = self._fences.get(length, [])
        following = bisect_right(starts, end - 1)
        return starts[following] + length if following < len(starts) else end

    def _close(self, end: int) -> int:
        """Read what follows a closing bracket, and with it the link it may end."""
        if not self._open:
            return end
        start, is_image = self._open.pop()
        if found := _INLINE.match(self._text, end):
            target = _read(found[1] if found[1] is not None else found[2])
            self._add(start, target, LinkKind.EMBED if is_image else LinkKind.INLINE)
            return found.end()
        return self._reference(start, end, is_image=is_image) if self._definitions else end

    def _reference(self, start: int, end: int, *, is_image: bool) -> int:
        """Read `[text][label]`, `[label][]` or `[label]`, if the label is defined anywhere."""
        full = _FULL_LABEL.match(self._text, end)
        label = full[1] if full and full[1].strip() else ""
        inner = start + 1 + is_image
        if not label and end - inner <= _MAX_LABEL:
            label = self._text[inner : end - 1]
        target = self._definitions.get(_label(label), "")
        if not target or self._text.startswith(":", end):
            return end
        self._add(start, target, LinkKind.EMBED if is_image else LinkKind.REFERENCE)
        return full.end() if full else end

    def _add(self, start: int, target: str, kind: LinkKind) -> None:
        if target:
            self._found.append((start, Link(target, self._block.line_at(start), kind)))


def _label(raw: str) -> str:
    return " ".join(raw.casefold().split())


def _read(written: str) -> str:
    return (
        html.unescape(_ESCAPED.sub(r"\1", written))
        if "\\" in written or "&" in written
        else written
    )


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """What a target means: a path of the base or none, the part behind `#`, or an outside address."""

    path: str | None
    anchor: str = ""
    external: bool = False


_EXTERNAL = re.compile(r"//|[A-Za-z][A-Za-z0-9+.-]+:\S")
_BY_NAME = (None, LinkKind.WIKILINK, LinkKind.EMBED)


def stems_of(paths: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Give the paths by their file name without `.md`, case-folded, as `resolve_link` takes them."""
    stems: dict[str, list[str]] = {}
    for path in paths:
        stem = path.rpartition("/")[2].removesuffix(".md").casefold()
        stems.setdefault(stem, []).append(path)
    return {stem: tuple(sorted(found)) for stem, found in stems.items()}


def resolve_link(
    target: str,
    *,
    note_path: str,
    known: Collection[str],
    stems: Mapping[str, tuple[str, ...]],
    kind: LinkKind | None = None,
) -> ResolvedLink:
    """Say which of the `known` paths a target means; never one outside the root.

    Tried in order: from the note's folder, from the root, and for wikilinks and embeds (or an
    unknown kind without `.md`) by file name, the nearest one first. `.md` may be left out. Percent
    signs are decoded, and the whole target is tried before it is cut at `#`.
    """
    if target.startswith("#"):
        return ResolvedLink(note_path, unquote(target[1:]))
    if not target.startswith(("https:", "http:", "mailto:")):
        by_name = stems if kind in _BY_NAME else {}
        if kind is None and target.partition("#")[0].endswith(".md"):
            by_name = {}
        for name, anchor in _readings(target):
            path = _by_path(name, note_path, known) or _by_stem(name, note_path, by_name)
            if path:
                return ResolvedLink(path, anchor)
    if _EXTERNAL.match(target):
        return ResolvedLink(None, "", external=True)
    return ResolvedLink(None, unquote(target.partition("#")[2]))


def _readings(target: str) -> Iterator[tuple[str, str]]:
    """Every way to read a target as a name and an anchor, the most literal one first."""
    written = unicodedata.normalize("NFC", target)
    name, _, anchor = written.partition("#")
    for whole, rest in ((written, ""), (name, unquote(anchor)))[: 2 if "#" in written else 1]:
        yield whole, rest
        if "%" in whole:
            yield unicodedata.normalize("NFC", unquote(whole)), rest


def _by_path(name: str, note_path: str, known: Collection[str]) -> str | None:
    folders = ([],) if name.startswith("/") else (note_path.split("/")[:-1], [])
    for folder in folders:
        path = _joined(folder, name)
        for candidate in (path, f"{path}.md"):
            if path and candidate in known:
                return candidate
    return None


def _joined(folder: list[str], name: str) -> str | None:
    parts = list(folder)
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _by_stem(name: str, note_path: str, stems: Mapping[str, tuple[str, ...]]) -> str | None:
    wanted = name.strip("/").removesuffix(".md")
    stem = wanted.rpartition("/")[2]
    paths = stems.get(stem) or stems.get(stem.casefold()) or ()
    ending = f"/{wanted}".casefold()
    fitting = [path for path in paths if f"/{path}".removesuffix(".md").casefold().endswith(ending)]
    return min(fitting, key=lambda path: (_distance(path, note_path), path), default=None)


def _distance(path: str, note_path: str) -> int:
    """How many folders lie between two files."""
    one, other = path.split("/")[:-1], note_path.split("/")[:-1]
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    return len(one) + len(other) - 2 * shared
