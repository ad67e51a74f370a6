"""The queue as a report, for the formats of other tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from review.check.documents import CheckFindingJson, NotesCheckJson, Report
from review.documents.problems import problem_json
from review.domain.problems import Problem
from review.findings.documents import QueueEntryJson
from review.git import prefix_of
from review.knowledge_base import Corpus
from review.settings.config import Config


def queue_report(
    listed: Iterable[QueueEntryJson], problems: Sequence[Problem], corpus: Corpus, *, config: Config
) -> Report:
    """Return the findings of entries of the queue."""
    entries = list(listed)
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
    document = NotesCheckJson(
        notes=len({note for note, _gate in pairs}),
        gates=len({gate for _note, gate in pairs}),
        pairs=len(pairs),
        findings=findings,
        stale=[],
        problems=[problem_json(problem) for problem in problems],
        notices=[],
    )
    return Report(document, corpus.gates.gates, pairs, prefix_of(config.root))
