"""Reads from the store and the files what a page says about the few lines of the queue it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from review.contracts.queue import QueueFindingJson
from review.corpus import Corpus, NoteList
from review.models import CurrentAcceptance, Disposition, ModelPartition
from review.queries.places import digests_of
from review.queries.queue_board import CHANGED, GONE, SAME, QueueBoard
from review.queries.queue_findings import FindingReader, ReviewedPair
from review.queries.queue_lines import NoteAndGate, QueueLine
from review.vocabulary import Decision


@dataclass(frozen=True)
class Spoken:
    """What a person decided about a finding, and when."""

    disposition_id: int
    state: str
    actor: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class Shown:
    """What is known of some lines; the number of statements does not grow with theirs.

    :param digests: of their notes, read just now; a note that is gone has none.
    :param findings: of each review, by the acceptance's event.
    :param spoken: the last word on each fingerprint that has one.
    :param passes: partitions that passed a note and gate, with the event that says so.
    """

    digests: Mapping[str, str]
    findings: Mapping[int, Sequence[QueueFindingJson]]
    spoken: Mapping[str, Spoken]
    passes: Mapping[NoteAndGate, Sequence[tuple[int, str]]]

    def finding(self, line: QueueLine) -> QueueFindingJson | None:
        """The finding of a line; None for a review that lists none."""
        return self.findings[line.event_id][line.ordinal - 1] if line.ordinal else None

    def since(self, line: QueueLine) -> str:
        """Whether the note is the same, changed or gone since it was reviewed."""
        digest = self.digests.get(line.note_path)
        return GONE if digest is None else SAME if digest == line.note_sha256 else CHANGED

    def passed_later(self, line: QueueLine) -> tuple[str, ...]:
        """The partitions that passed the line's note and gate after its review was accepted."""
        passes = self.passes.get((line.note_id, line.gate_id), ())
        return tuple(name for event_id, name in passes if event_id > line.event_id)


def read_shown(board: QueueBoard, corpus: Corpus, lines: Sequence[QueueLine]) -> Shown:
    """What is known of the lines."""
    digests = digests_of(corpus, NoteList((), ()), (line.note_path for line in lines))
    reviews = {line.event_id: line for line in lines}
    reader = FindingReader(corpus, digests=digests)
    found = reader.read_each([_reviewed(line) for line in reviews.values()])
    return Shown(
        digests=digests,
        findings=dict(zip(reviews, found, strict=True)),
        spoken=read_spoken(board, (line.fingerprint for line in lines)),
        passes=_passes(lines),
    )


def read_spoken(board: QueueBoard, marks: Iterable[str]) -> dict[str, Spoken]:
    """The last word on each of the fingerprints that has one."""
    words = board.standing.last_words
    ids = {words[mark].disposition_id for mark in marks if mark in words}
    if not ids:
        return {}
    rows = Disposition.objects.filter(pk__in=ids)
    return {row.fingerprint: as_spoken(row) for row in rows}


def as_spoken(row: Disposition) -> Spoken:
    """A disposition for a page."""
    return Spoken(row.pk, row.state, row.actor, row.reason, row.at)


def _reviewed(line: QueueLine) -> ReviewedPair:
    return ReviewedPair(
        pair_id=line.pair_id,
        note_path=line.note_path,
        gate_path=line.gate_path,
        moved=line.moved,
        note_sha256=line.note_sha256,
    )


def _passes(lines: Sequence[QueueLine]) -> dict[NoteAndGate, list[tuple[int, str]]]:
    rows = CurrentAcceptance.objects.filter(
        # The unique index starts with the partition.
        model_partition_id__in=list(ModelPartition.objects.values_list("pk", flat=True)),
        note_id__in={line.note_id for line in lines},
        gate_id__in={line.gate_id for line in lines},
    )
    wanted = {(line.note_id, line.gate_id) for line in lines}
    found: dict[NoteAndGate, list[tuple[int, str]]] = {}
    columns = ("note_id", "gate_id", "decision", "event_id", "model_partition__name")
    for *key, decision, event_id, name in rows.order_by("model_partition_id").values_list(*columns):
        # Not asked of the store: nearly everything passes, and it would start from that.
        if decision == Decision.PASS and (place := (key[0], key[1])) in wanted:
            found.setdefault(place, []).append((event_id, name))
    return found
