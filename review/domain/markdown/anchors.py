"""The anchors of a note: what a link behind `#` may name in it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from review.domain.markdown.document import MARKER, MarkdownDocument, Token, read_markdown
from review.domain.markdown.flavours import COMMONMARK, Flavour

_HTML_ID = re.compile(r"\b(?:id|name|permalink|anchor)\s?=\s?[\"']?([^\s\"'<>]+)")
_ATTRIBUTE_ID = re.compile(r"\{:?\s*(?:[^{}/*]*?\s)?(?:#|id=[\"']?)([^\s{}\"']+)[^{}]*\}")
_ATTRIBUTES = re.compile(r"\{:?\s*(?:\.[\w-]|[\w-]+=)[^{}]*\}\s*$")
_COMMENT_ID = re.compile(r"(?:<!--\s*#|\{/\*\s*#?)([\w.-]+)\s*(?:-->|\*/\})")
_BLOCK_ID = re.compile(r"\^([\w-]+)\s*$", re.MULTILINE)
_HTML_HEADING = re.compile(r"<h[1-6]\b[^<>]*>(.*?)</h[1-6]>", re.IGNORECASE | re.DOTALL)
_INCLUDES = re.compile(
    r"\{\{[<%]-?\s*[\w/.-]*(?:include|readfile|partial|transclude|snippet|render)"
    r"|\{%-?\s*(?:include|for\b)|\{!|--8<--|^\s*<[A-Z]\w*[^<>]*/>|\{\{\s*(?:include|\w+:)|^!\[\[[^.\]]+\]\]"
    r"|^\s*===[!+]? \""  # tabs, of which a site makes anchors
    r"|^\s*[`~:]{3,}\s*\{[\w:-]+\}|(?<!!)\[\]\(#"  # MyST, whose labels are of any note
)
_DENDRON_RANGE = re.compile(r",-?\d+$")
_PREFIX = re.compile(r"^(?:user-content-|id-(?=\d))")  # of GitHub and GitBook
_TAG = re.compile(r"<[^<>]*>")
_GENERATED = re.compile(
    r"(?:_?top|comments|markdown-toc|__[\w-]+|L\d+(?:-L?\d+)?|fn:?[\w-]*|fnref[\w:-]*|cite[\w:-]*|page=\d+|:~:.*|\+.*|\^(?:begin|end))"
)
_ENTITY = re.compile(r"-(?:amp|lt|gt|quot)(?=-)")  # as Hexo spells signs
_COUNTER = re.compile(r"[-_]\d+$")
_LEADING_NUMBER = re.compile(r"^\d+")
_CERTAIN = frozenset(
    {"text", "text_special", "code_inline", "softbreak", "link_open", "link_close"}
)
_COMMENTS = ("<!--", "{/*", "{#", "%%")
_NORMALISED = 2000  # characters
_ANY = ("", "obsidian")


@dataclass(frozen=True)
class Anchors:
    """The anchors of a note, exact and `loose`: letters and digits where sites differ.

    :param is_open: whether more may come from elsewhere: from a file that is included, say.
    :param is_transliterated: whether a site may spell headings in other letters than they have.
    :param words: letters and digits of all headings, which wikilinks name by their words.
    """

    exact: frozenset[str]
    loose: frozenset[str]
    words: frozenset[str]
    is_open: bool = False
    is_transliterated: bool = False

    def have(self, anchor: str, *, by_words: bool = False) -> bool:
        """Return True if a link to `#anchor` resolves; anchors that generators add always do."""
        written = unquote(anchor)
        anchor = written.partition(":#")[0].rpartition("#")[2]
        anchor = _PREFIX.sub("", _DENDRON_RANGE.sub("", anchor))
        if not anchor or anchor == "*" or self.is_open or _GENERATED.fullmatch(anchor):
            return True
        if not self.exact.isdisjoint((anchor, anchor.lower())):
            return True
        if self.is_transliterated and anchor.isascii():
            return True
        name = letters_only(anchor)
        uncounted = letters_only(_COUNTER.sub("", anchor))
        unescaped = letters_only(_ENTITY.sub("", anchor))
        unnumbered = _LEADING_NUMBER.sub("", name) or name
        names = (name, uncounted, unescaped, unnumbered, letters_only(written))
        known = self.loose | self.words if by_words else self.loose
        return not name or not known.isdisjoint(names)


def anchors_of(text: str, flavour: Flavour = COMMONMARK) -> Anchors:
    """Read the anchors of a note; `text` is without its frontmatter."""
    return read_anchors(read_markdown(text, flavour), flavour)


def read_anchors(document: MarkdownDocument, flavour: Flavour) -> Anchors:
    reader = _Reader(flavour)
    for index, token in enumerate(document.tokens):
        if token.type in ("heading_open", "dt_open"):
            reader.add_heading(document.tokens[index + 1], tag=token.tag)
        elif token.type == "html_block":
            reader.add_html(token.content)
            reader.add_attributes(token.content)  # a heading in MDX
        elif token.type in (MARKER, "fence"):  # Pandoc's `::: {#id}`
            reader.add_attributes(token.info or token.content.partition("\n")[0])
        elif token.type == "inline":
            reader.add_inline(token)
    reader.loose |= {letters_only(found) for found in _BLOCK_ID.findall("\n".join(document.lines))}
    is_open = reader.is_open or any(_INCLUDES.search(line) for line in document.lines)
    return Anchors(
        exact=frozenset(reader.exact),
        loose=frozenset(reader.loose),
        words=frozenset(reader.words),
        is_open=is_open,
        is_transliterated=not flavour.anchors and not "".join(reader.words).isascii(),
    )


def letters_only(text: str) -> str:
    """Keep letters and digits: what a heading and its anchor have in common."""
    # Normalising takes quadratic time on a long run of combining marks.
    normal = unicodedata.normalize("NFKC", text) if len(text) <= _NORMALISED else text
    return "".join(char for char in normal.casefold() if char.isalnum())


class _Reader:
    def __init__(self, flavour: Flavour) -> None:
        self.exact: set[str] = set()
        self.loose: set[str] = set()
        self.words: set[str] = set()
        self.is_open = False
        self._flavour = flavour
        self._slugs: Counter[str] = Counter()
        self._above: dict[str, str] = {}

    def add_heading(self, title: Token, *, tag: str) -> None:
        children = title.children or []
        if self._flavour.ids_in_comments:
            self._add_exact(found[1] for found in _COMMENT_ID.finditer(title.content))
        # A heading without words gets them from a macro of the site.
        self.is_open = self.is_open or bool(children and not shown_text(title).strip())
        shown = _ATTRIBUTES.sub("", _ATTRIBUTE_ID.sub("", shown_text(title))).strip()
        is_certain = shown.isascii() and all(
            token.type in _CERTAIN or token.content.startswith(_COMMENTS) for token in children
        )
        pictures = "".join(token.content for token in children if token.type == "image")
        for words in (shown, f"{pictures}{shown}", title.content):
            self._add_words(words, certain=is_certain)
        if self._flavour.anchors not in _ANY:
            self._add_slug(shown)
            return
        # Some sites put the words of the headings above in front: `#parent-child`.
        self._above = {above: words for above, words in self._above.items() if above < tag}
        self._above[tag] = letters_only(shown)
        path = list(self._above.values())
        self.loose |= {"".join(path[start:]) for start in range(len(path))} - {""}

    def add_inline(self, block: Token) -> None:
        self.add_attributes(block.content)
        for token in block.children or ():
            if token.type == "html_inline":
                self._add_html_ids(token.content)

    def add_attributes(self, text: str) -> None:
        self._add_exact(found[1] for found in _ATTRIBUTE_ID.finditer(text))

    def add_html(self, html: str) -> None:
        self._add_html_ids(html)
        for found in _HTML_HEADING.finditer(html):
            self._add_words(_TAG.sub("", found[1]))

    def _add_html_ids(self, html: str) -> None:
        if not html.startswith("<!--"):
            self._add_exact(found[1] for found in _HTML_ID.finditer(html))

    def _add_exact(self, names: Iterator[str]) -> None:
        for name in names:
            self.exact.add(name)
            if self._flavour.anchors in _ANY:
                self.loose.add(letters_only(name))

    def _add_words(self, shown: str, *, certain: bool = False) -> None:
        name = letters_only(shown)
        names = {name, _LEADING_NUMBER.sub("", name) or name} - {""}
        self.words |= names
        if not certain or self._flavour.anchors in _ANY:
            self.loose |= names

    def _add_slug(self, shown: str) -> None:
        name = slug = slug_of(shown, self._flavour.anchors)
        joint = "_" if self._flavour.anchors == "mkdocs" else "-"
        while name in self._slugs:
            self._slugs[slug] += 1
            name = f"{slug}{joint}{self._slugs[slug]}"
        self._slugs[name] = 0
        self.exact.add(name)


def shown_text(heading: Token) -> str:
    """Return the words of a heading: without marks, addresses, pictures and comments."""
    return "".join(
        " " if token.type == "softbreak" else token.content
        for token in heading.children or ()
        if token.type in ("text", "text_special", "code_inline", "softbreak")
    )


def slug_of(shown: str, style: str) -> str:
    if style == "mkdocs":
        plain = unicodedata.normalize("NFKD", shown).encode("ascii", "ignore").decode()
        return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
    if style == "pandoc":
        kept = re.sub(r"[^\w\s.-]", "", shown).strip().lower()
        return re.sub(r"^[\W\d_]+", "", re.sub(r"\s+", "-", kept)) or "section"
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
