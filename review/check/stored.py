"""The reviews of the store in the form of a lock."""

from __future__ import annotations

from collections.abc import Sequence

from review.check.lock import Lock, LockedFinding, LockedNote, LockedReview
from review.knowledge_base import Corpus, NoteFacts, NoteList
from review.models import CurrentAcceptance, KbPath, ModelPartition, NamedKeys
from review.queue.entries import read_warn_queue
from review.queue.queue import QueueFilter
from review.selection.path_filters import gate_label
from review.vocabulary import Decision, DispositionState, Severity

_COLUMNS = (
    "note__path", "gate__path", "model_partition__name", "note_snapshot__content_sha256",
    "gate_snapshot__content_sha256", "decision",
)  # fmt: skip
_NAMED_AT_MOST = 400


def stored_lock(corpus: Corpus, notes: Sequence[NoteFacts]) -> Lock:
    """Return the current acceptances of notes, and the findings of the queue in every state.

    All decisions about a gate were made by one text of it: today's, if any was, else the one that
    was accepted last. Reviews by another text and of gates that are gone are left out.
    """
    models = dict(ModelPartition.objects.values_list("pk", "name"))
    rows = CurrentAcceptance.objects.filter(model_partition_id__in=list(models))
    paths = {note.path for note in notes}
    if len(paths) <= _NAMED_AT_MOST:
        rows = rows.filter(note_id__in=NamedKeys(KbPath.objects.ids(paths).values()))
    today = {gate.gate_id: gate.sha256 for gate in corpus.gates.gates}
    accepted = [
        (note, gate_id, *others)
        for note, gate, *others in rows.order_by("event_id").values_list(*_COLUMNS)
        if note in paths and (gate_id := gate_label(gate, corpus.gates.folder)) in today
    ]
    gates: dict[str, str] = {}
    for _note, gate_id, _model, _sha256, by_text, _decision in accepted:
        if gates.get(gate_id) != today[gate_id]:
            gates[gate_id] = by_text
    reviews: dict[str, dict[tuple[str, str], dict[str, Decision]]] = {path: {} for path in paths}
    for note, gate_id, model, sha256, by_text, decision in accepted:
        if gates[gate_id] == by_text:
            reviews[note].setdefault((model, sha256), {})[gate_id] = Decision(decision)
    findings = _findings(corpus, notes, sorted(models.values()))
    return Lock(
        gates,
        {
            path: LockedNote(
                path,
                tuple(LockedReview(*key, dict(sorted(by[key].items()))) for key in sorted(by)),
                tuple(findings.get(path, ())),
            )
            for path, by in reviews.items()
            if by
        },
    )  # fmt: skip


def _findings(
    corpus: Corpus, notes: Sequence[NoteFacts], models: Sequence[str]
) -> dict[str, list[LockedFinding]]:
    paths = tuple(note.path for note in notes) if len(notes) <= _NAMED_AT_MOST else ()
    listed, states = NoteList(tuple(notes), ()), tuple(DispositionState.values)
    entries = [
        entry
        for model in models
        for entry in read_warn_queue(
            corpus, QueueFilter(notes=paths, partitions=(model,), states=states), listed=listed
        ).entries
    ]
    found: dict[str, list[LockedFinding]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.gate_id, entry.accepted_at or "")):
        found.setdefault(entry.note_path, []).extend(
            LockedFinding(
                gate=entry.gate_id,
                model=entry.model_partition,
                severity=Severity(item.severity),
                fingerprint=item.fingerprint,
                line=item.line,
                text=item.text,
                quote=item.quote,
                state=DispositionState(item.status),
            )
            for item in entry.findings
        )
    return found
