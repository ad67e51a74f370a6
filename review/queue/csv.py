"""The warn queue as CSV, one row a finding, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from review.domain.printing import safe_cell
from review.findings.documents import QueueEntryJson, QueueFindingJson

COLUMNS = (
    "note_path", "gate_id", "model_partition", "decision", "review_pair_id", "accepted_at",
    "note_changed_since", "fingerprint", "severity", "status", "regressed", "line", "line_now",
    "text", "quote",
)  # fmt: skip


def queue_csv(entries: Iterable[QueueEntryJson]) -> str:
    """A header and a row for each finding; an entry without findings has one row without them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in entries:
        findings: list[QueueFindingJson | None] = [*entry.findings] or [None]
        for finding in findings:
            writer.writerow([safe_cell(value) for value in _cells(entry, finding)])
    return out.getvalue()


def _cells(entry: QueueEntryJson, finding: QueueFindingJson | None) -> list[object]:
    sources = (finding, entry)
    return [
        next((getattr(source, name) for source in sources if hasattr(source, name)), None)
        for name in COLUMNS
    ]
