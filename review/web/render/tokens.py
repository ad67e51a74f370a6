"""Turns Markdown into tokens whose links, images and places are ours: nothing in them loads or acts."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import dropwhile
from typing import Any

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from review.domain.markdown.document import (
    COMMENT,
    MARKER,
    MATH,
    TEMPLATE,
    WIKI_TARGET,
    new_env,
    new_parser,
)
from review.domain.markdown.flavours import COMMONMARK, Flavour
from review.domain.markdown.links import LinkKind

_MAX_CHARACTERS = 20_000
# By the first letters of a kind of token as Pygments abbreviates it.
CLASSES = {
    "c": "code-comment", "k": "code-keyword", "s": "code-string", "m": "code-number",
    "gd": "code-removed", "gi": "code-added",
}  # fmt: skip


def highlighted(code: str, info: str) -> SafeString:
    """Return `code` as HTML; `info` names its language; unknown or long code has no colours."""
    words = info.split()
    lexer = _lexer(words[0].strip("{}.").lower()) if words else None
    if lexer is None or len(code) > _MAX_CHARACTERS:
        return escape(code)
    from pygments.token import STANDARD_TYPES  # type: ignore[import-untyped]

    shorts = ((STANDARD_TYPES.get(kind, ""), text) for kind, text in lexer.get_tokens(code))
    named = ((CLASSES.get(short, CLASSES.get(short[:1])), text) for short, text in shorts)
    return SafeString(
        "".join(
            format_html('<span class="{}">{}</span>', name, text) if name else escape(text)
            for name, text in named
        )
    )


@cache
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


# The address of a page for a link as it is written; None where we have no page for it.
LinkTo = Callable[[str, LinkKind], str | None]

_OUTSIDE = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_NOT_SLUG = re.compile(r"[^\w\- ]")
_OURS = "trusted"  # tokens with HTML that we made
_TASK = re.compile(r"\[([ xX])\]\s")
_CALLOUT = re.compile(r"\[!(\w+)\][+-]?[ \t]*([^\n]*)\n?")
_ALIGNED = {"text-align:right": "right", "text-align:center": "center"}


@dataclass(frozen=True)
class Look:
    """The rendering options of a text; `prefix` keeps the ids of two texts on a page apart."""

    link_to: LinkTo | None = None
    prefix: str = "text-"
    headings: tuple[int, int] = (1, 2)
    flavour: Flavour = COMMONMARK


@dataclass
class Dressing:
    """Prepares the tokens of one text for a page, with HTML of `notes` before blocks of lines."""

    look: Look
    first: int
    notes: Sequence[tuple[int, str]]
    with_lines: bool
    _link_ends: list[bool] = field(default_factory=list)
    _slugs: Counter[str] = field(default_factory=Counter)
    # A text that has no heading of the first level loses none by it.
    _lift: int = 0

    def render(self, text: str) -> str:
        parser, env = (
            _parser(self.look.flavour),
            {"docId": self.look.prefix.rstrip("-"), **new_env()},
        )
        tokens = self._dressed(parser.parse(text, env))
        return str(parser.renderer.render(tokens, parser.options, env))

    def _dressed(self, tokens: Sequence[Token]) -> list[Token]:
        levels = (int(token.tag[1]) for token in tokens if token.type == "heading_open")
        self._lift = min(levels, default=1) - 1
        for token, following in zip(tokens, [*tokens[1:], None], strict=False):
            if token.type.startswith("heading_"):
                self._dress_heading(token, following)
            if token.type in ("th_open", "td_open"):
                side = _ALIGNED.get(str(token.attrGet("style")))
                token.attrs = {"class": side} if side else {}
            if token.children:
                self._link_ends = []
                token.children = [self._dress_inline(child) for child in _named(token.children)]
        _mark_callouts(tokens)
        _mark_tasks(tokens)
        return list(self._placed(tokens))

    def _dress_heading(self, token: Token, title: Token | None) -> None:
        down, highest = self.look.headings
        token.tag = f"h{min(max(int(token.tag[1]) - self._lift + down, highest), 6)}"
        if token.nesting > 0 and title is not None:
            slug = _NOT_SLUG.sub("", title.content.strip().lower()).replace(" ", "-")
            self._slugs[slug] += 1
            again = self._slugs[slug] - 1
            token.attrSet("id", f"{self.look.prefix}{slug}{f'-{again}' if again else ''}")

    def _dress_inline(self, token: Token) -> Token:
        if token.type == "link_open":
            return self._dress_link(token)
        if token.type == "link_close":
            if self._link_ends and self._link_ends.pop():
                token.tag = "span"
            return token
        return self._image(token) if token.type == "image" else token

    def _dress_link(self, token: Token) -> Token:
        href = str(token.attrGet("href") or "")
        address = self._address(href, LinkKind(token.meta.get(WIKI_TARGET, LinkKind.INLINE)))
        self._link_ends.append(address is None)
        if address is None:
            token.tag = "span"
            token.attrs = {"class": "no-page", "title": f"leads to no page here: {href}"}
        else:
            token.attrs = {"href": address}
        return token

    def _address(self, href: str, kind: LinkKind) -> str | None:
        if href.startswith("#"):
            return f"#{self.look.prefix}{href[1:].lower()}"
        if _OUTSIDE.match(href):
            return href
        return self.look.link_to(href, kind) if self.look.link_to else None

    def _image(self, token: Token) -> Token:
        """Show a link or a label instead of the image: pages load nothing from other sites."""
        source = str(token.attrGet("src") or "")
        label = "".join(child.content for child in token.children or ()) or "without a description"
        if _OUTSIDE.match(source) and not self._link_ends:
            return _html(format_html('<a class="image" href="{}">image: {}</a>', source, label))
        html = '<span class="image" title="{}">image: {}</span>'
        return _html(format_html(html, source[:200], label))

    def _placed(self, tokens: Sequence[Token]) -> Iterator[Token]:
        """The tokens with line anchors, and with each note at the block that holds its line."""
        notes = self._notes_by_block(tokens)
        numbered: set[int] = set()
        for index, token in enumerate(tokens):
            here = [_html(note) for note in notes.get(index, ())]
            if here:
                token.attrJoin("class", "quoted")
            line = token.map[0] + self.first if token.map else 0
            is_block = token.nesting >= 0 and token.type != "inline"
            can_number = self.with_lines and is_block and token.attrGet("id") is None
            if line and can_number and line not in numbered:
                token.attrSet("id", f"{self.look.prefix}L{line}")
                numbered.add(line)
            # A list holds only items, so a note of an item is placed in it.
            inside = token.type == "list_item_open"
            yield from (token, *here) if inside else (*here, token)

    def _notes_by_block(self, tokens: Sequence[Token]) -> dict[int, list[str]]:
        """Notes by the index of the innermost block that begins at or before their line."""
        starts = sorted(
            (token.map[0] + self.first, index)
            for index, token in enumerate(tokens)
            if token.map is not None and not token.hidden and token.type not in _NO_PLACE
        )
        found: dict[int, list[str]] = {}
        for line, note in self.notes if starts else ():
            at = bisect_right(starts, (line, len(tokens))) - 1
            found.setdefault(starts[max(at, 0)][1], []).append(note)
        return found


_NO_PLACE = frozenset(
    {
        "inline", "thead_open", "tbody_open", "tr_open", "th_open", "td_open",
        "bullet_list_open", "ordered_list_open", "footnote_reference_open",
    }
)  # fmt: skip


@cache
def _parser(flavour: Flavour) -> MarkdownIt:
    """The parser of the rules, with footnotes at the end; HTML and comments are shown."""
    markdown = new_parser(flavour, draws_math=True)
    markdown.options["linkify"] = True
    markdown.enable("linkify")
    # Without a scheme `README.md` would be taken for a site in Moldova.
    if markdown.linkify is not None:
        markdown.linkify.set({"fuzzy_link": False, "fuzzy_email": False})
    markdown.use(footnote_plugin)
    markdown.core.ruler.before("footnote_tail", "footnote_names", _fold_footnote_names)
    # Anything wider than the page scrolls in itself, and can be reached by keyboard for it.
    for name, rule in _RULES.items():
        markdown.add_render_rule(name, rule)
    return markdown


def _fold_footnote_names(state: StateCore) -> None:
    """Let a footnote's mark and text match without regard to case; inline ones have no name."""
    texts = [token.meta for token in state.tokens if token.type == "footnote_reference_open"]
    for named in (*texts, *state.env["footnotes"]["list"].values()):
        if "label" in named:
            named["label"] = named["label"].casefold()


def _named(children: Sequence[Token]) -> Iterator[Token]:
    """Children, where a link without words gets its target for a name."""
    for index, token in enumerate(children, 1):
        yield token
        ends_at_once = children[index : index + 1] and children[index].type == "link_close"
        if token.type == "link_open" and ends_at_once:
            yield Token("text", "", 0, content=str(token.attrGet("href") or "link"))


_ADMONITION = {"admonition_open": "callout", "admonition_title_open": "word"}


def _mark_callouts(tokens: Sequence[Token]) -> None:
    """Turn quotations that begin with `[!NOTE] words`, and admonitions, into boxes with a title."""
    for opening, _paragraph, text in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type in _ADMONITION:
            opening.attrs = {"class": _ADMONITION[opening.type]}
        if opening.type != "blockquote_open" or text.type != "inline":
            continue
        found = _CALLOUT.match(text.content)
        if found is not None and text.children:
            opening.attrJoin("class", "callout")
            title = found[2].strip() or found[1].capitalize()
            rest = list(dropwhile(lambda token: token.type != "softbreak", text.children))[1:]
            text.children = [_html(format_html('<b class="word">{}</b><br>', title)), *rest]


def _mark_tasks(tokens: Sequence[Token]) -> None:
    """Show `[ ]` and `[x]` at the start of a list item as a disabled checkbox."""
    for item, paragraph, text in zip(tokens, tokens[1:], tokens[2:], strict=False):
        found = _TASK.match(text.content) if item.type == "list_item_open" else None
        if found and paragraph.type == "paragraph_open" and text.children:
            item.attrSet("class", "task-list-item")
            text.children[0].content = text.children[0].content[3:]
            checked = "" if found[1] == " " else 'checked="checked" '
            box = f'<label><input {checked}disabled="disabled" type="checkbox">'
            text.children = [_html(box), *text.children, _html("</label>")]


def _html(content: str) -> Token:
    token = Token(_OURS, "", 0)
    token.content = content
    return token


def _code(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    told = {name: token.attrGet(name) for name in ("id", "class")}
    attributes = ((name, value) for name, value in told.items() if value)
    return format_html(
        '<pre tabindex="0"{}><code>{}</code></pre>\n',
        format_html_join("", ' {}="{}"', attributes),
        highlighted(token.content, token.info) if token.type == "fence" else token.content,
    )


_WIDE = '<div class="wide" role="group" tabindex="0" aria-label="table">'
_BLOCKS = ("fence", "code_block", MARKER, "html_block", f"{MATH}_block", f"{COMMENT}_block")
# How tokens are shown that the parser shows otherwise, or not at all.
_RULES: dict[str, Callable[..., str]] = {
    **dict.fromkeys(_BLOCKS, _code),
    **dict.fromkeys(
        ("html_inline", TEMPLATE, COMMENT), lambda _self, tokens, at, *_: escape(tokens[at].content)
    ),
    MATH: lambda _self, tokens, at, *_: format_html(
        '<code class="math">{}</code>', tokens[at].content
    ),
    _OURS: lambda _self, tokens, at, *_: tokens[at].content,
    "table_open": lambda self, tokens, at, *more: _WIDE + self.renderToken(tokens, at, *more),
    "table_close": lambda *_: "</table>\n</div>\n",
}
