"""Finds the links of a note and says which file of the base each one means."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Protocol
from urllib.parse import unquote

from review.domain.markdown.anchors import Anchors
from review.domain.markdown.document import (
    LABEL,
    SPAN,
    WIKI_TARGET,
    Token,
    inline_tokens,
    read_markdown,
)
from review.domain.markdown.flavours import COMMONMARK, Flavour
from review.domain.markdown.frontmatter import parse_frontmatter
from review.domain.markdown.link_forms import Share


class LinkKind(StrEnum):
    """The notation of a link; an embed shows its target in place (`![[x]]`, `![alt](x)`)."""

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


_LINE_END = re.compile(r"\r\n?|\n")


def extract_links(text: str, flavour: Flavour = COMMONMARK) -> tuple[Link, ...]:
    """Return the links of `text` in order; frontmatter, code, comments and HTML hold none."""
    offset = parse_frontmatter(text).body_offset
    first_line = len(_LINE_END.findall(text, 0, offset)) + 1
    document = read_markdown(text[offset:].removeprefix("\ufeff"), flavour)
    return tuple(
        Link(target, first_line + line + token.content.count("\n", 0, start), kind)
        for token, line in inline_tokens(document)
        for start, target, kind in _links_in(token)
    )


def _links_in(block: Token) -> list[tuple[int, str, LinkKind]]:
    found = []
    for token in block.children or ():
        if token.type in ("link_open", "image") and SPAN in token.meta:
            target = str(token.attrGet("href") or token.attrGet("src") or "")
            if target:
                found.append((token.meta[SPAN][0], target, link_kind(token, block.content)))
    return sorted(found)


def link_kind(token: Token, content: str) -> LinkKind:
    """Return how the link that `token` opens is written in `content`."""
    if token.type == "image":
        return LinkKind.EMBED
    if WIKI_TARGET in token.meta:
        return LinkKind(token.meta[WIKI_TARGET])
    if token.info == "auto":
        return LinkKind.AUTOLINK
    is_inline = content.startswith("(", token.meta[LABEL][1] + 1)
    return LinkKind.INLINE if is_inline else LinkKind.REFERENCE


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """A resolved target: a path of the base or none, the part after `#`, or an external address."""

    path: str | None
    anchor: str = ""
    external: bool = False


_EXTERNAL = re.compile(r"//|[A-Za-z][A-Za-z0-9+.-]+:\S")
_SOURCES = ("md", "rst", "html.erb", "html.md.erb")  # of an HTML page
_ASSETS = [["static"], ["public"], ["assets"], ["theme"], ["overrides"]]
_LANGUAGE = re.compile(r"(?<=/)[a-z]{2}(?:-[a-zA-Z]{2,4})?(?=/)")
_TRANSLATION = re.compile(r"\.[a-z]{2}(?:-[a-zA-Z]{2,4})?\.md$")
_GENERATED = re.compile(
    r"/(?:tags?|categor(?:y|ies)|authors?|archives?|rss|feed|search|blog)\b", re.IGNORECASE
)
# A wiki, issues and so on, as GitHub has them above the files of a repository.
_ALIAS = re.compile(
    r"@\w+/|~/|(?:\.\./){2,}(?:issues|pulls?|wiki|releases|discussions|actions|labels|security)\b"
)
_DENDRON = "dendron://"
_BASE = re.compile(r"^(?:\{\{-?\s*[\w.]*(?:url|path|base)\w*\s*-?\}\})+/?")  # a site's root
_FLAT = ("jekyll", "pandoc")  # which may build the notes of all folders into one
_IS_FOLDER = re.compile(r"_?index(?:\.|$)|readme$", re.IGNORECASE)  # served at its folder's address
_BY_NAME = (None, LinkKind.WIKILINK, LinkKind.EMBED)


# Neither a date nor a version: `2024-01-plan` and `8-0-notes` keep their numbers.
_NUMBER_PREFIX = re.compile(r"(?!\d+[-_.]\d)\d+\s*[-_.]+\s*(?=[^-_.\s])")


@dataclass(frozen=True)
class LinkBase:
    """The paths that links may mean, how links are written, and a reader of notes' addresses."""

    known: Collection[str]
    flavour: Flavour = COMMONMARK
    read_addresses: Callable[[], Mapping[str, str]] = dict

    @cached_property
    def stems(self) -> Mapping[str, Sequence[str]]:
        """The paths by their file name without `.md`, case-folded."""
        stems = defaultdict(list)
        for path in sorted(self.known):
            stems[path.rpartition("/")[2].removesuffix(".md").casefold()].append(path)
        return dict(stems)

    @cached_property
    def addresses(self) -> Mapping[str, str]:
        return self.read_addresses()

    @cached_property
    def own_addresses(self) -> Mapping[str, str]:
        return {path: address for address, path in self.addresses.items()}

    @cached_property
    def pages(self) -> Mapping[str, str]:
        """The notes by the path that a site serves them at, where it differs from theirs."""
        pages = ((page_of(path, self.flavour), path) for path in self.known)
        return {page: path for page, path in pages if page != path.rpartition(".")[0]}


def page_of(path: str, flavour: Flavour) -> str:
    """Return the path that a site serves a file at: Docusaurus drops numbers before names, and Hugo
    writes names in small letters with hyphens for blanks."""
    parts = re.sub(r"\.mdx?$", "", path).split("/")
    if flavour.name == "docusaurus":
        parts = [_NUMBER_PREFIX.sub("", part, count=1) for part in parts]
    elif flavour.name == "hugo":
        parts = [re.sub(r"-?\s+-?", "-", part).lower() for part in parts]
        parts = [re.sub(r"[^\w.#+~@-]", "", part) for part in parts]
    return "/".join(parts)


def resolve_link(
    target: str, *, note_path: str, base: LinkBase, kind: LinkKind | None = None
) -> ResolvedLink:
    """Return which of the known paths a target means; never one outside the root.

    Tried in order: from the note's folder, from the root, and for wikilinks and embeds (or an
    unknown kind without `.md`) by file name, the nearest one first. `.md` may be left out. Percent
    signs are decoded, and the whole target is tried before it is cut at `#` and `?`. A link from
    the root of a site whose folder is not known counts as an outside address.
    """
    if target.startswith("#"):
        return ResolvedLink(note_path, unquote(target[1:]))
    target = _BASE.sub("/", target)
    if target.startswith(_DENDRON) and base.flavour.target_last:
        target, kind = target.removeprefix(_DENDRON).partition("/")[2], LinkKind.WIKILINK
    if not target.startswith(("https:", "http:", "mailto:")):
        is_named = kind in _BY_NAME and not (
            kind is None and target.partition("#")[0].endswith(".md")
        )
        is_named |= base.flavour.name == "obsidian"  # which finds any link as it finds wikilinks
        for name, anchor in _readings(target):
            path = _by_path(name, note_path, base)
            path = path or (_by_stem(name, note_path, base.stems) if is_named else None)
            if base.flavour.name == "logseq":  # which writes `a/b` as `a___b.md`
                path = path or _by_stem(name.replace("/", "___"), note_path, base.stems)
                file = name.rpartition("assets/")[2]
                ways = (f"{up}assets/{file}" for up in ("../", "../../"))
                path = path or next(
                    filter(None, (_by_path(w, note_path, base) for w in ways)), None
                )
            if path:
                return ResolvedLink(path, anchor)
    if _EXTERNAL.match(target) or _is_of_a_site(target, base):
        return ResolvedLink(None, "", external=True)
    return ResolvedLink(None, unquote(target.partition("#")[2]))


def _is_of_a_site(target: str, base: LinkBase) -> bool:
    """Return True for a link from the root of a site whose folder is not known."""
    if _ALIAS.match(target) or _GENERATED.match(target):
        return True
    site_root = base.flavour.site_root
    if site_root is not None and target.startswith("/"):
        # A page may come from elsewhere, unless the folder that it would lie in is here.
        folder = target.partition("#")[0].strip("/").rpartition("/")[0]
        here = (folder, f"{site_root}/{folder}".lstrip("/"))
        return bool(folder) and not any(path in base.known for path in here)
    if site_root is not None or not target.startswith(("/", "@/")):
        return False
    if target.startswith("@"):
        return True
    first, _, rest = target[1:].partition("/")
    names_a_note = rest.partition("#")[0].endswith(".md") and first in base.known
    folder, _, name = target.partition("#")[0].strip("/").rpartition("/")
    is_here = folder in base.known if folder else "." in name
    return not names_a_note and not (base.flavour.name == "github" and is_here)


def _readings(target: str) -> Iterator[tuple[str, str]]:
    """Every way to read a target as a name and an anchor, the most literal one first."""
    written = unicodedata.normalize("NFC", target)
    name, _, anchor = written.partition("#")
    anchor = unquote(anchor)
    shorter = (name.partition("?")[0], anchor), (name.partition("^")[0], "")
    readings = dict.fromkeys(((written, ""), (name, anchor), *shorter))
    for whole, rest in readings:
        yield whole, rest
        if "%" in whole:
            yield unicodedata.normalize("NFC", unquote(whole)), rest


def _by_path(name: str, note_path: str, base: LinkBase) -> str | None:
    site_root = base.flavour.site_root
    roots: list[list[str]] = [[]]
    if site_root is not None:
        parts = site_root.split("/") if site_root else []
        # Beside the folder of one language are those of the others.
        roots = [parts, parts[:-1], [], *_ASSETS]
    is_of_root = name.startswith(("/", "@/"))
    folders = roots if is_of_root else [note_path.split("/")[:-1], *roots]
    is_address = base.flavour.makes_pages or (name.startswith("../") and "." not in name[3:])
    if is_address and not is_of_root:  # from the address of the page
        page = note_path.rpartition(".")[0].split("/")
        is_folder = _IS_FOLDER.match(page[-1])
        page = page[:-2] if is_folder else page
        is_first = name.endswith("/") and not is_folder and base.flavour.makes_pages
        folders.insert(0 if is_first and base.flavour.name != "docusaurus" else len(folders), page)
    joined = [_joined(folder, name.removeprefix("@") if is_of_root else name) for folder in folders]
    paths = list(filter(None, joined))
    is_collection = is_of_root and base.flavour.name == "jekyll"  # which is in `_folder`
    paths += [f"_{path}" for path in paths if is_collection]
    suffix = language[0] if (language := _TRANSLATION.search(note_path)) else ".md"
    for candidate in (file for path in paths for file in _files_of(path, suffix)):
        if candidate in base.known:
            return candidate
    if base.flavour.name in ("docusaurus", "hugo"):
        for path in paths:
            if found := base.pages.get(page_of(path, base.flavour)):
                return found
    return _in_other_case(paths, base) or _by_site(name, note_path, base, is_of_root=is_of_root)


def _in_other_case(paths: Sequence[str], base: LinkBase) -> str | None:
    """Find the note of an address without an ending: sites write these in small letters."""
    wanted = {f"{path}.md".casefold() for path in paths if "." not in path.rpartition("/")[2]}
    stems = (base.stems.get(path.rpartition("/")[2].removesuffix(".md"), ()) for path in wanted)
    return next((path for found in stems for path in found if path.casefold() in wanted), None)


def _by_site(name: str, note_path: str, base: LinkBase, *, is_of_root: bool) -> str | None:
    site_root = base.flavour.site_root
    found: str | None = None
    if site_root is not None and name.startswith("../"):  # from a page's address
        assets = (f"{root[0]}/{name.replace('../', '')}" for root in _ASSETS)
        found = next((path for path in assets if path in base.known), None)
    elif is_of_root and site_root is not None:  # sites write addresses in small letters
        found = _by_stem(f"{site_root}/{name.strip('@/')}".lstrip("/"), note_path, base.stems)
    elif base.flavour.name == "hugo" and "." not in (page := name.removesuffix(".md")):
        names = (page, f"{page}/_index", f"{page}/index")  # as `ref` finds a page
        found = next(filter(None, (_by_stem(one, note_path, base.stems) for one in names)), None)
    elif not base.flavour.wikilinks and ("." not in name or base.flavour.name in _FLAT):
        found = _by_stem(name, note_path, base.stems)
    return found or _by_address(name, note_path, base)


def _by_address(name: str, note_path: str, base: LinkBase) -> str | None:
    """Find a note by the address or id that it gives itself, or by the last part of that."""
    if not (base.flavour.makes_pages or base.flavour.target_last):
        return None
    address = name.strip("@/").removesuffix(".md")
    folder, _, last = address.rpartition("/")
    page = base.addresses.get(folder.rpartition("/")[2], "")
    beside = f"{page.rpartition('/')[0]}/{last}"
    own = base.own_addresses.get(note_path, "").split("/")
    is_relative = not name.startswith(("/", "@"))
    ways = [_joined(folder, name) for folder in (own, own[:-1])] if is_relative else []
    last = "" if base.flavour.name == "jekyll" and not is_relative else last
    found = next(filter(None, map(base.addresses.get, filter(None, (address, *ways, last)))), None)
    return found or (beside if beside in base.known else None)


def _files_of(path: str, suffix: str) -> Iterator[str]:
    """Yield what a path may be a name of: the file, or the note that a site makes a page of."""
    yield f"{path.removesuffix('.md')}{suffix}"  # which may have the language of the note
    # A page that is not translated is shown in English.
    for name in dict.fromkeys((path, _LANGUAGE.sub("en", path, count=1))):
        yield name
        yield f"{name}.md"
        yield f"{name}.mdx"
        yield f"{name}.html"
        if name.endswith(".html"):
            yield from (f"{name.removesuffix('.html')}.{source}" for source in _SOURCES)
            yield re.sub(r"\bindex\.html$", "README.md", name)


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


def _by_stem(name: str, note_path: str, stems: Mapping[str, Sequence[str]]) -> str | None:
    wanted = name.strip("/").removesuffix(".md")
    stem = wanted.rpartition("/")[2]
    paths = stems.get(stem) or stems.get(stem.casefold()) or ()
    ending = f"/{wanted}".casefold()
    fitting = [path for path in paths if f"/{path}".removesuffix(".md").casefold().endswith(ending)]
    return min(fitting, key=lambda path: (_distance(path, note_path), path), default=None)


def _distance(path: str, note_path: str) -> int:
    one, other = path.split("/")[:-1], note_path.split("/")[:-1]
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    return len(one) + len(other) - 2 * shared


@dataclass(frozen=True, slots=True)
class RuleLink:
    """A link of the note; `resolved` is the path it leads to, `line` counts from 1."""

    target: str
    line: int
    resolved: str | None
    external: bool
    anchor: str = ""
    kind: LinkKind | None = None


class RepositoryFacts(Protocol):
    """Facts about the repository that a rule can query."""

    def __contains__(self, path: object) -> bool: ...

    def is_gone(self, path: str, *, note_path: str) -> bool:
        """Return True if a named path surely does not exist, although its first folders do."""

    def ignores(self, path: str) -> bool:
        """Return True if git is to leave a path out, which others therefore have not."""

    @property
    def make_targets(self) -> frozenset[str] | None:
        """The targets of the Makefile at the root; None if they are not known."""


@dataclass(frozen=True, slots=True)
class RuleInput:
    """One note as it was snapshotted, and where its links lead: anchors and texts by path."""

    note_path: str
    text: str
    links: tuple[RuleLink, ...] = ()
    flavour: Flavour = COMMONMARK
    anchors_of: Callable[[str], Anchors | None] = lambda path: None
    repository: RepositoryFacts | None = None
    text_of: Callable[[str], str | None] = lambda path: None
    share_of: Callable[[str], Share] = lambda form: Share()
