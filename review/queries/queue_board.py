"""The queue held against the files and against what people decided, in columns that count quickly.

A board never changes: what moved since gives another one, made of as much of the old as still
holds. At 100,000 findings a filter costs a few milliseconds, where the database took a quarter of a
second for each facet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

from review.domain.dispositions import Decided, finding_state
from review.queries.files_now import Files, FilesNow
from review.queries.queue_lines import NoteAndGate, QueueLine
from review.vocabulary import DispositionState

# One byte a line: 1 where the line is in.
Mask = bytes

NEW, PERSISTING, REGRESSED = "new", "persisting", "regressed"
SAME, CHANGED, GONE = "same", "changed", "gone"
SEEN = (NEW, PERSISTING, REGRESSED)
SINCE = (SAME, CHANGED, GONE)


class LastWord(NamedTuple):
    """The disposition of a fingerprint that counts, with its key."""

    disposition_id: int
    decided: Decided


@dataclass(frozen=True, eq=False)
class Layout:
    """The lines, and what follows from them alone."""

    lines: Sequence[QueueLine]

    @cached_property
    def columns(self) -> dict[str, Sequence[Any]]:
        """Field of a line to its values, in the order of the lines."""
        values = zip(*self.lines, strict=True) if self.lines else ((),) * len(QueueLine._fields)
        return dict(zip(QueueLine._fields, values, strict=True))

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Fingerprint to the numbers of its lines."""
        found: dict[str, list[int]] = {}
        for number, mark in enumerate(self.columns["fingerprint"]):
            if mark:
                found.setdefault(mark, []).append(number)
        return found

    @cached_property
    def notes(self) -> frozenset[str]:
        """The paths of the notes."""
        return frozenset(self.columns["note_path"])

    @cached_property
    def gates(self) -> frozenset[str]:
        """The paths of the gates."""
        return frozenset(self.columns["gate_path"])

    def without(self, keys: Collection[NoteAndGate]) -> list[QueueLine]:
        """The lines of other notes and gates than these."""
        return [line for line in self.lines if (line.note_id, line.gate_id) not in keys]


@dataclass(frozen=True, eq=False)
class Placing:
    """The lines held against the files.

    :param looked_at: when the files were; a later disposition knows its note better.
    :param digests: of the notes as they are, by path; a note that is gone has none.
    :param current: the review's gate is as it was when it judged.
    :param latest: and it is the latest accepted review of its note and gate, in any partition.
    :param since: whether the note is the same, changed or gone since it was reviewed.
    """

    files: Files
    looked_at: datetime
    digests: Mapping[str, str]
    current: Mask
    latest: Mask
    since: Sequence[str]


@dataclass(frozen=True, eq=False)
class Standing:
    """Where each finding stands.

    :param last_words: by fingerprint, of all fingerprints that somebody decided.
    :param state: a `DispositionState` for each line; a line without a finding is open.
    :param seen: new, persisting or regressed, for each line.
    """

    last_words: Mapping[str, LastWord]
    state: Sequence[str]
    seen: Sequence[str]


@dataclass(frozen=True, eq=False)
class QueueBoard:
    """The whole queue at one moment; `kept` is for what is computed of it."""

    layout: Layout
    placing: Placing
    standing: Standing
    kept: dict[Any, Any] = field(default_factory=dict)

    @property
    def lines(self) -> Sequence[QueueLine]:
        """In the order of the queue: note path, gate path, finding."""
        return self.layout.lines

    def column(self, name: str) -> Sequence[Any]:
        """The values of a field of a line, or of `since`, `state` and `seen`."""
        if name == "since":
            return self.placing.since
        if name in ("state", "seen"):
            return self.standing.state if name == "state" else self.standing.seen
        return self.layout.columns[name]

    def last_word_id(self, fingerprint: str) -> int:
        """The key of the disposition that counts, 0 without one."""
        word = self.standing.last_words.get(fingerprint)
        return word.disposition_id if word else 0

    def moved_to(self, now: FilesNow, digests: Mapping[str, str]) -> QueueBoard:
        """The same lines, held against other files."""
        placing = place(self.layout, now, digests)
        deferred = [
            mark
            for mark, word in self.standing.last_words.items()
            if word.decided.state == DispositionState.DEFERRED
        ]
        standing = restate(self.standing, self.layout, placing, marks=deferred)
        return QueueBoard(self.layout, placing, standing)

    def told(self, words: Mapping[str, LastWord]) -> QueueBoard:
        """The same lines, after people decided about some of them."""
        known = replace(self.standing, last_words={**self.standing.last_words, **words})
        return replace(
            self, standing=restate(known, self.layout, self.placing, marks=words), kept={}
        )


def make_board(
    lines: Sequence[QueueLine],
    now: FilesNow,
    digests: Mapping[str, str],
    last_words: Mapping[str, LastWord],
) -> QueueBoard:
    """A board of these lines.

    :param digests: of the notes that lie outside the note roots.
    """
    layout = Layout(lines)
    placing = place(layout, now, digests)
    untold = Standing(
        last_words=last_words,
        state=[DispositionState.OPEN.value] * len(lines),
        seen=[PERSISTING if repeated else NEW for repeated in layout.columns["repeated"]],
    )
    return QueueBoard(layout, placing, restate(untold, layout, placing, marks=last_words))


def place(layout: Layout, now: FilesNow, unlisted: Mapping[str, str]) -> Placing:
    """Hold the lines against the files.

    :param unlisted: digests of notes that the files do not list.
    """
    files = now.files
    digests = {**files.digests, **unlisted} if unlisted else files.digests
    gates = {(gate.path, gate.sha256) for gate in files.gates.gates}
    columns = layout.columns
    current = bytes(
        map(gates.__contains__, zip(columns["gate_path"], columns["gate_sha256"], strict=True))
    )
    since = [
        SAME if digest == sha256 else GONE if digest is None else CHANGED
        for digest, sha256 in zip(
            map(digests.get, columns["note_path"]), columns["note_sha256"], strict=True
        )
    ]
    return Placing(files, now.looked_at, digests, current, latest_of(layout, current), since)


def latest_of(layout: Layout, mask: Mask) -> Mask:
    """Of the lines in the mask, those of the latest accepted review of their note and gate."""
    if len(set(layout.columns["partition"])) < 2:
        return mask
    last: dict[NoteAndGate, int] = {}
    for line, is_in in zip(layout.lines, mask, strict=True):
        key = (line.note_id, line.gate_id)
        if is_in and last.get(key, 0) < line.event_id:
            last[key] = line.event_id
    return bytes(
        bool(is_in) and last[line.note_id, line.gate_id] == line.event_id
        for line, is_in in zip(layout.lines, mask, strict=True)
    )


def restate(
    standing: Standing, layout: Layout, placing: Placing, *, marks: Iterable[str]
) -> Standing:
    """Say again where the findings with these fingerprints stand."""
    state, seen = list(standing.state), list(standing.seen)
    for mark in marks:
        decided = standing.last_words[mark].decided
        for number in layout.places.get(mark, ()):
            line = layout.lines[number]
            digest = placing.digests.get(line.note_path, "")
            if decided.at > placing.looked_at:
                digest = decided.note_sha256
            found = finding_state(decided, text_read_at=line.text_read_at, note_sha256=digest)
            state[number] = found.state.value
            was = PERSISTING if line.repeated else NEW
            seen[number] = REGRESSED if found.regressed else was
    return replace(standing, state=state, seen=seen)
