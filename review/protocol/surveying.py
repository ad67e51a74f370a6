"""Surveys a review once, line by line: its edges, and everything that hints at a decision."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import NamedTuple

from review.protocol.declarations import (
    Hint,
    Statement,
    bare_item,
    is_label_alone,
    read_hint,
    read_statement,
)
from review.protocol.folding import ascii_lower, compiled, fold
from review.protocol.review_lines import Place, ReviewLine, end_of_top_block, walk_review
from review.vocabulary import Decision

EDGE = 3
# The sentence of an opening PASS is read to its end within these many lines.
OPENING = 40
_HEAD = 300
_TELLING = (
    r"result|verdict|outcome|decision|overall|final|correction|edit|update|grade|rating|status|"
    r"conclusion|assessment|judge?ment|ruling|pass|warn|fail|error|info|ok|clean"
)
_WHOLE_REVIEW = (
    r"(?:the\s+)?(?:(?:final|overall|gate|review|pair)\s+)*"
    r"(?:summary|findings?|suggested revisions?|results?|verdict|outcome|decision|overall|"
    r"conclusions?|assessment|review|notes?|rationale|reasoning|analysis|recommendations?|report)"
    r"\s*(?:$|[:(\u2013\u2014-]|(?<=review)\b|(?<=report)\b)"
)
# A heading of this kind is an item's, though it is the only one.
_ITEM = r"(?:term|item|claim|section|paragraph|check|criterion|question|point|link|quote|part)\b\s*(?:#?\d|[:\u2013\u2014-]|['\"`\u201c])"
_NOTHING = (
    r"\W*(?:none|nothing|n/?a|0|no (?:findings?|issues?|instances?|items?|points?))"
    r"(?: (?:found|noted|observed|here|to report))?\W*"
)
_LABEL_ITEM = (
    r"\W*(?:\d{1,3}\W+)?(?:(?:final|overall|gate|review)\s+)*(?:result|verdict|decision)\s*:"
)
_MARKS = "<!->|+*# \t"
_SENTENCE_END = r"[.!?:;)\]\"'\u201d*_`]$"
_UNFINISHED = r"(?:\b(?:not|never|cannot|an?|the|to|would|should|must|could|is|be|no)|n['\u2019]t)$"
_UNFINISHED_LENGTH = 20
_KEY_VALUE = r"\W{0,4}[A-Za-z][\w /-]{0,30}\W{0,3}:"


class SurveyedLine(NamedTuple):
    """A line outside fences and quotations, and what it states about the decision.

    `section` is the level of the heading that may be the review's title or an item's, 0 under
    none. `of_item` says that the line speaks for one item of the review, `opens` that no prose
    stands above it, `disguised` that it only looks like a statement.
    """

    line: ReviewLine
    statement: Statement | None = None
    section: int = 0
    of_item: bool = False
    opens: bool = False
    disguised: bool = False


@dataclass
class Survey:
    """What one pass over a review found; the rest of its text is forgotten.

    The hints give the first line that hints at each decision: by a label, strong or weak, or as a
    bare word. `headings` counts, by level, those that are no part of a review as we ask for it.
    """

    opening: list[SurveyedLine] = field(default_factory=list)
    closing: deque[SurveyedLine] = field(default_factory=lambda: deque(maxlen=EDGE))
    strong_hints: dict[Decision, int] = field(default_factory=dict)
    weak_hints: dict[Decision, int] = field(default_factory=dict)
    bare_words: dict[Decision, int] = field(default_factory=dict)
    headings: Counter[int] = field(default_factory=Counter)
    revised: int | None = None
    misplaced: ReviewLine | None = None
    exact: int | None = None
    top_end: int = 0

    def first_lines(self) -> list[SurveyedLine]:
        """Give the block of metadata at the top, if there is one, and three lines more."""
        block = sum(one.line.number < self.top_end for one in self.opening)
        return self.opening[: block + EDGE]

    def edges(self) -> list[SurveyedLine]:
        """Give the first and the last lines, each once."""
        first = self.first_lines()
        end = first[-1].line.number if first else 0
        return [*first, *(one for one in self.closing if one.line.number > end)]


def survey_review(text: str) -> Survey:
    """Survey the lines of a review in one pass, in linear time."""
    surveyor = _Surveyor(Survey(top_end=end_of_top_block(text)))
    for line in walk_review(text):
        if line.place in (Place.FENCE, Place.QUOTE):
            surveyor.pass_over(line)
        else:
            surveyor.take(line)
    surveyor.finish()
    return surveyor.survey


class _Surveyor:
    """Holds each line until the next one is known, and the label that the next one may answer."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._held: SurveyedLine | None = None
        self._hinted_label: Hint | None = None
        self._label = False
        self._section = _NO_SECTION
        self._itemised = False
        self._prose = False

    def pass_over(self, line: ReviewLine) -> None:
        """Remember a quoted or fenced result line, only to say that it does not count."""
        if compiled(_TELLING).search(ascii_lower(line.text[:_HEAD])):
            self._misplace(line)

    def take(self, line: ReviewLine) -> None:
        """Take the next line that is not blank."""
        held = self._held
        if held is not None:
            self._settle(held, following=line)
        telling = compiled(_TELLING).search(fold(line.text[:_HEAD])) is not None
        if telling or self._hinted_label is not None:
            self._hint(line)
        self._held = self._read(line, held) if telling else self._plain(line, held)
        self._label = telling and line.place is Place.BODY and is_label_alone(line.text)
        self._follow(line)

    def finish(self) -> None:
        """Settle the last line."""
        if self._held is not None:
            self._settle(self._held, following=None)

    def _plain(self, line: ReviewLine, above: SurveyedLine | None) -> SurveyedLine:
        of_item = self._section.is_item or _leads_in(above)
        return SurveyedLine(line, None, self._section.level, of_item, opens=not self._prose)

    def _read(self, line: ReviewLine, above: SurveyedLine | None) -> SurveyedLine:
        plain = self._plain(line, above)
        if self._is_label_item(line):
            line = line._replace(text=bare_item(line.text), place=Place.BODY, starts=True)
        elif line.place is not Place.BODY or (line.indented and line.number < self.survey.top_end):
            self._misplace(line)
            return plain
        after_label = self._label and plain.line.place is Place.BODY
        statement = read_statement(
            line.text, level=line.level, after_label=after_label, first=above is None
        )
        if statement is None or not _stands(line, statement, after_label=self._label):
            return plain._replace(disguised=self._is_disguised(line))
        if statement.exact:
            self.survey.exact = line.number
        of_item = not statement.labelled and self._is_of_item(line, statement, above)
        return plain._replace(statement=statement, of_item=of_item)

    def _is_label_item(self, line: ReviewLine) -> bool:
        """Whether a list at the top of the review has this result for an item."""
        if line.place is not Place.LIST or line.indented or len(self.survey.opening) >= EDGE:
            return False
        if bare_item(line.text) == line.text:
            return False  # it goes on with the item above
        return compiled(_LABEL_ITEM).match(fold(line.text[:_HEAD])) is not None

    def _is_disguised(self, line: ReviewLine) -> bool:
        """Whether only odd letters or unseen characters keep the line from stating something."""
        if line.text.isascii():
            return False
        folded = fold(line.text[:_HEAD]).strip()
        return read_statement(folded, level=line.level, after_label=self._label) is not None

    def _is_of_item(
        self, line: ReviewLine, statement: Statement, above: SurveyedLine | None
    ) -> bool:
        if self._itemised and self._prose and not statement.firm:
            return True  # "Pass." at the end of a list of checks is the last check's own
        return _leads_in(above) or (self._section.is_item and not line.level)

    def _hint(self, line: ReviewLine) -> None:
        label, self._hinted_label = self._hinted_label, None
        hint = read_hint(line.text, level=line.level, after_label=label is not None)
        if hint is None:
            return
        if hint.decision is None:
            self._hinted_label = hint
            return
        if hint.revised and (label is None or label.revised):
            self.survey.revised = self.survey.revised or line.number
        strong = hint.strong if label is None else label.strong
        hints = self.survey.strong_hints if strong else self.survey.weak_hints
        hints.setdefault(hint.decision, line.number)

    def _settle(self, held: SurveyedLine, *, following: ReviewLine | None) -> None:
        statement = held.statement
        if statement is not None and not statement.labelled:
            if _heads_nothing(held, following):
                held = held._replace(statement=None)
            else:
                self.survey.bare_words.setdefault(statement.decision, held.line.number)
        if len(self.survey.opening) < OPENING:
            self.survey.opening.append(held)
        self.survey.closing.append(held)

    def _follow(self, line: ReviewLine) -> None:
        if line.place is Place.LIST:
            self._itemised = True
        if not line.level:
            self._prose = True
        elif line.place is Place.BODY:
            self._enter(line)

    def _enter(self, line: ReviewLine) -> None:
        if compiled(_WHOLE_REVIEW).match(ascii_lower(line.text[:_HEAD])) or (
            self._held and self._held.statement
        ):
            self._section = _NO_SECTION
            return
        is_title = not self.survey.headings and not self._prose
        is_title = is_title and not compiled(_ITEM).match(ascii_lower(line.text[:_HEAD]))
        self.survey.headings[line.level] += 1
        self._section = _Section(line.level, is_item=not is_title)
        self._itemised = self._itemised or not is_title

    def _misplace(self, line: ReviewLine) -> None:
        text = line.text.lstrip(_MARKS + "0123456789.").rstrip(_MARKS)
        found = read_statement(text, level=line.level)
        if found is not None and found.labelled:
            self.survey.misplaced = line


def _leads_in(above: SurveyedLine | None) -> bool:
    """Whether the line above announces this one, as an example or the end of its sentence."""
    if above is None or above.line.level:
        return False
    end = ascii_lower(above.line.text[-_UNFINISHED_LENGTH:])
    return end.endswith(":") or compiled(_UNFINISHED).search(end) is not None


class _Section(NamedTuple):
    level: int
    is_item: bool


_NO_SECTION = _Section(0, is_item=False)


def _stands(line: ReviewLine, statement: Statement, *, after_label: bool) -> bool:
    """Whether the line begins what it says: the end of a wrapped sentence states nothing."""
    if line.starts or line.level or after_label:
        return True
    before = line.before[-_HEAD:]
    above = read_statement(before, level=0)
    if statement.firm and above is not None and above.firm:
        return True  # the words of a scale, or verdicts, one a line
    return statement.labelled and bool(
        compiled(_SENTENCE_END).search(before) or compiled(_KEY_VALUE).match(before)
    )


def _heads_nothing(held: SurveyedLine, following: ReviewLine | None) -> bool:
    """Whether the line is the heading of an empty group: `### FAIL`, then `None.`"""
    statement = held.statement
    if statement is None or following is None or not held.line.level or statement.tail.strip(" :"):
        return False
    return compiled(_NOTHING).fullmatch(ascii_lower(following.text[:_HEAD])) is not None
