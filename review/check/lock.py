"""The review lock: decisions and findings as text that is committed, one line a note."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

import msgspec

from review.documents.base import encode
from review.domain.printing import UNSAFE
from review.domain.problems import Problem
from review.vocabulary import (
    ACCEPTING_DECISIONS,
    Decision,
    DispositionState,
    ProblemCode,
    Severity,
)

LOCK_PATH = "kb/review.lock"
_HEADER = b'{"schema":"review-lock/1"}'
Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
_T = TypeVar("_T")


class LockedFinding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finding of a review; `line` is 1-based in the reviewed text."""

    gate: str
    model: str
    severity: Severity
    fingerprint: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{16}\Z")]
    line: Annotated[int, msgspec.Meta(ge=1)] | None = None
    text: str
    quote: str = ""
    state: DispositionState = DispositionState.OPEN


class LockedReview(msgspec.Struct, frozen=True):
    """Decisions of a model about one text of the note, by gate id."""

    model: str
    sha256: Sha256
    decisions: dict[str, Decision]


class LockedNote(msgspec.Struct, frozen=True):
    """The line of a note; findings are listed by gate, in the order in which reviews were accepted."""

    note: str
    reviews: tuple[LockedReview, ...] = ()
    findings: tuple[LockedFinding, ...] = ()

    def findings_of(self, gate_id: str) -> list[LockedFinding]:
        return [found for found in self.findings if found.gate == gate_id]

    def texts_of(self, gate_id: str, *models: str) -> list[str]:
        """Return the digests of the texts that these models, or any, decided about."""
        return [
            review.sha256
            for review in self.reviews
            if review.decisions.get(gate_id) in ACCEPTING_DECISIONS
            and (not models or review.model in models)
        ]


class LockedGate(msgspec.Struct, frozen=True):
    """The line of a gate: the text of it that all decisions in the lock were made by."""

    gate: str
    sha256: Sha256


@dataclass(frozen=True)
class Lock:
    """Reviews that count: digests by gate id, lines by note path."""

    gates: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, LockedNote] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def note(self, path: str) -> LockedNote:
        return self.notes.get(path) or LockedNote(path)


def lock_text(lock: Lock) -> str:
    """Write a lock, with nothing in it that acts on a terminal; equal reviews give equal bytes."""
    gates = [LockedGate(*item) for item in sorted(lock.gates.items())]
    notes = [lock.notes[path] for path in sorted(lock.notes)]
    text = "\n".join([_HEADER.decode(), *map(encode, gates), *map(encode, notes), ""])
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def read_lock(data: bytes, *, source: str = LOCK_PATH) -> Lock:
    """Read a lock; a line that cannot be read is a problem, and the others count.

    Where two lines are of one note or gate, as after a bad merge, neither counts.
    """
    header, *lines = data.removesuffix(b"\n").split(b"\n")
    if header != _HEADER:
        message = f"expected {_HEADER.decode()}; nothing in the file counts"
        return Lock(problems=(_damaged(source, 1, message),))
    found: dict[tuple[bool, str], LockedGate | LockedNote | None] = {}
    problems = []
    for number, line in enumerate(lines, 2):
        of_gate = line.startswith(b'{"gate":')
        read = _read(line, LockedGate) if of_gate else _read(line, LockedNote)
        if isinstance(read, str):
            problems.append(_damaged(source, number, read))
            continue
        key = of_gate, read.gate if isinstance(read, LockedGate) else read.note
        if key in found:
            message = "a second line of this note or gate; neither counts"
            problems.append(_damaged(source, number, message))
        found[key] = None if key in found else read
    kept = found.values()
    return Lock(
        gates={item.gate: item.sha256 for item in kept if isinstance(item, LockedGate)},
        notes={item.note: item for item in kept if isinstance(item, LockedNote)},
        problems=tuple(problems),
    )


def _read(line: bytes, kind: type[_T]) -> _T | str:
    """Return the content of a line, or the reason why it cannot be read."""
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return str(error)


def _damaged(source: str, line: int, message: str) -> Problem:
    told = f"{message}: export the lock again"
    return Problem(source, ProblemCode.DAMAGED_LOCK, told, skipped=True, line=line)
