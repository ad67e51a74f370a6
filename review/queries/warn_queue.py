"""The warn queue: current acceptances that say warn or fail, with their open findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from django.db.models import TextChoices

from review.contracts.queue import QueueEntryJson, QueueFindingJson
from review.corpus import Corpus, NoteList
from review.corpus.gates import Gate
from review.corpus.notes import in_order
from review.domain.problems import Problem
from review.models import batched
from review.queries.orphans import carried_away
from review.queries.places import digests_of, is_below
from review.queries.queue_findings import FindingReader
from review.queries.queue_rows import QueueRow, queued_notes, read_queue_rows
from review.queries.review_texts import rationales
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

    @property
    def takes_all(self) -> bool:
        """Whether it asks for every row of its notes."""
        is_narrowed = self.gates or self.model_partition is not None
        return not is_narrowed and set(self.decisions) == set(QUEUED_DECISIONS)


@dataclass(frozen=True)
class WarnQueue:
    """Entries sorted by note and gate path; those of notes that are gone stand apart.

    They are read while they are walked, as often as that is done; the knowledge base must be open.
    `problems` are those of the notes that were looked at, and of gates that cannot be used: what these
    judged cannot be shown. `hidden` are how many reviews that is, by decision.
    """

    entries: Iterable[QueueEntryJson]
    deleted_notes: Iterable[QueueEntryJson]
    problems: tuple[Problem, ...]
    hidden: Mapping[str, int] = field(default_factory=dict)


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
    looked_at: set[str] = set()
    if listed is None and request.takes_all:
        looked_at, listed, found = _look_and_read(corpus, request)
    else:
        found = read_queue_rows(notes=request.notes, model_partition=request.model_partition)
    decisions = _words(request.decisions)
    rows = [row for row in _latest(found, gates) if row.decision in decisions]
    note_paths = {row.note_path for row in rows}
    if listed is None:
        listed = corpus.notes_at(note_paths)
    digests = digests_of(corpus, listed, note_paths)
    others = looked_at - note_paths
    unusable = _unusable_gates(corpus, request)
    problems = (*unusable, *(found for found in listed.problems if found.path not in others))
    gone = [row for row in rows if row.note_path not in digests]
    carried = carried_away((row.event_id, row.pair_id) for row in gone)
    read = partial(_Entries, request=request, corpus=corpus, gates=gates, digests=digests)
    return WarnQueue(
        entries=read([row for row in rows if row.note_path in digests]),
        deleted_notes=read([row for row in gone if row.event_id not in carried]),
        problems=in_order(problems),
        hidden=_hidden(found, [problem.path for problem in unusable]),
    )


def _look_and_read(
    corpus: Corpus, request: QueueRequest
) -> tuple[set[str], NoteList, list[QueueRow]]:
    """The notes that have rows, as they are on disk, and the rows.

    Looked at and read side by side: the one takes as long as the other.
    """
    paths = queued_notes(request.notes)
    looked_at = set(paths.values())
    with ThreadPoolExecutor(max_workers=1) as beside:
        listed = beside.submit(corpus.notes_at, looked_at)
        rows = read_queue_rows(notes=request.notes, paths=paths)
        return looked_at, listed.result(), rows


@dataclass(frozen=True)
class _Entries:
    """The entries of rows: read in parts whenever they are walked, since whole they are tens of megabytes."""

    rows: Sequence[QueueRow]
    request: QueueRequest
    corpus: Corpus
    gates: Mapping[str, Gate]
    digests: Mapping[str, str]

    def __iter__(self) -> Iterator[QueueEntryJson]:
        reader = FindingReader(self.corpus, digests=self.digests)
        for part in batched(self.rows, _AT_ONCE):
            shown = _shown(part, reader, self.request)
            ids = [row.pair_id for row, _items in shown] if self.request.with_rationale else []
            texts = rationales(ids)
            for row, items in shown:
                digest = self.digests.get(row.note_path)
                yield _entry(row, items, self.gates[row.gate_path], digest, texts.get(row.pair_id))


def _shown(
    rows: Sequence[QueueRow], reader: FindingReader, request: QueueRequest
) -> list[tuple[QueueRow, list[QueueFindingJson]]]:
    states = _words(request.states)
    severities = _words(request.severities or Severity)
    shown = []
    for row, findings in zip(rows, reader.read_each(rows), strict=True):
        kept = [
            finding
            for finding in findings
            if finding.status in states and finding.severity in severities
        ]
        if kept or _stands_alone(findings, request):
            shown.append((row, kept))
    return shown


def _stands_alone(findings: Sequence[QueueFindingJson], request: QueueRequest) -> bool:
    """Whether an entry is shown for its decision: its review lists no finding that has a state."""
    return not findings and not request.severities and DispositionState.OPEN in request.states


def _gates(corpus: Corpus, request: QueueRequest) -> dict[str, Gate]:
    catalog = corpus.gates
    gates = catalog.resolve(request.gates) if request.gates else catalog.gates
    return {gate.path: gate for gate in gates}


def _unusable_gates(corpus: Corpus, request: QueueRequest) -> tuple[Problem, ...]:
    catalog = corpus.gates
    problems = catalog.problems_of(request.gates) if request.gates else catalog.problems
    return tuple(problem for problem in problems if problem.skipped)


def _hidden(rows: Iterable[QueueRow], unusable: Sequence[str]) -> Mapping[str, int]:
    """The rows by gates that are there and cannot be used, counted by decision."""
    by_gate = [row for row in rows if is_below(row.gate_path, unusable)] if unusable else []
    last = {(row.note_path, row.gate_path): row.decision for row in by_gate}
    return Counter(last.values())


def _latest(rows: Iterable[QueueRow], gates: Mapping[str, Gate]) -> Iterable[QueueRow]:
    """The last row of each note and gate; none where the gate is another than the review's."""
    digests = {path: gate.sha256 for path, gate in gates.items()}
    found = {
        (row.note_path, row.gate_path): row
        for row in rows
        if digests.get(row.gate_path) == row.gate_sha256
    }
    return found.values()


def _words(members: Iterable[TextChoices]) -> frozenset[str]:
    """What the store and documents call these; a plain word is found faster than a member."""
    return frozenset(member.value for member in members)


def _entry(
    row: QueueRow,
    findings: list[QueueFindingJson],
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
        note_changed_since=note_sha256 != row.note_sha256,
        later_pass_in=row.passed_in,
        findings=findings,
        rationale=rationale,
    )
