"""One note as the rules see it: frontmatter, blocks and prose, each read once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from review.domain.frontmatter import Frontmatter, parse_frontmatter
from review.domain.markdown_lines import Line, iter_lines
from review.domain.regions import Regions, regions_of
from review.runners.rules.block_reading import read_blocks
from review.runners.rules.blocks import Block, BlockKind
from review.runners.rules.inline import Inline, InlineLink, LinkKind, read_inline
from review.runners.rules.values import RuleInput
from review.vocabulary import ProblemCode

_LONE_CR = re.compile(r"\r(?!\n)")
_LINE_END = re.compile(r"\r\n?|\n")
_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.ITEM})
_WITH_INLINE = _PROSE | {BlockKind.HEADING, BlockKind.TABLE, BlockKind.QUOTE, BlockKind.FOOTNOTE}
_ADDRESSED = frozenset({LinkKind.INLINE, LinkKind.REFERENCE, LinkKind.WIKILINK})


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
    """What the rules share about one note."""

    given: RuleInput

    @cached_property
    def frontmatter(self) -> Frontmatter:
        """The frontmatter, or none."""
        return parse_frontmatter(self.given.text)

    @cached_property
    def regions(self) -> Regions:
        """The parts a gate can watch."""
        return regions_of(self.given.text, self.frontmatter)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines below the frontmatter, numbered as in the file."""
        text, offset = self.given.text, self._body_offset
        above = len(_LINE_END.findall(text, 0, offset))
        body = _LONE_CR.sub("\n", text[offset:]).removeprefix("\ufeff")
        return tuple(line._replace(number=line.number + above) for line in iter_lines(body))

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
        return read_blocks(self.lines)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """The blocks that hold inline markup, code and HTML left out."""
        return tuple(
            Passage(block, read_inline(block.text))
            for block in self.blocks
            if block.kind in _WITH_INLINE
        )

    @property
    def headings(self) -> tuple[Block, ...]:
        """The headings in order."""
        return tuple(block for block in self.blocks if block.kind is BlockKind.HEADING)

    @property
    def prose(self) -> Iterator[Passage]:
        """The author's own paragraphs and list items."""
        return (passage for passage in self.passages if passage.block.kind in _PROSE)

    @property
    def has_h1(self) -> bool:
        """Whether the title is a heading of the body."""
        return self.regions.title_offset is not None

    @property
    def title(self) -> str:
        """The title in words: the first H1, else the frontmatter's title; empty if none."""
        return self.regions.title_text.strip()

    @cached_property
    def title_line(self) -> int:
        """The line of the title; 0 if there is none."""
        for block in self.headings:
            if block.level == 1 and self.has_h1:
                return block.line
        return self.field_line("title") if self.title else 0

    def field(self, key: str) -> str:
        """A scalar of the frontmatter without the blanks around it; empty if absent."""
        return (self.frontmatter.text(key) or "").strip()

    def field_line(self, key: str) -> int:
        """The line a frontmatter key stands on; 0 if it does not."""
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
