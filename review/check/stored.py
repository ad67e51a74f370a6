"""The store's reviews in the form of a lock, and its queue in the form of a report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import msgspec
from msgspec.structs import asdict

from review.check.documents import CheckFindingJson, NotesCheckJson, Report
from review.check.lock import Lock, LockedFinding, LockedNote, LockedReview
from review.documents.base import from_row
from review.documents.problems import problem_json
from review.domain.problems import Problem
from review.findings.documents import QueueEntryJson
from review.git import prefix_of
from review.knowledge_base import Corpus, NoteFacts, NoteList
from review.models import CurrentAcceptance, KbPath, ModelPartition, NamedKeys
from review.queue.entries import read_warn_queue
from review.queue.queue import QueueFilter
from review.selection.path_filters import gate_label
from review.settings.config import Config
from review.vocabulary import Decision, DispositionState

_COLUMNS = (
    "note__path", "gate__path", "model_partition__name", "note_snapshot__content_sha256",
    "gate_snapshot__content_sha256", "decision",
)  # fmt: skip


def stored_lock(corpus: Corpus, notes: Sequence[NoteFacts]) -> Lock:
    """Return the current acceptances of notes, and the findings of the queue in every state.

    All decisions about a gate were made by one text of it: today's, if any was, else the one that
    was accepted last. Reviews by another text and of gates that are gone are left out.
    """
    models = dict(ModelPartition.objects.values_list("pk", "name")) if notes else {}
    rows = CurrentAcceptance.objects.filter(model_partition_id__in=list(models))
    paths = {note.path for note in notes}
    rows = rows.filter(note_id__in=NamedKeys(KbPath.objects.ids(paths).values()))
    today = {gate.gate_id: gate.sha256 for gate in corpus.gates.gates}
    accepted = [
        (note, gate_id, *others)
        for note, gate, *others in rows.order_by("event_id").values_list(*_COLUMNS)
        if (gate_id := gate_label(gate, corpus.gates.folder)) in today
    ]
    gates: dict[str, str] = {}
    for _note, gate_id, _model, _sha256, by_text, _decision in accepted:
        if gates.get(gate_id) != today[gate_id]:
            gates[gate_id] = by_text
    reviews: dict[str, dict[tuple[str, str], dict[str, Decision]]] = defaultdict(dict)
    for note, gate_id, model, sha256, by_text, decision in accepted:
        if gates[gate_id] == by_text:
            reviews[note].setdefault((model, sha256), {})[gate_id] = Decision(decision)
    findings = _findings(corpus, notes, sorted(models.values()))
    lines = {}
    for path, by in reviews.items():
        locked = [LockedReview(*key, dict(sorted(by[key].items()))) for key in sorted(by)]
        lines[path] = LockedNote(path, tuple(locked), tuple(findings[path]))
    return Lock(gates, lines)


def _findings(
    corpus: Corpus, notes: Sequence[NoteFacts], models: Sequence[str]
) -> dict[str, list[LockedFinding]]:
    wanted = QueueFilter(
        notes=tuple(note.path for note in notes),
        gates=tuple(gate.path for gate in corpus.gates.gates),  # muted ones only if named
        states=tuple(DispositionState.values),
    )
    listed = NoteList(tuple(notes), ())
    found: dict[str, list[LockedFinding]] = defaultdict(list)
    # Of all models at once the queue has one entry a pair.
    filters = [replace(wanted, partitions=(model,)) for model in models]
    queues = [read_warn_queue(corpus, one, listed=listed).entries for one in filters]
    for entry in sorted(chain(*queues), key=lambda entry: (entry.gate_id, entry.accepted_at or "")):
        keys = {"gate": entry.gate_id, "model": entry.model_partition}
        found[entry.note_path] += [
            msgspec.convert({**asdict(item), **keys, "state": item.status}, LockedFinding)
            for item in entry.findings
        ]
    return found


def queue_report(
    listed: Iterable[QueueEntryJson], problems: Sequence[Problem], corpus: Corpus, *, config: Config
) -> Report:
    """Return the findings of entries of the queue."""
    entries = list(listed)
    pairs = tuple((entry.note_path, entry.gate_id) for entry in entries)
    document = NotesCheckJson(
        notes=len({note for note, _gate in pairs}),
        gates=len({gate for _note, gate in pairs}),
        pairs=len(pairs),
        findings=[
            from_row(
                CheckFindingJson,
                item,
                note_path=entry.note_path,
                gate_id=entry.gate_id,
                model_partition=entry.model_partition,
                line=item.line_now,
            )
            for entry in entries
            for item in entry.findings
        ],
        stale=[],
        problems=[problem_json(problem) for problem in problems],
        notices=[],
    )
    return Report(document, corpus.gates.gates, pairs, prefix_of(config.root))
