"""One note as the rules see it, each part read once; the declaration of a rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from review.domain.markdown.document import MarkdownDocument, read_markdown
from review.domain.markdown.frontmatter import Frontmatter, parse_frontmatter
from review.domain.markdown.links import RuleInput, RuleLink
from review.protocol.typed_review import ReviewFinding, TypedReview
from review.runners.rules.blocks import Block, BlockKind, read_blocks
from review.runners.rules.words import safe_quote
from review.vocabulary import ACCEPTING_DECISIONS, GRAVITY, Decision, ProblemCode, Severity

_HTML_H1 = re.compile(r"<h1\b[^<>]*>(.*?)</h1>", re.IGNORECASE | re.DOTALL)
_TITLE_KEYS = ("title", "Title", "name", "fullname", "linkTitle", "subject")
_LEGAL = re.compile(
    r"(?:^|/)(?:licen[cs]es/.*|(?:licen[cs]e|copying|notice|(?:act|decret[oe]?|gesetz|law|ley|loi)[-_ ]\d)[\w.-]*"
    r"|(?:legal|disclaimer|imprint|privacy(?:-policy)?|terms(?:-of-\w+)?|.*terms.and.conditions)\.md)$",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]*>")
_LINE_END = re.compile(r"\r\n?|\n")
_LINK_END = re.compile(r"[^()\[\]>]*[)\]>]+")
_NEAR = 80  # characters
_LONGEST_PART = 600  # characters
_PROSE = frozenset({BlockKind.PARAGRAPH, BlockKind.ITEM})
_TEXTS = _PROSE | {
    BlockKind.HEADING,
    BlockKind.HEADER,
    BlockKind.CELL,
    BlockKind.QUOTE,
    BlockKind.FOOTNOTE,
    BlockKind.TERM,
}


@dataclass(frozen=True)
class Page:
    given: RuleInput

    @cached_property
    def frontmatter(self) -> Frontmatter:
        return parse_frontmatter(self.given.text)

    @cached_property
    def document(self) -> MarkdownDocument:
        body = self.given.text[self._body_offset :].removeprefix("\ufeff")
        return read_markdown(body, self.given.flavour)

    @cached_property
    def lines_above(self) -> int:
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
    def blocks(self) -> list[Block]:
        return list(read_blocks(self.document, first_line=self.lines_above + 1))

    @cached_property
    def texts(self) -> list[Block]:
        """The blocks that hold inline markup, code and HTML left out."""
        return [block for block in self.blocks if block.kind in _TEXTS]

    @property
    def headings(self) -> list[Block]:
        """The author's own headings in order, without those in quotations and lists."""
        blocks = [] if self.is_foreign else self.blocks
        return [b for b in blocks if b.kind is BlockKind.HEADING and not b.inside]

    @property
    def prose(self) -> list[Block]:
        """The author's own paragraphs and list items."""
        return [] if self.is_foreign else [block for block in self.texts if block.kind in _PROSE]

    @property
    def is_foreign(self) -> bool:
        """True for legal texts, and for a clipping, whose frontmatter gives its source."""
        is_clipping = any(self.field(key).startswith("http") for key in ("source", "url", "link"))
        return is_clipping or bool(_LEGAL.search(self.given.note_path))

    @property
    def is_of_vault(self) -> bool:
        """True where notes are titled by their files, and shown with the lines they are written in."""
        return self.given.flavour.name in ("dendron", "logseq", "obsidian")

    @property
    def sections(self) -> Iterator[tuple[Block | None, Block]]:
        """The author's own paragraphs and list items, each with its heading."""
        heading, own = None, bool(self.prose)
        for block in self.texts:
            if block.kind is BlockKind.HEADING:
                heading = block
            elif own and block.kind in _PROSE:
                yield heading, block

    @cached_property
    def h1(self) -> tuple[str, int] | None:
        """The words and the line of the first heading of level 1 with words, which may be HTML."""
        for block in self.blocks:
            is_top = block.kind is BlockKind.HEADING and block.level == 1 and not block.inside
            if is_top and block.words:
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

    def field(self, key: str) -> str:
        """A scalar of the frontmatter without the blanks around it; empty if absent or null."""
        value = (self.frontmatter.text(key) or "").strip()
        return "" if value in ("null", "~") else value

    def field_line(self, key: str) -> int:
        """Return the line of a frontmatter key; 0 if it is absent."""
        return self.frontmatter.line_of(key) if key in self.frontmatter.fields else 0

    def line(self, number: int) -> str:
        """The line of the file with this number; empty if there is none."""
        lines = self._all_lines
        return lines[number - 1] if 0 < number <= len(lines) else ""

    @cached_property
    def _all_lines(self) -> list[str]:
        return _LINE_END.split(self.given.text)

    def finding(
        self, said: str, number: int, *, severity: Severity = Severity.WARN
    ) -> ReviewFinding:
        """Make a finding that quotes a line of the file; line 0 is the whole note."""
        return ReviewFinding(severity, said, safe_quote(self.line(number)), number)

    def link_finding(
        self, link: RuleLink, said: str, *, severity: Severity = Severity.WARN, nth: int = 0
    ) -> ReviewFinding:
        """Make a finding about the nth link to this target on its line."""
        quote = safe_quote(_around(self.line(link.line), link.target, nth))
        return ReviewFinding(severity, said, quote, link.line)


def _around(line: str, target: str, nth: int) -> str:
    """Return the part of a line that shows the link: between its brackets where these are near."""
    places = [place.start() for place in re.finditer(rf"{re.escape(target)}(?![\w#/])", line)]
    at = (places[nth:] or places[:1] or [line.find(target)])[0]
    opening = line.rfind("[", max(0, at - _NEAR), max(at, 0))
    start = opening if opening >= 0 else max(at, 0)
    for sign in "[!":
        start -= start > 0 and line[start - 1] == sign and line[start] == "["
    closed = _LINK_END.match(line, at + len(target)) if at >= 0 else None
    return line[start : min(closed.end() if closed else len(line), start + _LONGEST_PART)]


@lru_cache(maxsize=4)
def page_of(given: RuleInput) -> Page:
    """Read a note; the last few are kept, because a job asks several rules about one note."""
    return Page(given)


MOST_FINDINGS = 20

Findings = Iterator[ReviewFinding]
Find = Callable[[Page], Findings]


@dataclass(frozen=True, slots=True)
class Rule:
    """A deterministic check; `holds` is a clause about a good note: "every heading has text"."""

    name: str
    holds: str
    advice: str
    find: Find
    reads_frontmatter: bool

    def judge(self, given: RuleInput, lowest: Severity | None = None) -> TypedReview:
        """Judge a note by this rule; the same note gives the same review."""
        page = page_of(given)
        signature = f"Judged by the rule `{self.name}`, without a model."
        problem = page.frontmatter.problem
        if self.reads_frontmatter and problem is not None:
            return TypedReview(
                Decision.ERROR,
                (),
                f"The frontmatter cannot be read (line {problem.line}), so there is no telling "
                f"whether {self.holds}. {signature}",
                "Repair the frontmatter first; the rule `readable-frontmatter` says what is wrong.",
            )
        findings = [
            replace(it, severity=max(it.severity, lowest or it.severity, key=GRAVITY.__getitem__))
            for it in dict.fromkeys(self.find(page))
        ]
        gravest = sorted(findings, key=lambda found: -GRAVITY[found.severity])
        kept = set(gravest[:MOST_FINDINGS])
        decision = ACCEPTING_DECISIONS[GRAVITY[gravest[0].severity] - 1 if gravest else 0]
        summary = f"{self._said(len(findings), decision)} {signature}"
        listed = tuple(found for found in findings if found in kept)
        return TypedReview(decision, listed, summary, self.advice if findings else "None.")

    def _said(self, count: int, decision: Decision) -> str:
        if not count:
            return f"{self.holds[:1].upper()}{self.holds[1:]}."
        places = "1 place" if count == 1 else f"{count} places"
        more = f" The gravest {MOST_FINDINGS} are listed." if count > MOST_FINDINGS else ""
        if decision is Decision.PASS:
            return f"{places} to know of; none counts against the note.{more}"
        return f"{places} where it does not hold that {self.holds}.{more}"


def rule(holds: str, advice: str, *, reads_frontmatter: bool = False) -> Callable[[Find], Rule]:
    """Make a rule of a function that finds what is wrong; its name is that of the function."""

    def declare(find: Find) -> Rule:
        return Rule(find.__name__.replace("_", "-"), holds, advice, find, reads_frontmatter)

    return declare


def info_if(is_doubtful: bool) -> Severity:
    """Return the severity of a finding that may be none."""
    return Severity.INFO if is_doubtful else Severity.WARN
