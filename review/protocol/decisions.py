"""Reads the decision a review declares, and never a PASS that it does not (DESIGN section 8)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from review.domain.markdown_lines import iter_lines
from review.vocabulary import Decision, DecisionSource

_RESULT_LINE = re.compile(
    r"##[ \t]+\**Result:?\**:?[ \t]*\**(PASS|WARN|FAIL|ERROR)\**[ \t]*(?:\(([^()]*)\))?\**$",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"\b(?:but|except|however|although|unless|not|contradict|fail|warn|blocker)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ParsedDecision:
    """What a review decided; `problem` says why where the decision is unknown."""

    decision: Decision
    source: DecisionSource | None
    problem: str


def read_decision(block_text: str) -> ParsedDecision:
    """Give the decision the text declares by DESIGN section 8; total, `unknown` when in doubt."""
    last = ""
    seen: list[str] = []
    for line in iter_lines(block_text):
        if line.in_fence or line.in_quote or not line.text.strip():
            continue
        last = line.text.strip()
        if found := _RESULT_LINE.match(last):
            seen.append(found[1].lower())
    final = _RESULT_LINE.match(last)
    if final is None:
        return ParsedDecision(Decision.UNKNOWN, None, "no decision is declared")
    if len(set(seen)) > 1:
        return ParsedDecision(Decision.UNKNOWN, None, "the result lines differ")
    decision = Decision(final[1].lower())
    if decision is Decision.PASS and _TAKEN_BACK.search(final[2] or ""):
        return ParsedDecision(Decision.UNKNOWN, None, "what follows PASS takes it back")
    return ParsedDecision(decision, DecisionSource.RESULT_LINE, "")
