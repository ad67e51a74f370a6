"""The parts of a rule, and the conversion of its matches to a review."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from review.protocol.typed_review import TypedFinding, TypedReview
from review.runners.rules.inline import InlineLink
from review.runners.rules.page import Page, Passage, page_of
from review.runners.rules.values import Rule, RuleInput, RuleLink
from review.vocabulary import Decision, Severity

MOST_FINDINGS = 20
LONGEST_QUOTE = 160
LONGEST_FRAGMENT = 80
_CONTEXT = 60  # characters
_NEAR = 80  # characters
_LONGEST_PART = 600  # characters

# Controls, line separators, direction overrides and halves of surrogate pairs.
_UNSAFE = re.compile(
    "<!--|[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]+"
)
# A quote must not look like a heading, a bullet, a fence or a sentinel to whoever reads it back.
_MARKUP = re.compile(r"(?:[>\s]|#{1,6}\s|`{3,}|~{3,}|[-+*]\s|={3,}|\d{1,9}[.)]\s)+")
_LINK_END = re.compile(r"[^()\[\]>]*[)\]>]+")
_REACH = 4 * LONGEST_QUOTE
_WORDY = re.compile(r"[^\W_]")
_GRAVITY = {Severity.INFO: 0, Severity.WARN: 1, Severity.FAIL: 2}
_DECISIONS = {
    Severity.INFO: Decision.PASS,
    Severity.WARN: Decision.WARN,
    Severity.FAIL: Decision.FAIL,
}


@dataclass(frozen=True, slots=True)
class Check:
    """One rule before it is wired.

    `holds` is what is true of a note without findings, as a clause: "every heading has text".
    """

    name: str
    title: str
    holds: str
    advice: str
    find: Callable[[Page], Iterable[TypedFinding]]
    reads_frontmatter: bool = False

    def judge(self, given: RuleInput) -> TypedReview:
        """Judge a note by this rule; the same note gives the same review."""
        page = page_of(given)
        problem = page.frontmatter.problem
        if self.reads_frontmatter and problem is not None:
            return TypedReview(
                Decision.ERROR,
                (),
                f"The frontmatter cannot be read (line {problem.line}), so there is no telling "
                f"whether {self.holds}. {self._signature()}",
                "Repair the frontmatter first; the rule `readable-frontmatter` says what is wrong.",
            )
        return self._review(list(dict.fromkeys(self.find(page))))

    def wired(self) -> Rule:
        """Convert it to the form that the registry returns."""
        return Rule(self.name, self.title, self.holds[:1].upper() + self.holds[1:], self.judge)

    def _review(self, findings: list[TypedFinding]) -> TypedReview:
        listed = _gravest(findings)
        decision = _decision(listed)
        advice = "None." if not findings else self.advice
        summary = f"{self._said(findings, decision)} {self._signature()}"
        return TypedReview(decision, listed, summary, advice)

    def _said(self, findings: list[TypedFinding], decision: Decision) -> str:
        count = len(findings)
        if not count:
            return f"{self.holds[:1].upper()}{self.holds[1:]}."
        places = "1 place" if count == 1 else f"{count} places"
        more = f" The gravest {MOST_FINDINGS} are listed." if count > MOST_FINDINGS else ""
        if decision is Decision.PASS:
            return f"{places} to know of; none counts against the note.{more}"
        return f"{places} where it does not hold that {self.holds}.{more}"

    def _signature(self) -> str:
        return f"Judged by the rule `{self.name}`, without a model."


def finding(severity: Severity, text: str, *, quote: str, line: int) -> TypedFinding:
    """Make a finding; `quote` may be any part of the note and is cut to what is safe to repeat."""
    return TypedFinding(severity, text, safe_quote(quote), line)


def warn(text: str, *, quote: str, line: int) -> TypedFinding:
    """Make a finding of severity warn."""
    return finding(Severity.WARN, text, quote=quote, line=line)


def link_finding(passage: Passage, link: InlineLink, text: str) -> TypedFinding:
    """Make a warning about a link in a passage."""
    block = passage.block
    quote = block.excerpt(link.start, before=_CONTEXT)
    return warn(text, quote=quote, line=block.line_at(link.start))


def line_finding(page: Page, link: RuleLink, text: str) -> TypedFinding:
    """Make a warning about a link of which only the line is known."""
    return warn(text, quote=_around(page.quoted_line(link.line), link.target), line=link.line)


def _around(line: str, target: str) -> str:
    """Return the part of a line that shows the link: between its brackets where these are near."""
    at = line.find(target)
    opening = line.rfind("[", max(0, at - _NEAR), max(at, 0))
    start = opening if opening >= 0 else max(at, 0)
    for sign in "[!":
        start -= start > 0 and line[start - 1] == sign and line[start] == "["
    closed = _LINK_END.match(line, at + len(target)) if at >= 0 else None
    return line[start : min(closed.end() if closed else len(line), start + _LONGEST_PART)]


def safe_quote(raw: str) -> str:
    """Return the first clean run of `raw` without markup before it: bounded, single blanks only."""
    for piece in _UNSAFE.split(raw[:_REACH]):
        marks = _MARKUP.match(piece)
        text = " ".join((piece[marks.end() :] if marks else piece).split())
        if _WORDY.search(text):
            return _cut(text, LONGEST_QUOTE).strip()
    return ""


def shown(fragment: str) -> str:
    """Put a few words of the note between quotation marks, safe to stand in a finding's text."""
    clean = " ".join(_UNSAFE.sub(" ", fragment[:_REACH]).replace("`", "").split())
    short = _cut(clean, LONGEST_FRAGMENT)
    return f"“{short}{'…' if short != clean else ''}”"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head, blank, _ = text[:limit].rpartition(" ")
    return head if blank and len(head) > limit // 2 else text[:limit]


def _gravest(findings: list[TypedFinding]) -> tuple[TypedFinding, ...]:
    if len(findings) <= MOST_FINDINGS:
        return tuple(findings)
    kept = sorted(range(len(findings)), key=lambda index: -_GRAVITY[findings[index].severity])
    return tuple(findings[index] for index in sorted(kept[:MOST_FINDINGS]))


def _decision(findings: tuple[TypedFinding, ...]) -> Decision:
    gravest = max((found.severity for found in findings), key=_GRAVITY.__getitem__, default=None)
    return Decision.PASS if gravest is None else _DECISIONS[gravest]
