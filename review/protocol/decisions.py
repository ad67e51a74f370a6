"""Reads the decision a review declares, and never a PASS that it does not (DESIGN section 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

from review.protocol.auditing import Declared, why_not_believed
from review.protocol.declarations import Statement, names_several, says_no_warn
from review.protocol.doubts import (
    doubt_in,
    faults_counted_in,
    graver_words_in,
    objection_in,
    odd_parenthesis_in,
    retracted,
    taken_back_by,
)
from review.protocol.findings import read_findings
from review.protocol.gravity import turned_into_pass
from review.protocol.open_fences import decision_in_open_fence
from review.protocol.review_lines import Place
from review.protocol.surveying import EDGE, OPENING, Survey, SurveyedLine, survey_review
from review.protocol.tails import odd_remark_in
from review.vocabulary import Decision, DecisionSource, Severity

_RANK = {Decision.PASS: 0, Decision.WARN: 1, Decision.FAIL: 2, Decision.ERROR: 3}
NOTHING_DECLARED = "no decision is declared at the beginning or the end of the review"


class Said(NamedTuple):
    """Another decision that a line speaks of."""

    decision: Decision
    number: int


@dataclass(frozen=True, slots=True)
class ParsedDecision:
    """What a review decided; `problem` says why where the decision is `unknown`, else it is empty."""

    decision: Decision
    source: DecisionSource | None
    problem: str


def read_decision(block_text: str) -> ParsedDecision:
    """Give the decision a review declares, `unknown` when in doubt; total, in linear time."""
    survey = survey_review(block_text)
    parsed = _read(survey, block_text)
    if parsed.decision is not Decision.PASS:
        return parsed
    declared = _how_declared(survey, parsed)
    grave = _has_grave_finding(block_text)
    problem = why_not_believed(block_text, declared, has_grave_finding=grave)
    problem = problem or decision_in_open_fence(block_text)
    return _unknown(problem) if problem else parsed


def _how_declared(survey: Survey, parsed: ParsedDecision) -> Declared:
    """Gather the lines that state the PASS which was read."""
    last = survey.closing[-1]
    if parsed.source is DecisionSource.RESULT_LINE:
        return Declared((last.line.number,), exact=True, labelled=True)
    stated = [
        (edge, edge.statement)
        for edge in survey.edges()
        if edge.statement is not None
        and edge.statement.decision is Decision.PASS
        and not _is_of_item(survey, edge)
    ]
    if not stated:
        return Declared((last.line.number,), no_warn=True)
    return Declared(
        tuple(edge.line.number for edge, _ in stated),
        opens=stated[0][0].opens
        or stated[0][0].line.number < survey.top_end
        or (stated[0][1].labelled and stated[0][0] in survey.first_lines()),
        weak=all(said.word in ("ok", "clean", "info") for _, said in stated),
        labelled=any(said.labelled for _, said in stated),
    )


def _read(survey: Survey, block_text: str) -> ParsedDecision:
    if not survey.closing:
        return _unknown("the review says nothing outside code fences and quotations")
    last = survey.closing[-1]
    if last.line.place is Place.BODY and (problem := names_several(last.line.text)):
        return _unknown(f"line {last.line.number}: {problem}")
    for edge in survey.edges():
        if edge.line.place is Place.BODY and retracted(edge.line.text):
            return _unknown(
                f"line {edge.line.number} strikes a decision out, or marks it with a note"
            )
    if survey.revised is not None:
        return _unknown(f"line {survey.revised} revises a decision made before")
    if last.statement is not None and last.statement.exact:
        return _by_result_line(survey, last, last.statement)
    return _by_declarations(survey, block_text)


def _by_result_line(survey: Survey, last: SurveyedLine, statement: Statement) -> ParsedDecision:
    """Rule 1. Findings do not change it; another result line or declaration does."""
    decision = statement.decision
    others = [
        *_contradicting(survey.strong_hints, decision),
        *_graver(survey.weak_hints, decision),
        *_differing_edges(survey, last, decision),
    ]
    if others:
        return _unknown(_difference(decision, last.line.number, others))
    if decision is Decision.PASS and (word := _doubt_of(statement)):
        return _taken_back(last, word)
    return ParsedDecision(decision, DecisionSource.RESULT_LINE, "")


def _doubt_of(statement: Statement) -> str:
    tail = statement.tail
    return doubt_in(tail) or faults_counted_in(tail) or odd_remark_in(tail)


def _differing_edges(survey: Survey, last: SurveyedLine, decision: Decision) -> Iterator[Said]:
    opening = survey.first_lines()
    for edge in survey.edges():
        stated = edge.statement
        if edge is last or stated is None or stated.decision is decision:
            continue
        if stated.decision is Decision.PASS and _objection_to(survey, edge, stated):
            continue  # it was no PASS
        # Below the opening a milder statement may be the last item's own.
        of_item = _is_of_item(survey, edge) or (stated.labelled and edge not in opening)
        if not of_item or _RANK[stated.decision] > _RANK[decision]:
            yield Said(stated.decision, edge.line.number)


def _by_declarations(survey: Survey, text: str) -> ParsedDecision:
    """Rule 2: all declarations at the edges have one value, and nothing between says otherwise."""
    stated = [(edge, edge.statement) for edge in survey.edges() if edge.statement is not None]
    whole = [(edge, said) for edge, said in stated if not _is_of_item(survey, edge)]
    objections = {
        edge.line.number: word
        for edge, said in whole
        if said.decision is Decision.PASS and (word := _objection_to(survey, edge, said))
    }
    declared = [edge for edge, _ in whole if edge.line.number not in objections]
    if not declared or declared[0].statement is None:
        return _without_declaration(survey, text, objections)
    decision, number = declared[0].statement.decision, declared[0].line.number
    others = [
        *(
            Said(said.decision, edge.line.number)
            for edge, said in stated
            if said.decision is not decision
            and (edge.line.number not in objections or not said.tail.strip(" .!*_"))
            and not (said.word == "ok" and _is_of_item(survey, edge))
        ),
        *_contradicting(survey.strong_hints, decision),
        *_contradicting(survey.weak_hints, decision),
        *_graver(survey.bare_words, decision),
    ]
    if others:
        return _unknown(_difference(decision, number, others))
    if decision is Decision.PASS and (problem := _doubtful_pass(text, declared, objections)):
        return _unknown(problem)
    if decision in (Decision.WARN, Decision.FAIL):
        below = max(edge.line.number for edge in declared)
        if turned := turned_into_pass(text, below=below):
            return _unknown(_difference(decision, number, [Said(Decision.PASS, turned)]))
    return ParsedDecision(decision, DecisionSource.DECLARED, "")


def _doubtful_pass(
    text: str, declared: Sequence[SurveyedLine], objections: Mapping[int, str]
) -> str:
    for number, word in objections.items():
        return _taken_back_in(number, word)
    closing_word = all(
        edge.statement and not edge.statement.labelled and not edge.opens for edge in declared
    )
    if closing_word and _has_grave_finding(text):
        return f"line {declared[0].line.number} says PASS after findings that say otherwise"
    return ""


def _without_declaration(
    survey: Survey, text: str, objections: Mapping[int, str]
) -> ParsedDecision:
    for number, word in objections.items():
        return _unknown(_taken_back_in(number, word))
    if _closes_without_warn(survey, text):
        return ParsedDecision(Decision.PASS, DecisionSource.DECLARED, "")
    return _unknown(_why_nothing(survey))


def _closes_without_warn(survey: Survey, text: str) -> bool:
    last = survey.closing[-1]
    line = last.line
    if line.place is not Place.BODY or last.of_item or not says_no_warn(line.text):
        return False
    if not line.starts and not line.before.endswith((".", "!")):
        return False
    hints = {*survey.strong_hints, *survey.weak_hints, *survey.bare_words}
    if hints - {Decision.PASS} or taken_back_by(line.text, next_text=""):
        return False
    return not graver_words_in(line.text) and not _has_grave_finding(text)


def _has_grave_finding(text: str) -> bool:
    return any(finding.severity is not Severity.INFO for finding in read_findings(text))


def _is_of_item(survey: Survey, edge: SurveyedLine) -> bool:
    """Whether a word without a label speaks for one item, or is small talk.

    A heading above it is an item's if it has fellows; below a longer text "Pass." is most often
    the last item's own; "OK." opens a chat as often as it judges a note.
    """
    stated = edge.statement
    if stated is None or stated.labelled:
        return False
    if stated.word == "ok":
        return len(survey.opening) > 1
    is_far_below = not edge.opens and edge not in survey.first_lines()
    if is_far_below and not stated.firm and stated.word != "clean pass":
        return True
    return edge.of_item or (not edge.line.level and survey.headings[edge.section] > 1)


def _objection_to(survey: Survey, edge: SurveyedLine, statement: Statement) -> str:
    """What takes this PASS back: in its sentence, or near the end anywhere below it.

    Lines that state a decision of their own are left out; they are compared, not searched.
    """
    lines = survey.opening if edge in survey.opening else survey.closing
    following = [one for one in lines if one.line.number > edge.line.number]
    paragraph = list(takewhile(_continues, following)) if not edge.line.level else []
    if len(paragraph) >= OPENING - EDGE:
        return "a sentence without an end"
    words = " ".join([statement.tail, *(one.line.text for one in paragraph)])
    rest = [one.line for one in following[len(paragraph) :] if one.statement is None]
    next_text = next((line.text for line in rest if not line.level), "")
    if word := taken_back_by(words, next_text=next_text):
        return word
    if statement.word != "info" and (word := faults_counted_in(words) or odd_parenthesis_in(words)):
        return word
    if edge not in survey.closing or edge.opens:
        return ""
    below = (one for one in survey.closing if one.line.number > edge.line.number)
    objections = (objection_in(one.line.text) for one in below if one.statement is None)
    return next(filter(None, objections), "")


def _continues(one: SurveyedLine) -> bool:
    line = one.line
    return line.place is Place.BODY and not line.starts and not line.level


def _contradicting(hints: Mapping[Decision, int], decision: Decision) -> list[Said]:
    """The hints at another decision; a value we do not know contradicts a PASS only."""
    return [
        Said(other, number)
        for other, number in hints.items()
        if other is not decision and (other is not Decision.UNKNOWN or decision is Decision.PASS)
    ]


def _graver(hints: Mapping[Decision, int], decision: Decision) -> list[Said]:
    return [
        said
        for said in _contradicting(hints, decision)
        if _RANK.get(said.decision, 0) > _RANK[decision] or said.decision is Decision.UNKNOWN
    ]


def _why_nothing(survey: Survey) -> str:
    for edge in survey.edges():
        number = edge.line.number
        if edge.line.place is Place.BODY and (problem := names_several(edge.line.text)):
            return f"line {number}: {problem}"
        if edge.disguised:
            return f"line {number} looks like a decision, but holds letters that are not plain"
        if edge.statement is not None:
            word = edge.statement.decision.upper()
            return f"{word} in line {number} speaks for one item, not for the review"
    if survey.exact is not None:
        return f"the result line in line {survey.exact} is not the last line"
    if survey.misplaced is not None:
        where = survey.misplaced.place.value
        return f"the decision in line {survey.misplaced.number} stands in {where}"
    return NOTHING_DECLARED


def _difference(decision: Decision, number: int, others: Sequence[Said]) -> str:
    parts = [f"{decision} in line {number}"]
    for other in others:
        word = "something else" if other.decision is Decision.UNKNOWN else other.decision.value
        parts.append(f"{word} in line {other.number}")
    return "the declarations differ: " + ", ".join(dict.fromkeys(parts))


def _taken_back(edge: SurveyedLine, word: str) -> ParsedDecision:
    return _unknown(_taken_back_in(edge.line.number, word))


def _taken_back_in(number: int, word: str) -> str:
    return f"line {number} says PASS, and \u201c{word}\u201d takes it back"


def _unknown(problem: str) -> ParsedDecision:
    return ParsedDecision(Decision.UNKNOWN, None, problem)
