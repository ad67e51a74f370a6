"""Finds a decision in a code fence that never closes: then nobody can say what stands outside it."""

from __future__ import annotations

from collections.abc import Iterator

from review.domain.markdown_lines import Line, iter_lines
from review.protocol.declarations import read_hint, read_statement
from review.vocabulary import Decision

_MARKS = " \t*_"


def decision_in_open_fence(text: str) -> str:
    """Say where a fence that never closes holds another decision than PASS; empty where none does."""
    for line in _lines_of_open_fence(text):
        bare = line.text.strip(_MARKS)
        title = bare.lstrip("#")
        if word := _graver(title.strip(_MARKS), level=len(bare) - len(title)):
            return f"line {line.number} says {word} in a code fence that never closes"
    return ""


def _graver(title: str, *, level: int) -> str:
    said = read_statement(title, level=level)
    if said is not None and (said.labelled or level):
        return "" if said.decision is Decision.PASS else said.decision.upper()
    hint = read_hint(title, level=level)
    if hint is None or not hint.strong or hint.decision in (None, Decision.PASS):
        return ""
    return "something else" if hint.decision is Decision.UNKNOWN else hint.decision.upper()


def _lines_of_open_fence(text: str) -> Iterator[Line]:
    inside: list[Line] = []
    is_open = False
    for line in iter_lines(text):
        if not line.in_fence:
            is_open = False  # a list item or a quotation ended, and its fence with it
        elif line.is_fence_marker:
            is_open = not is_open
            inside = []
        elif is_open:
            inside.append(line)
    return iter(inside if is_open else ())
