"""The rows of the warn queue: current acceptances that say warn or fail, as the store has them.

There are tens of thousands, so a statement gives keys, and what many rows share is looked up once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar

import msgspec
from django.db.models import OuterRef, QuerySet, Subquery, TextField
from django.db.models.functions import Cast

from review.models import (
    Acceptance,
    CurrentAcceptance,
    FileSnapshot,
    JsonRows,
    KbPath,
    ModelPartition,
    NamedKeys,
    ReviewPair,
    batched,
)
from review.queries.places import below, within
from review.vocabulary import AcceptanceKind

_T = TypeVar("_T")

_CHUNK = 5000
_Key = tuple[int, int]  # of note and gate


class QueueRow(NamedTuple):
    """A current acceptance that says warn or fail. Sorts by note, gate and event.

    :param accepted_at: as documents write it.
    :param note_sha256: digest of the text that the reviewer read; an ack since then moved
        neither its lines nor its findings.
    :param moved: the acceptance was carried over: the review judged the text under another path.
    :param passed_in: names of the partitions in which the pair was passed later, sorted.
    """

    note_path: str
    gate_path: str
    event_id: int
    partition: str
    decision: str
    note_sha256: str
    gate_sha256: str
    accepted_at: str
    pair_id: int
    moved: bool
    passed_in: tuple[str, ...]


class _Row(NamedTuple):
    note_id: int
    gate_id: int
    partition_id: int
    event_id: int
    note_snapshot_id: int
    gate_snapshot_id: int
    decision: str
    kind: str
    pair_id: int
    accepted_at: str
    later: str | None


_Judged = tuple[int, int, int]  # a pair's note, gate and snapshot of the note


class _StoredMoment(Cast):
    """A moment as SQLite holds it, in UTC: it takes five times as long to read it, and write it again."""

    def as_postgresql(self, compiler: Any, connection: Any, **_context: Any) -> Any:
        """The column: made JSON, it is written much the same, and with its zone."""
        return compiler.compile(self.source_expressions[0])


class _Listed(Subquery):
    """The integers that a query of one column gives, in any order, joined by commas; NULL for none."""

    template = "(SELECT GROUP_CONCAT(model_partition_id) FROM (%(subquery)s))"

    def as_postgresql(self, compiler: Any, connection: Any) -> Any:
        """PostgreSQL's spelling of the same: to aggregate takes it twice as long."""
        return self.as_sql(
            compiler, connection, template="array_to_string(ARRAY(%(subquery)s), ',')"
        )


_COLUMNS = (
    "note_id",
    "gate_id",
    "model_partition_id",
    "event_id",
    "note_snapshot_id",
    "gate_snapshot_id",
    "decision",
    "event__kind",
    "event__review_pair_id",
)


def queued_notes(notes: tuple[str, ...] = ()) -> dict[int, str]:
    """Keys and paths of the notes that have rows.

    :param notes: files and folders; none is everywhere.
    """
    rows = CurrentAcceptance.objects.queued()
    found = KbPath.objects.filter(pk__in=rows.values("note_id"))
    if notes:
        found = found.filter(below(notes, field="path"))
    paths = dict(_read(found, "pk", "path", kind=list[tuple[int, str]]))
    is_wanted = within(notes)
    return {key: path for key, path in paths.items() if is_wanted(path)} if notes else paths


def read_queue_rows(
    *,
    notes: tuple[str, ...] = (),
    model_partition: str | None = None,
    paths: Mapping[int, str] | None = None,
) -> list[QueueRow]:
    """All rows but overrides, sorted.

    :param notes: files and folders; none is everywhere.
    :param paths: what `queued_notes` gave a moment ago.
    """
    rows = _rows(notes)
    partitions = dict(ModelPartition.objects.values_list("pk", "name"))
    objections: dict[_Key, list[str]] = {}
    for row in rows:
        objections.setdefault((row.note_id, row.gate_id), []).append(partitions[row.partition_id])
    rows = [
        row
        for row in rows
        if row.kind != AcceptanceKind.OVERRIDE
        and model_partition in (None, partitions[row.partition_id])
    ]
    named = _named(rows, objections, partitions=partitions, known=paths or {})
    if notes:
        is_wanted = within(notes)
        named = (row for row in named if is_wanted(row.note_path))
    return sorted(named)


def _rows(notes: tuple[str, ...]) -> list[_Row]:
    rows = CurrentAcceptance.objects.queued()
    if notes:
        rows = rows.filter(below(notes, field="note__path"))
    columns = (*_COLUMNS, _StoredMoment("event__accepted_at", TextField()), _later_events())
    return _read(rows, *columns, kind=list[_Row])


def _read(rows: QuerySet[Any], *columns: Any, kind: type[_T]) -> _T:
    """Columns of rows as one value: who looks at notes meanwhile is not stopped for each row."""
    document: str | None = rows.aggregate(rows=JsonRows(*columns))["rows"]
    return msgspec.json.decode(document or "[]", type=kind)


def _later_events() -> _Listed:
    """Partitions of the later acceptances of a row's note and gate: one look into one index.

    Each is the current one of its partition, or is followed by that: the last event of a key counts.
    """
    later = Acceptance.objects.filter(
        note_id=OuterRef("note_id"), gate_id=OuterRef("gate_id"), pk__gt=OuterRef("event_id")
    )
    return _Listed(later.order_by().values("model_partition_id"), output_field=TextField())


def _named(
    rows: Sequence[_Row],
    objections: Mapping[_Key, Sequence[str]],
    *,
    partitions: Mapping[int, str],
    known: Mapping[int, str],
) -> Iterator[QueueRow]:
    """Rows with the names of their keys.

    :param known: paths that were read already, by key.
    :param objections: partitions whose current acceptance does not pass, by note and gate: what a
        partition accepted later passed a pair unless it is one of these.
    """
    keys = {row.note_id for row in rows} | {row.gate_id for row in rows}
    paths = {**known, **_values(KbPath, "path", keys.difference(known))}
    judged = _judged(row.pair_id for row in rows if row.kind != AcceptanceKind.FULL_REVIEW)
    snapshots = {row.note_snapshot_id for row in rows} | {row.gate_snapshot_id for row in rows}
    snapshots.update(note_snapshot_id for _note, _gate, note_snapshot_id in judged.values())
    digests = _values(FileSnapshot, "content_sha256", snapshots)
    names_in = lru_cache(maxsize=1024)(partial(_names_in, partitions=partitions))
    # Unpacked by hand: ten thousand rows that nobody filtered are a fifth of the command's time.
    for note, gate, partition, event, text, gate_text, decision, _kind, pair, at, later in rows:
        passed_in = names_in(later) if later else ()
        if passed_in and len(objecting := objections[note, gate]) > 1:
            passed_in = tuple(name for name in passed_in if name not in objecting)
        read_note, read_gate, read_text = judged.get(pair) or (note, gate, text)
        yield QueueRow(
            paths[note],
            paths[gate],
            event,
            partitions[partition],
            decision,
            digests[read_text],
            digests[gate_text],
            _written(at),
            pair,
            read_note != note or read_gate != gate,
            passed_in,
        )


def _names_in(joined: str, *, partitions: Mapping[int, str]) -> tuple[str, ...]:
    return tuple(sorted({partitions[int(key)] for key in joined.split(",")}))


@lru_cache(maxsize=1024)  # what was stored together has the same moment
def _written(stored: str) -> str:
    """A moment as documents write it, from what the store gives: all but its marks and last zeros."""
    moment = stored.removesuffix("+00:00")
    return f"{moment[:10]}T{moment[11:19]}.{moment[20:]:0<6}Z"


def _judged(pair_ids: Iterable[int]) -> dict[int, _Judged]:
    """What the reviewer read of these pairs; a full review is accepted for just that."""
    found: dict[int, _Judged] = {}
    for chunk in batched(sorted(set(pair_ids)), _CHUNK):
        rows = ReviewPair.objects.filter(pk__in=NamedKeys(chunk))
        for pair_id, *keys in rows.values_list("pk", "note_id", "gate_id", "note_snapshot_id"):
            found[pair_id] = (keys[0], keys[1], keys[2])
    return found


def _values(model: type[Any], field: str, keys: Iterable[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for chunk in batched(sorted(keys), _CHUNK):
        rows = model.objects.filter(pk__in=NamedKeys(chunk))
        found.update(_read(rows, "pk", field, kind=list[tuple[int, str]]))
    return found
