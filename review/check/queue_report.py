"""The queue as a report, for the formats of other tools."""

from __future__ import annotations

from review.check.documents import CheckFindingJson, CheckJson, Report
from review.documents.problems import problem_json
from review.git import prefix_of
from review.knowledge_base import Corpus
from review.queue.entries import WarnQueue
from review.settings.config import Config


def queue_report(queue: WarnQueue, corpus: Corpus, *, config: Config) -> Report:
    """Return the findings of notes that are there."""
    entries = list(queue.entries)
    findings = [
        CheckFindingJson(
            note_path=entry.note_path,
            gate_id=entry.gate_id,
            model_partition=entry.model_partition,
            severity=item.severity,
            text=item.text,
            quote=item.quote,
            line=item.line_now,
            fingerprint=item.fingerprint,
        )
        for entry in entries
        for item in entry.findings
    ]
    pairs = tuple((entry.note_path, entry.gate_id) for entry in entries)
    document = CheckJson(
        notes=len({note for note, _gate in pairs}),
        gates=len({gate for _note, gate in pairs}),
        pairs=len(pairs),
        findings=findings,
        stale=[],
        problems=[problem_json(problem) for problem in queue.problems],
        notices=[],
    )
    return Report(document, corpus.gates.gates, pairs, prefix_of(config.root))
