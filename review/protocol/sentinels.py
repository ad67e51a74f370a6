"""The lines that frame reviews, notes and gates; each carries the job's random token."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_MARKS = " \t#*_`\u200b\ufeff"
_RULE = "="
# What a CLI, a chat template, a list or a terminal draws around a line: marks, symbols, tags.
_DRAWN = re.compile(
    r"(?i)(?:[ \t\r#*_`]|[^\x00-\x7f\w\u2500-\u257f]|(?:-|\d{1,2}[.)])[ \t]|</?[a-z|!][^<>]*>|\[end of text\])*"
)
# Messages of one turn that a CLI joined, and an END straight behind the result.
_GLUED = re.compile(
    r"=(?:(?<=[\w.!?:)\u2026]=)|(?<= ====))== PAIR REVIEW (?:START|END) [0-9a-f]{8}/"
)
# What a quotation, a diff or a box begins each of its lines with.
_FRAME = re.compile(r"(?im)^[ \t]*((?:[>|+\u2500-\u257f][ \t]?)+)[*_`#]*==+ *pair review start\b")
_HEAD = re.compile(
    r"(?i)\s*pair[\s_]+review[\s_]+(start|end)\s+([0-9a-f]{8})\s*/\s*([0-9]{1,9})\s*(:|$)"
)


@dataclass(frozen=True)
class Sentinel:
    """A line that opens or closes a pair's review; `names` is `note :: gate`, or empty."""

    opens: bool
    token: str
    ordinal: int
    names: str


@dataclass(frozen=True)
class ExpectedPair:
    ordinal: int
    note_path: str
    gate_id: str

    @property
    def names(self) -> str:
        return f"{self.note_path} :: {self.gate_id}"


def start_line(token: str, ordinal: int | str, note_path: str, gate_id: str) -> str:
    return f"=== PAIR REVIEW START {token}/{ordinal}: {note_path} :: {gate_id} ==="


def end_line(token: str, ordinal: int | str, note_path: str, gate_id: str) -> str:
    return f"=== PAIR REVIEW END {token}/{ordinal}: {note_path} :: {gate_id} ==="


def token_is_free(token: str, texts: Iterable[str]) -> bool:
    """Return True if none of `texts` contains `token`, in any case; else draw another one."""
    return not any(token in text.lower() for text in texts)


def read_sentinel(line: str) -> Sentinel | None:
    """The sentinel on a line, or None; bold, case and symbols do not matter, a quote mark does."""
    start, end = line.find("=="), line.rfind("==") + 2
    if start < 0 or not (_DRAWN.fullmatch(line, 0, start) and _DRAWN.fullmatch(line, end)):
        return None
    bare = line[start:end]
    head = _HEAD.match(bare.strip(_RULE))
    if head is None:
        return None
    return Sentinel(
        opens=head[1].lower() == "start",
        token=head[2].lower(),
        ordinal=int(head[3]),
        names=bare.strip(_RULE)[head.end() :].strip(_MARKS),
    )


def unframed(text: str) -> str:
    """Give each sentinel a line, and take off the marks ahead where all blocks stand in them."""
    text = _GLUED.sub(r"\n\g<0>", text)
    found = _FRAME.search(text)
    if found is None or any(map(read_sentinel, text.split("\n"))):
        return text
    marks = r"[ \t]?".join(map(re.escape, found[1].split()))
    return re.sub(rf"(?m)^[ \t]*{marks} ?", "", text)


_ANY = "[0-9a-f]{8}"
_SHOWN = 20


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


def near_sentinels(text: str, *, token: str = _ANY) -> Iterator[NearSentinel]:
    """Yield them, at most one a line; with any token where none is given."""
    pattern = re.compile(
        rf"(?i)pair\s+review\s+(start|end)\s+(?:{token}|<token>)\s*/\s*(\d{{1,9}}|<n>)"
    )
    for number, raw in enumerate(text.split("\n"), start=1):
        found = pattern.search(raw)
        line = raw.removesuffix("\r")
        if found and ("\r" in line or read_sentinel(line) is None):
            ordinal = int(found[2]) if found[2].isdigit() else 0
            why = _fault(line, line[: found.start()], behind=line[found.end() :])
            yield NearSentinel(number, found[1].lower() == "start", ordinal, why)


def _fault(line: str, ahead: str, *, behind: str) -> str:
    if "\r" in line:
        return "the lines end with a carriage return alone"
    if "\\n" in behind:
        return "the ends of lines are escaped as in JSON"
    if behind.startswith((">", ":")) and "<note>" in behind:
        return "it is the template of the prompt"
    prefix = ahead.strip(_MARKS + _RULE)
    if prefix:
        shown = prefix if len(prefix) <= _SHOWN else f"{prefix[:_SHOWN]}…"
        return f"{shown!r} stands ahead of ==="
    if not ahead.strip(_MARKS).startswith("=="):
        return "it does not begin with ==="
    if not behind.rstrip(_MARKS).endswith("=="):
        return "it does not end with ==="
    return "it is not spelled as the prompt asks"
