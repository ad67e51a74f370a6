"""The warn queue: current acceptances that say warn or fail, with their open findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from review.contracts.queue import QueueEntryJson
from review.corpus import Corpus, NoteList
from review.corpus.gates import Gate
from review.domain.problems import Problem
from review.models import NamedKeys, ReviewText, batched
from review.queries.places import digests_of
from review.queries.queue_findings import FindingReader, QueueFinding, ReviewedPair
from review.queries.queue_rows import QueueRow, read_queue_rows
from review.vocabulary import (
    QUEUED_DECISIONS,
    Decision,
    DispositionState,
    Severity,
)

_AT_ONCE = 2500


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
    found = read_queue_rows(notes=request.notes, model_partition=request.model_partition)
    latest = _latest(row for row in found if _is_current(row, gates))
    rows = [row for row in latest if row.decision in request.decisions]
    note_paths = {row.note_path for row in rows}
    if listed is None:
        listed = corpus.notes_at(note_paths)
    digests = digests_of(corpus, listed, sorted(note_paths))
    reader = FindingReader(corpus, digests=digests)
    entries: list[QueueEntryJson] = []
    deleted: list[QueueEntryJson] = []
    # In parts: what is made on the way to an entry is gone before the next part needs its room.
    for part in batched(rows, _AT_ONCE):
        shown = _shown(part, reader, request)
        texts = _rationales(row.pair_id for row, _items in shown) if request.with_rationale else {}
        for row, items in shown:
            digest = digests.get(row.note_path)
            entry = _entry(row, items, gates[row.gate_path], digest, texts.get(row.pair_id))
            (deleted if digest is None else entries).append(entry)
    return WarnQueue(tuple(entries), tuple(deleted), problems=tuple(listed.problems))


def _shown(
    rows: Sequence[QueueRow], reader: FindingReader, request: QueueRequest
) -> list[tuple[QueueRow, list[QueueFinding]]]:
    pairs = [
        ReviewedPair(row.pair_id, row.note_path, row.gate_path, row.moved, row.reviewed_sha256)
        for row in rows
    ]
    shown = []
    for row, findings in zip(rows, reader.read_each(pairs), strict=True):
        kept = _kept(findings, request)
        if kept or _stands_alone(findings, request):
            shown.append((row, kept))
    return shown


def _stands_alone(findings: Sequence[QueueFinding], request: QueueRequest) -> bool:
    """Whether an entry is shown for its decision: its review lists no finding that has a state."""
    return not findings and not request.severities and DispositionState.OPEN in request.states


def _gates(corpus: Corpus, request: QueueRequest) -> dict[str, Gate]:
    catalog = corpus.gates
    gates = catalog.resolve(request.gates) if request.gates else catalog.gates
    return {gate.path: gate for gate in gates}


def _latest(rows: Iterable[QueueRow]) -> list[QueueRow]:
    found: dict[tuple[str, str], QueueRow] = {}
    for row in rows:
        found[row.note_path, row.gate_path] = row
    return list(found.values())


def _is_current(row: QueueRow, gates: Mapping[str, Gate]) -> bool:
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
    rows = ReviewText.objects.filter(pair_id__in=NamedKeys(pair_ids))
    return dict(rows.values_list("pair_id", "text"))


def _entry(
    row: QueueRow,
    findings: Sequence[QueueFinding],
    gate: Gate,
    note_sha256: str | None,
    rationale: str | None,
) -> QueueEntryJson:
    return QueueEntryJson(
        note_path=row.note_path,
        gate_path=row.gate_path,
        gate_id=gate.gate_id,
        lens=gate.lens,
        model_partition=row.partition,
        decision=row.decision,
        review_pair_id=row.pair_id,
        accepted_at=row.accepted_at,
        note_changed_since=note_sha256 != row.reviewed_sha256,
        later_pass_in=row.passed_in,
        findings=[finding.as_json() for finding in findings],
        rationale=rationale,
    )
