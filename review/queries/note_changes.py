"""Measures how much one note changed since the texts its reviews judged; bounded, for a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from review.contracts.selection import ChangeJson
from review.corpus import Corpus
from review.domain.regions import Regions, regions_of
from review.domain.trivial_change import as_gate_sees, body_ratio, changed_regions
from review.models import FileSnapshot
from review.queries.note_rows import PairRow
from review.vocabulary import Staleness

# Bytes of kept texts that one page reads and compares; the rest stays unmeasured.
_MAX_BYTES = 2_000_000


class ChangeMeter:
    """Compares a note's text with kept texts of it, each once."""

    def __init__(self, text: str, corpus: Corpus) -> None:
        """Measure against `text`, as the gates of `corpus` see it."""
        self._text = text
        self._gates = {gate.path: gate for gate in corpus.gates.gates}
        self._ratios: dict[int, float] = {}

    def measured(self, rows: Sequence[PairRow]) -> Iterator[PairRow]:
        """The rows, those that are stale since the note changed with how it changed."""
        changed = [row for row in rows if Staleness.NOTE_CHANGED in row.reasons and not row.gone]
        before = _regions(row.evidence_snapshot_id for row in changed)
        after = regions_of(self._text) if before else None
        for row in rows:
            known = before.get(row.evidence_snapshot_id or 0)
            if after is None or known is None or Staleness.NOTE_CHANGED not in row.reasons:
                yield row
            else:
                yield replace(row, change=self._change(row, known, after))

    def _change(self, row: PairRow, before: Regions, after: Regions) -> ChangeJson | None:
        gate = self._gates.get(row.gate_path)
        if gate is None:
            return None
        change = as_gate_sees(
            changed=changed_regions(before, after),
            ratio=lambda: self._ratio(row.evidence_snapshot_id or 0, before, after),
            watches=gate.watches,
            rewrite_threshold=gate.rewrite_threshold,
        )
        return ChangeJson(
            watched=[region.value for region in change.watched],
            body_ratio=None if change.body_ratio is None else round(change.body_ratio, 4),
            trivial=change.trivial,
        )

    def _ratio(self, snapshot_id: int, before: Regions, after: Regions) -> float:
        if snapshot_id not in self._ratios:
            self._ratios[snapshot_id] = body_ratio(before.body, after.body)
        return self._ratios[snapshot_id]


def _regions(snapshot_ids: Iterable[int | None]) -> dict[int, Regions]:
    """Kept texts cut into regions, the newest first, as many as a page can afford."""
    wanted = {key for key in snapshot_ids if key is not None}
    sizes = FileSnapshot.objects.filter(pk__in=wanted).order_by("-pk")
    chosen: list[int] = []
    left = _MAX_BYTES
    for key, size in sizes.values_list("pk", "byte_size"):
        left -= size
        if left < 0 and chosen:
            break
        chosen.append(key)
    texts = FileSnapshot.objects.filter(pk__in=chosen).values_list("pk", "text")
    return {key: regions_of(text) for key, text in texts}
