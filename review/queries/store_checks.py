"""Looks at the store for what must never be; reads in pieces, whatever its size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from review.domain.identity import sha256_hex
from review.models import Acceptance, CurrentAcceptance, FileSnapshot, ReviewJob, ReviewPair
from review.queries.checks import Check, CheckState, Faults
from review.vocabulary import JobStatus, PairStatus

_TEXTS_AT_ONCE = 20
_ROWS_AT_ONCE = 1000
_KEY = ("model_partition_id", "note_id", "gate_id")


@dataclass(frozen=True)
class AcceptanceKey:
    """What there is one current acceptance of."""

    model_partition_id: int
    note_id: int
    gate_id: int


def check_integrity() -> Check:
    """What the database says of itself: its pages, indexes and references."""
    if connection.vendor != "sqlite":
        return Check("integrity", CheckState.OK, f"left to {connection.display_name}")
    faults = Faults()
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA integrity_check(100)")
        for (line,) in cursor.fetchall():
            if line != "ok":
                faults.add(line)
        cursor.execute("PRAGMA foreign_key_check")
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            for table, row_id, parent, _number in rows:
                faults.add(f"{table} row {row_id} refers to a row of {parent} that is not there")
    return faults.check(
        "integrity",
        fine="pages, indexes and references hold",
        wrong="faults in the database file; move it away and restore a copy",
    )


def check_pairs() -> Check:
    """Completed pairs have a text, completed jobs have no other pairs, and none is lost."""
    faults = Faults()
    textless = ReviewPair.objects.completed().filter(review_text=None).order_by("pk")
    for pair_id, job_id, path in textless.values_list("pk", "job_id", "result_path").iterator():
        faults.add(
            f"pair {pair_id} of job {job_id} is completed and has no text; its result file is {path}"
        )
    unfinished = ReviewPair.objects.filter(job__status=JobStatus.COMPLETED).exclude(
        status=PairStatus.COMPLETED
    )
    for pair_id, job_id, status in unfinished.values_list("pk", "job_id", "status").iterator():
        faults.add(f"pair {pair_id} is {status}, but its job {job_id} is completed")
    counted = ReviewJob.objects.annotate(found=Count("pairs")).exclude(found=F("pair_count"))
    for job_id, told, found in counted.values_list("pk", "pair_count", "found").iterator():
        faults.add(f"job {job_id} has {found} pairs, but was made with {told}")
    number = ReviewPair.objects.count()
    return faults.check(
        "pairs",
        fine=f"{number} pairs agree with their jobs and texts",
        wrong="pairs or jobs are off",
    )


def check_snapshots() -> Check:
    """Each kept text has the digest and the size that are kept with it."""
    faults = Faults()
    rows = FileSnapshot.objects.order_by("pk").values_list(
        "pk", "path__path", "content_sha256", "byte_size", "text"
    )
    for key, path, sha256, size, text in rows.iterator(chunk_size=_TEXTS_AT_ONCE):
        faults.looked_at += 1
        data = text.encode("utf-8", "surrogatepass")
        if sha256_hex(data) != sha256 or len(data) != size:
            faults.add(f"snapshot {key} of {path} is not the text it was taken of ({sha256})")
    return faults.check(
        "snapshots", fine=f"{faults.looked_at} texts have their digests", wrong="texts were altered"
    )


def check_acceptances() -> Check:
    """Each key's current acceptance is the last of its events."""
    faults = Faults()
    for key in wrong_acceptances():
        faults.add(
            f"note {key.note_id}, gate {key.gate_id}, partition {key.model_partition_id}: the current"
            " acceptance is not the last event"
        )
    number = CurrentAcceptance.objects.count()
    return faults.check(
        "current-acceptances",
        fine=f"{number} current acceptances are what the events say",
        wrong="current acceptances differ from the events; --repair makes them again",
    )


def wrong_acceptances() -> Iterator[AcceptanceKey]:
    """Keys whose current acceptance is missing, of another event, or unlike its event."""
    for rows in (_wrong(), _without_current()):
        keys = rows.order_by().values_list(*_KEY).distinct()
        yield from (AcceptanceKey(*key) for key in keys.iterator(chunk_size=_ROWS_AT_ONCE))


def portions_of_wrong_acceptances(size: int) -> Iterator[list[AcceptanceKey]]:
    """The same, of at most `size` rows at once; who mends a portion before asking on meets each key
    once, and the rows before it are not looked through again."""
    for rows in (_wrong(), _without_current()):
        last = 0
        while found := list(
            rows.filter(pk__gt=last).order_by("pk").values_list("pk", *_KEY)[:size]
        ):
            last = found[-1][0]
            yield list(dict.fromkeys(AcceptanceKey(*key) for _pk, *key in found))


def _wrong() -> QuerySet[CurrentAcceptance]:
    later = _of_same_key(Acceptance.objects).filter(pk__gt=OuterRef("event_id"))
    alike = Q(
        event__note_id=F("note_id"),
        event__gate_id=F("gate_id"),
        event__model_partition_id=F("model_partition_id"),
        event__note_snapshot_id=F("note_snapshot_id"),
        event__gate_snapshot_id=F("gate_snapshot_id"),
        event__decision=F("decision"),
    )
    return CurrentAcceptance.objects.filter(~alike | Exists(later))


def _without_current() -> QuerySet[Acceptance]:
    return Acceptance.objects.filter(~Exists(_of_same_key(CurrentAcceptance.objects)))


def _of_same_key(rows: Any) -> Any:
    return rows.filter(
        note_id=OuterRef("note_id"),
        gate_id=OuterRef("gate_id"),
        model_partition_id=OuterRef("model_partition_id"),
    )
