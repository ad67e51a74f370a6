"""Finds lines that only resemble a review's sentinel, and names the fault of each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from review.protocol.sentinels import read_sentinel

_ANY = "[0-9a-f]{8}"
_RULE, _DECORATION = "==", " \t*_`"
_SHOWN = 20
_MOST = 50


@dataclass(frozen=True)
class NearSentinel:
    """A line that a person takes for a sentinel; `ordinal` is 0 where it names no pair."""

    line: int
    opens: bool
    ordinal: int
    why: str

    def __str__(self) -> str:
        edge = "START" if self.opens else "END"
        whose = f" of pair {self.ordinal}" if self.ordinal else ""
        return f"line {self.line} looks like the {edge}{whose}, but {self.why}"


def near_sentinels(text: str, *, token: str = _ANY) -> list[NearSentinel]:
    """Return the first of them, at most one a line; with any token where none is given."""
    near: list[NearSentinel] = []
    pattern = re.compile(
        rf"pair[ \t]+review[ \t]+(start|end)[ \t]+(?:{token}|<token>)[ \t]*/[ \t]*([0-9]{{1,9}}|<n>)",
        re.IGNORECASE,
    )
    for number, raw in enumerate(text.split("\n"), start=1):
        found = pattern.search(raw)
        line = raw.removesuffix("\r")
        if found and ("\r" in line or read_sentinel(line) is None):
            ordinal = int(found[2]) if found[2].isdigit() else 0
            why = _fault(line, line[: found.start()], behind=line[found.end() :])
            near.append(NearSentinel(number, found[1].lower() == "start", ordinal, why))
        if len(near) == _MOST:
            break
    return near


def _fault(line: str, ahead: str, *, behind: str) -> str:
    if "\r" in line:
        return "the lines end with a carriage return alone"
    if "\\n" in behind:
        return "the ends of lines are escaped as in JSON"
    if behind.startswith((">", ":")) and "<note>" in behind:
        return "it is the template of the prompt"
    prefix = ahead.strip(_DECORATION + "=")
    if prefix:
        shown = prefix if len(prefix) <= _SHOWN else f"{prefix[:_SHOWN]}…"
        return f"{shown!r} stands ahead of ==="
    if not ahead.strip(_DECORATION).startswith(_RULE):
        return "it does not begin with ==="
    if not behind.rstrip(_DECORATION).endswith(_RULE):
        return "it does not end with ==="
    return "it is not spelled as the prompt asks"
