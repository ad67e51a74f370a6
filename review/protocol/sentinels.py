"""The lines that frame reviews, notes and gates; each carries the job's random token."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_MARKS = " \t#*_`\u200b\ufeff"
_RULE = "="
_HEAD = re.compile(
    r"\s*pair\s+review\s+(start|end)\s+([0-9a-f]{8})\s*/\s*([0-9]{1,9})\s*(:|$)", re.IGNORECASE
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
    """A pair that was requested, by its ordinal in the job."""

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
    """The sentinel on a line, or None; bold, case and spacing do not matter, a quote mark does."""
    bare = line.strip(" \t\r").strip(_MARKS)
    if not bare.startswith("==") or not bare.endswith("=="):
        return None
    head = _HEAD.match(bare.strip(_RULE))
    if head is None:
        return None
    return Sentinel(
        opens=head[1].lower() == "start",
        token=head[2].lower(),
        ordinal=int(head[3]),
        names=bare.strip(_RULE)[head.end() :].strip(_MARKS),
    )
