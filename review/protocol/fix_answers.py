"""Reads the answer to a fix prompt: one line for each finding."""

from __future__ import annotations

import re
from dataclasses import dataclass

from review.errors import InputRejected
from review.vocabulary import DispositionState

FORM = "<fingerprint>: fixed|rejected|deferred: <why>"
_LINE = re.compile(
    r"[-*\s`]*(?P<fingerprint>[0-9a-f]{16})[`*]*\s*:\s*[`*]*(?P<state>[a-z]+)[`*]*\s*(?::\s*(?P<why>.*))?",
    re.I,
)


class NotAnAnswer(InputRejected): ...


@dataclass(frozen=True, slots=True)
class FixAnswer:
    fingerprint: str
    state: DispositionState
    reason: str


def read_fix_answers(text: str, *, source: str) -> list[FixAnswer]:
    """Read all lines of `source` that are not blank, or raise NotAnAnswer."""
    answers: dict[str, FixAnswer] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        found = _LINE.fullmatch(line.strip())
        where = f"{source}, line {number}"
        if found is None or found["state"].lower() not in DispositionState.values:
            raise NotAnAnswer(f"{where}: {line.strip()[:80]!r} is not {FORM}; nothing was recorded")
        fingerprint, state = found["fingerprint"].lower(), found["state"].lower()
        if fingerprint in answers:
            raise NotAnAnswer(f"{where}: {fingerprint} was answered before; nothing was recorded")
        reason = (found["why"] or "").strip()
        answers[fingerprint] = FixAnswer(fingerprint, DispositionState(state), reason)
    if not answers:
        raise NotAnAnswer(f"{source}: empty; expected lines such as {FORM}")
    return list(answers.values())
