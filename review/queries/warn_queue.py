"""The warn queue: current acceptances that say warn or fail, with their open findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import OuterRef, Subquery

from review.contracts.base import timestamp
from review.contracts.queue import QueueEntryJson
from review.corpus import Corpus, NoteList
from review.corpus.gates import Gate
from review.domain.problems import Problem
from review.models import CurrentAcceptance, ModelPartition, NamedKeys, ReviewText, batched
from review.queries.places import below, digests_of, is_below
from review.queries.queue_findings import FindingReader, QueueFinding, ReviewedPair
from review.vocabulary import (
    QUEUED_DECISIONS,
    AcceptanceKind,
    Decision,
    DispositionState,
    Severity,
)


@dataclass(frozen=True)
class QueueRequest:
    """Which entries and findings to give; an empty filter keeps all.

    :param notes: files and folders, as `named_places` gives them.
    :param gates: gate ids, gate paths and bundle names.
    """

    notes: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    model_partition: str | None = None
    decisions: tuple[Decision, ...] = QUEUED_DECISIONS
    severities: tuple[Severity, ...] = ()
    states: tuple[DispositionState, ...] = (DispositionState.OPEN,)
    with_rationale: bool = True


@dataclass(frozen=True)
class WarnQueue:
    """Entries sorted by note and gate path; those of notes that are gone stand apart.

    `problems` are those of the notes that were looked at.
    """

    entries: tuple[QueueEntryJson, ...]
    deleted_notes: tuple[QueueEntryJson, ...]
    problems: tuple[Problem, ...]


class _Row(NamedTuple):
    note_path: str
    gate_path: str
    partition: str
    decision: str
    reviewed_sha256: str
    gate_sha256: str
    accepted_at: datetime
    event_id: int
    pair_id: int
    note_id: int
    gate_id: int
    pair_note_id: int
    pair_gate_id: int
    passed_in: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str]:
        """What there is one entry of."""
        return (self.note_path, self.gate_path)


def read_warn_queue(
    corpus: Corpus, request: QueueRequest, *, listed: NoteList | None = None
) -> WarnQueue:
    """What wants an edit now, one entry per (note, gate): the latest accepted review's.

    Left out: overrides, pairs whose gate changed or went since, and entries all of whose findings
    have another state than asked for.

    :param listed: the notes on disk, where they were looked at already; else those of the queue are.
    :raises UnknownGate: a gate filter does not resolve.
    """
    gates = _gates(corpus, request)
    latest = _latest(row for row in _rows(request) if _is_current(row, gates))
    rows = [row for row in latest if row.decision in request.decisions]
    if listed is None:
        listed = corpus.notes_at({row.note_path for row in rows})
    digests = digests_of(corpus, listed, (row.note_path for row in rows))
    reader = FindingReader(corpus, digests=digests)
    findings = reader.read(
        [
            ReviewedPair(
                pair_id=row.pair_id,
                note_path=row.note_path,
                gate_path=row.gate_path,
                moved=(row.note_id, row.gate_id) != (row.pair_note_id, row.pair_gate_id),
                note_sha256=row.reviewed_sha256,
            )
            for row in rows
        ]
    )
    kept = [(row, _kept(findings[row.key], request)) for row in rows]
    shown = [
        (row, items) for row, items in kept if items or _stands_alone(findings[row.key], request)
    ]
    texts = _rationales(row.pair_id for row, _items in shown) if request.with_rationale else {}
    entries = [_entry(row, items, gates, digests, texts) for row, items in shown]
    return WarnQueue(
        entries=tuple(entry for entry in entries if entry.note_path in digests),
        deleted_notes=tuple(entry for entry in entries if entry.note_path not in digests),
        problems=tuple(listed.problems),
    )


def _stands_alone(findings: Sequence[QueueFinding], request: QueueRequest) -> bool:
    """Whether an entry is shown for its decision: its review lists no finding that has a state."""
    return not findings and not request.severities and DispositionState.OPEN in request.states


def _gates(corpus: Corpus, request: QueueRequest) -> dict[str, Gate]:
    catalog = corpus.gates
    gates = catalog.resolve(request.gates) if request.gates else catalog.gates
    return {gate.path: gate for gate in gates}


def _rows(request: QueueRequest) -> Iterable[_Row]:
    rows = CurrentAcceptance.objects.filter(decision__in=QUEUED_DECISIONS).exclude(
        event__kind=AcceptanceKind.OVERRIDE
    )
    if request.model_partition:
        rows = rows.of_partition(request.model_partition)
    if request.notes:
        rows = rows.filter(below(request.notes, field="note__path"))
    partitions = dict(ModelPartition.objects.values_list("name", "pk"))
    passed = {
        f"passed_{number}": Subquery(
            CurrentAcceptance.objects.filter(
                model_partition_id=key,
                note_id=OuterRef("note_id"),
                gate_id=OuterRef("gate_id"),
                decision=Decision.PASS,
            ).values("event_id")[:1]
        )
        for number, key in enumerate(partitions.values())
    }
    names = tuple(partitions)
    columns = rows.annotate(**passed).values_list(*_COLUMNS, *passed)
    for row in columns.order_by("note__path", "gate__path", "event_id").iterator(chunk_size=2000):
        if not is_below(row[0], request.notes):
            continue
        later = row[len(_COLUMNS) :]
        event_id = row[_COLUMNS.index("event_id")]
        passed_in = tuple(
            name for name, other in zip(names, later, strict=True) if other and other > event_id
        )
        yield _Row(*(*row[: len(_COLUMNS)], passed_in))


_COLUMNS = (
    "note__path",
    "gate__path",
    "model_partition__name",
    "decision",
    # Of the text the reviewer read: an ack since then moved neither its lines nor its findings.
    "event__review_pair__note_snapshot__content_sha256",
    "gate_snapshot__content_sha256",
    "event__accepted_at",
    "event_id",
    "event__review_pair_id",
    "note_id",
    "gate_id",
    "event__review_pair__note_id",
    "event__review_pair__gate_id",
)


def _latest(rows: Iterable[_Row]) -> list[_Row]:
    found: dict[tuple[str, str], _Row] = {}
    for row in rows:
        found[row.key] = row
    return list(found.values())


def _is_current(row: _Row, gates: Mapping[str, Gate]) -> bool:
    gate = gates.get(row.gate_path)
    return gate is not None and gate.sha256 == row.gate_sha256


def _kept(findings: Sequence[QueueFinding], request: QueueRequest) -> list[QueueFinding]:
    return [
        finding
        for finding in findings
        if finding.state in request.states
        and (not request.severities or finding.severity in request.severities)
    ]


def _rationales(pair_ids: Iterable[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for chunk in batched(pair_ids, 5000):
        rows = ReviewText.objects.filter(pair_id__in=NamedKeys(chunk))
        found.update(rows.values_list("pair_id", "text"))
    return found


def _entry(
    row: _Row,
    findings: Sequence[QueueFinding],
    gates: Mapping[str, Gate],
    digests: Mapping[str, str],
    texts: Mapping[int, str],
) -> QueueEntryJson:
    gate = gates[row.gate_path]
    fields: dict[str, Any] = {"findings": [finding.as_json() for finding in findings]}
    return QueueEntryJson(
        note_path=row.note_path,
        gate_path=row.gate_path,
        gate_id=gate.gate_id,
        lens=gate.lens,
        model_partition=row.partition,
        decision=row.decision,
        review_pair_id=row.pair_id,
        accepted_at=timestamp(row.accepted_at),
        note_changed_since=digests.get(row.note_path) != row.reviewed_sha256,
        later_pass_in=list(row.passed_in),
        rationale=texts.get(row.pair_id),
        **fields,
    )
