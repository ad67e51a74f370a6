"""One note as the rules see it: frontmatter, blocks and prose, each read once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from review.domain.markdown.anchors import Anchors
from review.domain.markdown.document import MarkdownDocument, read_markdown
from review.domain.markdown.frontmatter import Frontmatter, parse_frontmatter
from review.runners.rules.blocks import Block, BlockKind, read_blocks
from review.runners.rules.inline import Inline, InlineLink, InlineLinkKind, read_inline
from review.runners.rules.values import RuleInput
from review.vocabulary import ProblemCode

_HTML_H1 = re.compile(r"<h1\b[^<>]*>(.*?)</h1>", re.IGNORECASE | re.DOTALL)
_TITLE_KEYS = ("title", "name", "fullname", "linkTitle", "subject")
_LEGAL = re.compile(r"(?:^|/)(?:licen[cs]e|copying|notice)[\w.-]*$", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_LINE_END = re.compile(r"\r\n?|\n")
_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.ITEM})
_WITH_INLINE = _PROSE | {
    BlockKind.HEADING,
    BlockKind.CELL,
    BlockKind.QUOTE,
    BlockKind.FOOTNOTE,
    BlockKind.TERM,
}
_ADDRESSED = frozenset({InlineLinkKind.INLINE, InlineLinkKind.REFERENCE, InlineLinkKind.WIKILINK})


@dataclass(frozen=True, slots=True)
class Passage:
    """A block with its inline markup."""

    block: Block
    inline: Inline

    @property
    def prose(self) -> str:
        """Its text with code, addresses and images made opaque; offsets are those of the block."""
        return self.inline.masked

    @property
    def links(self) -> tuple[InlineLink, ...]:
        """The links that lead somewhere: no images, embeds and footnotes."""
        return tuple(link for link in self.inline.links if link.kind in _ADDRESSED)


@dataclass(frozen=True)
class Page:
    """The parsed parts of one note, shared by the rules."""

    given: RuleInput

    @cached_property
    def frontmatter(self) -> Frontmatter:
        """The frontmatter, or none."""
        return parse_frontmatter(self.given.text)

    @cached_property
    def document(self) -> MarkdownDocument:
        """The parsed text below the frontmatter."""
        body = self.given.text[self._body_offset :].removeprefix("\ufeff")
        return read_markdown(body, self.given.flavour)

    @cached_property
    def lines_above(self) -> int:
        """The number of lines above the body."""
        return len(_LINE_END.findall(self.given.text, 0, self._body_offset))

    @property
    def _body_offset(self) -> int:
        problem = self.frontmatter.problem
        if problem is not None and problem.code is ProblemCode.UNCLOSED_FRONTMATTER:
            # Whatever stands there is no prose; it ends at the first blank line, if at all.
            blank = re.search(r"\n[ \t]*\r?\n", self.given.text)
            return blank.end() if blank else len(self.given.text)
        return self.frontmatter.body_offset

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the body."""
        return read_blocks(self.document, first_line=self.lines_above + 1)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """The blocks that hold inline markup, code and HTML left out."""
        return tuple(
            Passage(block, read_inline(block.text, block.token))
            for block in self.blocks
            if block.kind in _WITH_INLINE and block.token is not None
        )

    @property
    def headings(self) -> tuple[Block, ...]:
        """The headings in order, without those in quotations and lists."""
        return tuple(
            block for block in self.blocks if block.kind is BlockKind.HEADING and not block.inside
        )

    @property
    def prose(self) -> Iterator[Passage]:
        """The author's own paragraphs and list items."""
        if _LEGAL.search(self.given.note_path):
            return iter(())  # nobody here wrote it
        return (passage for passage in self.passages if passage.block.kind in _PROSE)

    @property
    def sections(self) -> Iterator[tuple[Block | None, Passage]]:
        """The author's own paragraphs and list items, each with its heading."""
        heading = None
        own = {passage.block.line for passage in self.prose}
        for passage in self.passages:
            if passage.block.kind is BlockKind.HEADING:
                heading = passage.block
            elif passage.block.line in own and passage.block.kind in _PROSE:
                yield heading, passage

    @cached_property
    def h1(self) -> tuple[str, int] | None:
        """The words and the line of the first heading of level 1, which may be HTML."""
        for block in self.blocks:
            if block.kind is BlockKind.HEADING and block.level == 1 and not block.inside:
                return block.words, block.line
            found = _HTML_H1.search(block.text) if block.kind is BlockKind.HTML else None
            if found is not None:
                return _TAG.sub("", found[1]).strip(), block.line_at(found.start())
        return None

    @property
    def title(self) -> str:
        """The title in words: the first H1, else the frontmatter's title; empty if none."""
        return self.h1[0] if self.h1 else self.field(self._title_key)

    @property
    def title_line(self) -> int:
        """The line of the title; 0 if there is none."""
        return self.h1[1] if self.h1 else self.field_line(self._title_key)

    @property
    def _title_key(self) -> str:
        return next((key for key in _TITLE_KEYS if self.field(key)), "title")

    @property
    def description_key(self) -> str:
        """The frontmatter's key of the description, which Dendron calls otherwise."""
        return "desc" if self.given.flavour.name == "dendron" else "description"

    def anchors_of(self, path: str) -> Anchors | None:
        """Return the anchors of another note; None where they cannot be had."""
        return self.given.anchors_of(path) if self.given.anchors_of else None

    @cached_property
    def footnotes(self) -> dict[str, int]:
        """The lines of the footnotes by name, which is case-folded."""
        return {
            str(token.meta["label"]).casefold(): self.lines_above + 1 + token.map[0]
            for token in self.document.tokens
            if token.type == "footnote_reference_open" and token.map is not None
        }

    def field(self, key: str) -> str:
        """A scalar of the frontmatter without the blanks around it; empty if absent or null."""
        value = (self.frontmatter.text(key) or "").strip()
        return "" if value in ("null", "~") else value

    def field_line(self, key: str) -> int:
        """Return the line of a frontmatter key; 0 if it is absent."""
        return self.frontmatter.line_of(key) if key in self.frontmatter.fields else 0

    def quoted_line(self, number: int) -> str:
        """The line of the file with this number; empty if there is none."""
        lines = self._all_lines
        return lines[number - 1] if 0 < number <= len(lines) else ""

    @cached_property
    def _all_lines(self) -> list[str]:
        return _LINE_END.split(self.given.text)


@lru_cache(maxsize=4)
def page_of(given: RuleInput) -> Page:
    """Read a note; the last few are kept, because a job asks several rules about one note."""
    return Page(given)
