"""The index of current acceptances as CSV, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from review.integrations.csv_cells import safe_cell
from review.queries.exporting import ExportedReview

COLUMNS = (
    "note_path",
    "gate_id",
    "gate_path",
    "gate_hash",
    "note_hash",
    "model_partition",
    "decision",
    "kind",
    "recorded_at",
    "review_pair_id",
)


def gate_csv(reviews: Iterable[ExportedReview]) -> Iterator[str]:
    """A header and a row for each review, one line at a time."""
    yield _row(COLUMNS)
    for review in reviews:
        yield _row([safe_cell(getattr(review, name)) for name in COLUMNS])


def _row(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()
