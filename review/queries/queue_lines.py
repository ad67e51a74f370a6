"""The lines of the queue: every finding of a current warn or fail review, as the store has them.

What the files say is not in them: `queue_board` holds the lines against it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from django.db.models import Count, Min, QuerySet

from review.domain.finding_identity import own_fingerprints
from review.models import (
    CurrentAcceptance,
    Finding,
    KbPath,
    ModelPartition,
    NamedKeys,
    ReviewJob,
    batched,
)
from review.vocabulary import QUEUED_DECISIONS, AcceptanceKind

NoteAndGate = tuple[int, int]
_CHUNK = 5000


class QueueLine(NamedTuple):
    """A finding at its note and gate; a review that lists none has one line, without a finding.

    Lines sort by note path, gate path and ordinal. Words that lines share are one object.

    :param ordinal: counts the findings of a review from 1; 0 where there is none.
    :param note_sha256: digest of the note that the reviewer read; `gate_sha256` of the gate.
    :param text_read_at: when the text that the reviewer read was taken.
    :param first_at: the same, for the first review that reported the finding.
    :param repeated: an earlier review reported it too.
    :param moved: the acceptance was carried over: the review judged the text under another path.
    """

    note_path: str
    gate_path: str
    ordinal: int
    event_id: int
    note_id: int
    gate_id: int
    folder: str
    partition: str
    decision: str
    pair_id: int
    note_sha256: str
    gate_sha256: str
    finding_id: int
    severity: str
    fingerprint: str
    text_read_at: datetime
    first_at: datetime
    repeated: bool
    moved: bool


class _Row(NamedTuple):
    note_id: int
    gate_id: int
    partition_id: int
    decision: str
    event_id: int
    gate_sha256: str
    pair_id: int
    pair_note_id: int
    pair_gate_id: int
    note_sha256: str
    job_id: int
    finding_id: int | None
    ordinal: int | None
    severity: str | None
    fingerprint: str | None

    @property
    def is_moved(self) -> bool:
        return (self.note_id, self.gate_id) != (self.pair_note_id, self.pair_gate_id)


_COLUMNS = (
    "note_id",
    "gate_id",
    "model_partition_id",
    "decision",
    "event_id",
    "gate_snapshot__content_sha256",
    "event__review_pair_id",
    "event__review_pair__note_id",
    "event__review_pair__gate_id",
    # Of the text the reviewer read: an ack since then moved neither its lines nor its findings.
    "event__review_pair__note_snapshot__content_sha256",
    "event__review_pair__job_id",
    "event__review_pair__findings__id",
    "event__review_pair__findings__ordinal",
    "event__review_pair__findings__severity",
    "event__review_pair__findings__fingerprint",
)


class _First(NamedTuple):
    finding_id: int
    job_id: int


def read_lines(keys: Collection[NoteAndGate] | None = None) -> list[QueueLine]:
    """All lines, sorted.

    :param keys: ids of note and gate, to read the lines of these only.
    """
    rows = list(_rows(keys))
    marks = None if keys is None else {row.fingerprint for row in rows if row.fingerprint}
    first = _first_reports(marks)
    jobs = {row.job_id for row in rows} | {found.job_id for found in first.values()}
    note_ids = None if keys is None else {key for pair in keys for key in pair}
    return sorted(_lines(rows, first, read_at=_read_at(jobs), paths=_paths(note_ids)))


def _rows(keys: Collection[NoteAndGate] | None) -> Iterator[_Row]:
    found: QuerySet[CurrentAcceptance] = CurrentAcceptance.objects.filter(
        decision__in=QUEUED_DECISIONS
    ).exclude(event__kind=AcceptanceKind.OVERRIDE)
    if keys is not None:
        found = _of_keys(found, keys)
    for values in found.values_list(*_COLUMNS).iterator(chunk_size=_CHUNK):
        row = _Row(*values)
        if keys is None or (row.note_id, row.gate_id) in keys:
            yield row


def _of_keys(
    found: QuerySet[CurrentAcceptance], keys: Collection[NoteAndGate]
) -> QuerySet[CurrentAcceptance]:
    return found.filter(
        # The unique index starts with the partition: without it no index would be used.
        model_partition_id__in=list(ModelPartition.objects.values_list("pk", flat=True)),
        note_id__in={note_id for note_id, _gate_id in keys},
        gate_id__in={gate_id for _note_id, gate_id in keys},
    )


def _lines(
    rows: Iterable[_Row],
    first: Mapping[str, _First],
    *,
    read_at: Mapping[int, datetime],
    paths: Mapping[int, str],
) -> Iterator[QueueLine]:
    rows = list(rows)
    partitions = dict(ModelPartition.objects.values_list("pk", "name"))
    moved = _moved_marks([row for row in rows if row.is_moved], paths)
    folders: dict[str, str] = {}
    shared: dict[str, str] = {}
    for row in rows:
        note_path = paths[row.note_id]
        folder = folders.get(note_path)
        if folder is None:
            folder = folders[note_path] = _folder(note_path, shared)
        mark = row.fingerprint or ""
        earliest = first.get(mark)
        yield QueueLine(
            note_path=note_path,
            gate_path=paths[row.gate_id],
            ordinal=row.ordinal or 0,
            event_id=row.event_id,
            note_id=row.note_id,
            gate_id=row.gate_id,
            folder=folder,
            partition=partitions[row.partition_id],
            decision=shared.setdefault(row.decision, row.decision),
            pair_id=row.pair_id,
            note_sha256=shared.setdefault(row.note_sha256, row.note_sha256),
            gate_sha256=shared.setdefault(row.gate_sha256, row.gate_sha256),
            finding_id=row.finding_id or 0,
            severity=shared.setdefault(row.severity or "", row.severity or ""),
            fingerprint=moved.get((row.event_id, row.ordinal or 0), mark),
            text_read_at=read_at[row.job_id],
            first_at=read_at[earliest.job_id if earliest else row.job_id],
            repeated=row.is_moved
            or (earliest is not None and earliest.finding_id != row.finding_id),
            moved=row.is_moved,
        )


def _folder(path: str, shared: dict[str, str]) -> str:
    folder = path.rpartition("/")[0]
    return shared.setdefault(folder, folder)


def _paths(ids: Collection[int] | None) -> dict[int, str]:
    rows = KbPath.objects.all() if ids is None else KbPath.objects.filter(pk__in=ids)
    return dict(rows.values_list("pk", "path"))


def _read_at(job_ids: Iterable[int]) -> dict[int, datetime]:
    found: dict[int, datetime] = {}
    for chunk in batched(sorted(job_ids), _CHUNK):
        found.update(
            ReviewJob.objects.filter(pk__in=NamedKeys(chunk)).values_list("pk", "created_at")
        )
    return found


def _first_reports(marks: Collection[str] | None) -> dict[str, _First]:
    """The first finding under each fingerprint that has more than one; the others are left out."""
    found: dict[str, _First] = {}
    chunks = [None] if marks is None else batched(sorted(marks), _CHUNK)
    for chunk in chunks:
        rows = (
            Finding.objects.all()
            if chunk is None
            else Finding.objects.filter(fingerprint__in=chunk)
        )
        repeated = (
            rows.values("fingerprint")
            .annotate(number=Count("pk"), first=Min("pk"))
            .filter(number__gt=1)
            .order_by()
        )
        first = Finding.objects.filter(pk__in=repeated.values("first"))
        for mark, *ids in first.values_list("fingerprint", "pk", "pair__job_id").iterator():
            found[mark] = _First(*ids)
    return found


def _moved_marks(rows: Iterable[_Row], paths: Mapping[int, str]) -> dict[tuple[int, int], str]:
    """Event and ordinal of findings of carried reviews to the fingerprint under the new path."""
    events = {row.event_id: row for row in rows if row.ordinal}
    findings: dict[int, list[Finding]] = {}
    for chunk in batched(sorted({row.pair_id for row in events.values()}), _CHUNK):
        for finding in Finding.objects.filter(pair_id__in=chunk).order_by("pair_id", "ordinal"):
            findings.setdefault(finding.pair_id, []).append(finding)
    found = {}
    for event_id, row in events.items():
        of_pair = findings[row.pair_id]
        values = own_fingerprints(
            of_pair, note_path=paths[row.note_id], gate_path=paths[row.gate_id]
        )
        for finding, value in zip(of_pair, values, strict=True):
            found[event_id, finding.ordinal] = value
    return found
