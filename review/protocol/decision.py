"""Read the decision that a review states; what it does not state is `unknown`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from review.domain.markdown.lines import iter_lines
from review.protocol.findings import read_findings
from review.protocol.typed_review import ReviewFinding
from review.vocabulary import Decision, DecisionSource, Severity

NOTHING_STATED = (
    "the review states no decision; its last line must be `## Result: PASS`, WARN, FAIL or ERROR"
)
_DECISIONS = dict.fromkeys(("pass", "clean pass", "info", "ok", "clean"), Decision.PASS)
_DECISIONS |= dict.fromkeys(("warn", "warning"), Decision.WARN)
_DECISIONS |= {"fail": Decision.FAIL, "error": Decision.ERROR}
# Not "0 WARN" and "no WARN or FAIL".
_GRAVER = {
    decision: re.compile(rf"(?<!\b0 )(?<!\bno )(?<!\bzero )(?<!\bor )\b(?:{words})", re.I)
    for decision, words in ((Decision.PASS, "warn|fail|error"), (Decision.WARN, "fail|error"))
}
_SAID = r"(?P<word>pass|warning|warn|fail|error)"
_WORD = r"(?P<word>clean\s+pass|pass|warning|warn|fail|info|ok|clean|error)"
_NUMBER = r"(?:\d{1,3}|no|zero|an?|one|two|three|four|five|six|seven|eight|nine|ten|several)"
_COUNT = rf"{_NUMBER}(?:\s+[a-z-]+){{1,3}}"
_MILD = r"(?:borderline|marginal(?:ly)?|minor|mild(?:ly)?|narrow(?:ly)?|barely|clean|soft|info|advisory|light|slight(?:ly)?|trivial|weak|low|moderate|strict|lenient|provisional|overall|final|unchanged)"
_NAME = r"(?:result|ergebnis|résultat|resultado|risultato|resultaat|wynik|результат|結果|结果|결과)"
_RESULT_LINE = re.compile(
    rf"[*_ \t\u200b\ufeff]*\\?#{{1,6}}[*_ \t]*{_NAME}[*_ \t]*[:\uff1a][*_`\s]*(?P<value>.*)", re.I
)
_PART = re.compile(r"#{1,6}[*_ \t]*(?:summary|findings|suggested revisions?)[*_: \t]*", re.I)
_SIGNS = {Decision.PASS: "\u2705\u2714\u2611\u2713\U0001f7e2", Decision.WARN: "\u26a0\U0001f7e1\U0001f7e0", Decision.FAIL: "\u274c\u2716\u2717\U0001f534\u26d4\U0001f6d1"}  # fmt: skip
_FRAMES = " \t*_`\"'[]"
# What models write around a word: tags, special tokens, LaTeX.
_AROUND = re.compile(r"</?[a-z|!-][^<>]*>|\\(?:boxed|text\w*|mathrm)\b|[${}]")
_NAMED = re.compile(r"PASS|WARN|FAIL|ERROR")
_NAMES_DECISION = re.compile(r"(?:pass|warn|fail|error)(?:ed|ing)?\b", re.I)
_ASIDE = rf"(?:{_MILD}(?:\s+only)?|(?:with\s+)?{_COUNT}(?:\s*(?:[,;+/]|and)\s*{_COUNT})*)"
# What a dash, a comma or a colon may lead to, which also begin reservations.
_REMARKS = rf"(?:{_MILD}|(?:{_NUMBER}\s+(?:minor\s+)?(?:info|remark|note)|(?:no|0|zero)\s+(?:[a-z]+\s+or\s+)?(?:finding|issue|instance|problem|warn(?:ing)?|fail(?:ure)?))s?)"
_RESULT = re.compile(
    rf"(?i){_SAID}[*_`]*\s*(?P<aside>\({_ASIDE}\)|(?:[,:\u2013\u2014]|-\s)\s*{_REMARKS})?\s*[.!]?[*_`#\s]*"
)
_REASON = re.compile(rf"{_SAID}[*_`]*\s*(?:[:;,.(\u2013\u2014]|-\s)(?P<reason>.*)", re.I)
_LABEL = re.compile(
    r"(?i)[#*_\s+-]*(?:(?:the|final|gate|overall)\s+){0,3}"
    rf"(?:verdict|outcome|decision|overall|{_NAME})[*_`]*"
    r"(?:\s*[:\u2013\u2014]\s*|\s+-\s+|\s+(?=(?-i:PASS|WARN|FAIL)\b)|\s*$)(?P<rest>.*)"
)
# Alone, in bold, or before a stop, comma, colon, bracket or dash.
_STATEMENT = re.compile(
    rf"(?i)[#*_`\s]*{_WORD}(?P<rest>(?<=\w)[*_`]*(?=\s*[.,;:!(\[\u2013\u2014]|\s+-|\s*$).*|[*_`]+\s.*)"
)
_BULLET = re.compile(r"\s*(?:[-+*\u2022|]\s|\d{1,9}[.)]\s)")
_COUNTED = re.compile(rf"[*_`]*{_NUMBER}\s+", re.I)
# "PASS: 3 / FAIL: 1" counts, and "PASS, WARN or FAIL" lists.
_NO_STATEMENT = re.compile(
    r"[*_`\s]*(?:[:=]\s*\d|(?:[,:(\[\u2192]|-+>)?\s*(?:or\s+)?[*_`]*(?:pass|warn|fail)\b)", re.I
)
_TURNS = r"but|except|however|although|though|unless|wait|yet|barring"
_TURN = re.compile(rf"(?i)\b(?:{_TURNS}|only|not|if|provided|pending|caveats?|reservations?)\b")
_TURN_AFTER_STOP = re.compile(rf"(?i)[\s*_`]*(?:{_TURNS}|actually|no(?=,)|on reflection|hmm)\b")
_STOP = re.compile(r"[.;!?)\]]")
_NO_WARN = re.compile(r"(?i)[*_\s]*no\s+warn(?:ing)?s?\b(?!.*\b(?:fail|but|except|however|unless))")
_BREAK = re.compile(r"\s*(?:([*_-])\s*(?:\1\s*){2,}|</?[a-z|][^<>]*>\s*|<!--.*-->\s*)")


@dataclass(frozen=True, slots=True)
class ParsedDecision:
    """A review's decision; `problem` says why it is `unknown`, else it is empty."""

    decision: Decision
    source: DecisionSource | None
    problem: str


_unknown = partial(ParsedDecision, Decision.UNKNOWN, None)
_Line = tuple[int, str]


class _Statement(NamedTuple):
    line: int
    decision: Decision
    rest: str


def read_decision(block_text: str) -> ParsedDecision:
    """Return the decision of the result line, else the one that all declarations state.

    The result line is `## Result: PASS|WARN|FAIL|ERROR` as the last line, or right above a part
    of the template, and nothing takes it back; declarations are the first line below a title, and
    lines such as `Verdict: WARN`.
    """
    lines = list(_visible_lines(block_text))
    if not lines:
        return _unknown("the review says nothing outside code fences and quotations")
    results = [
        (number, found["value"])
        for number, text in lines
        if (found := _RESULT_LINE.match(text)) and found["value"].strip("*_` ")
    ]
    if results:
        return _by_result_line(results, lines)
    return _by_declarations(lines, block_text)


def _visible_lines(block_text: str) -> Iterator[_Line]:
    """Yield number and text of the lines outside fences and quotations; a fence never closed is none."""
    lines = list(iter_lines(block_text))
    markers = [line.number for line in lines if line.is_fence_marker]
    unclosed = bool(lines) and lines[-1].in_fence and not lines[-1].is_fence_marker
    closed = markers[-1] if unclosed and markers else len(lines)  # the end of what may be hidden
    for line in lines:
        is_hidden = line.in_quote or (line.in_fence and line.number <= closed)
        if not is_hidden and line.text.strip() and not _BREAK.fullmatch(line.text):
            yield line.number, line.text


def _by_result_line(results: Sequence[_Line], lines: Sequence[_Line]) -> ParsedDecision:
    number, value = results[-1]
    behind = next((text for other, text in lines if other > number), "# Summary")
    if not _PART.fullmatch(behind):
        return _unknown(f"the result line in line {number} is not the last line")
    decision = _result(value)
    if decision is None:
        said = value.strip()[:80]
        return _unknown(f"line {number}: the result is {said!r}, not PASS, WARN, FAIL or ERROR")
    for other, said in results[:-1]:
        if _result(said) is not decision and _NAMES_DECISION.match(said):
            both = f"{decision} in line {number}, another in line {other}"
            return _unknown(f"two result lines differ: {both}")
    return ParsedDecision(decision, DecisionSource.RESULT_LINE, "")


def _result(value: str) -> Decision | None:
    value = unicodedata.normalize("NFKC", _AROUND.sub("", value))
    symbols = "".join(char for char in value if not (char.isascii() or char.isalnum()))
    said = value.strip(_FRAMES + symbols)
    found = _RESULT.fullmatch(said) or _REASON.fullmatch(said)
    if found is None:
        return None
    decision, told = _DECISIONS[found["word"].lower()], found.groupdict()
    if (reason := told.get("reason")) is not None:  # a PASS with one may be none
        is_other = decision is Decision.PASS or _NAMED.search(reason)
    else:
        graver = _GRAVER.get(decision)
        is_other = graver and graver.search(told["aside"] or "")
    other_signs = {*"".join(_SIGNS.values())} - {*_SIGNS.get(decision, "")}
    return None if is_other or other_signs & set(symbols) else decision


def _by_declarations(lines: Sequence[_Line], block_text: str) -> ParsedDecision:
    stated = list(_statements(lines))
    if stated:
        problem, decision = _why_not_read(stated, block_text), stated[0].decision
    else:  # a closing "No WARNs found." is a pass
        is_pass = _NO_WARN.match(lines[-1][1]) and not _has_grave_finding(block_text)
        problem, decision = "" if is_pass else NOTHING_STATED, Decision.PASS
    return _unknown(problem) if problem else ParsedDecision(decision, DecisionSource.DECLARED, "")


def _why_not_read(stated: Sequence[_Statement], block_text: str) -> str:
    first = stated[0]
    if other := next((one for one in stated if one.decision is not first.decision), None):
        said = f"{first.decision} in line {first.line}, {other.decision} in line {other.line}"
        return f"the declarations differ: {said}"
    if first.decision is Decision.ERROR:
        return f"line {first.line}: ERROR counts only as `## Result: ERROR` in the last line"
    for one in stated if first.decision is Decision.PASS else ():
        if word := _turn_in(one.rest):
            return f"line {one.line} says PASS, and {word!r} takes it back"
        if _has_grave_finding(block_text):
            return f"line {one.line} says PASS, and the findings say otherwise"
    return ""


def _statements(lines: Sequence[_Line]) -> Iterator[_Statement]:
    """Yield what the first line below a title states, and what the labelled lines do."""
    below_title = 1 if len(lines) > 1 and lines[0][1].startswith("#") else 0
    for index, (number, text) in enumerate(lines):
        if (label := _LABEL.match(text)) is not None:
            rest = label["rest"]
            alone = not rest.strip("*_` ")
            said = lines[index + 1][1] if alone and index + 1 < len(lines) else rest
            counted = _COUNTED.match(said)
            statement = _statement(number, said[counted.end() :] if counted else said)
            if statement and not (alone and statement.rest.strip("*_`. ")):
                yield statement
        elif index <= below_title and not _BULLET.match(text):
            statement = _statement(number, text)
            if statement and (index == 0 or _LABEL.match(lines[0][1]) is None):
                yield statement
                below_title = 0


def _statement(number: int, text: str) -> _Statement | None:
    found = _STATEMENT.match(text)
    if found is None or _NO_STATEMENT.match(found["rest"]):
        return None
    word = " ".join(found["word"].lower().split())
    if word in ("ok", "clean") and found["rest"].strip("*_`.! "):
        return None
    return _Statement(number, _DECISIONS[word], found["rest"])


def _turn_in(rest: str) -> str:
    """Return the word that takes a PASS back, of what follows it up to the next stop."""
    said = rest.lstrip("*_` ")
    if said.startswith((".", "!", ";")):
        found = _TURN_AFTER_STOP.match(said[1:])
    elif said.startswith((",", "(", "[")):
        found = _TURN.search(_STOP.split(said, maxsplit=1)[0])
    else:
        found = _TURN.match(said.lstrip(":-\u2013\u2014*_` "))
    return found[0].strip("*_` ") if found else ""


def _has_grave_finding(block_text: str) -> bool:
    return any(finding.severity is not Severity.INFO for finding in read_findings(block_text))


# No model's answer is that long; a text that is, was made to cost time, or is no review.
MAX_REVIEW_CHARACTERS = 600_000
MAX_FINDINGS = 1_000


@dataclass(frozen=True)
class ReadReview:
    text: str
    decision: ParsedDecision
    findings: tuple[ReviewFinding, ...] = ()


def read_review(text: str) -> ReadReview:
    """Read a review's text; one that is too long, or has too many findings, is left undecided."""
    if len(text) > MAX_REVIEW_CHARACTERS:
        problem = f"{len(text):,} characters; at most {MAX_REVIEW_CHARACTERS:,}"
    elif len(findings := read_findings(text)) > MAX_FINDINGS:
        problem = f"{len(findings):,} findings; at most {MAX_FINDINGS:,}"
    else:
        return ReadReview(text, read_decision(text), findings)
    return ReadReview(text, _unknown(f"the review has {problem} are read"))
