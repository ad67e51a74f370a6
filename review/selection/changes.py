"""Differences between notes and gates on disk and their stored texts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from review.domain.regions import Regions, regions_of
from review.domain.staleness import as_gate_sees
from review.knowledge_base import Corpus, Gate, NoteText, UnreadableFile
from review.models import FileSnapshot
from review.selection.documents import ChangeJson


def file_now(corpus: Corpus, path: str) -> NoteText | Gate | None:
    """Read the note or gate at `path`; None when it is gone or cannot be used."""
    is_gate = path.startswith(f"{corpus.gates.folder}/")
    try:
        return corpus.gate(path) if is_gate else corpus.read_note(path)
    except UnreadableFile:
        return None


class ChangeReader:
    """Measures the changes of notes as gates see them, each text read once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._before: dict[int, Regions] = {}
        self._after = lru_cache(maxsize=64)(self._regions_now)

    def load(self, snapshot_ids: Iterable[int]) -> None:
        """Read the texts that the next changes are measured since."""
        wanted = set(snapshot_ids)
        rows = (
            FileSnapshot.objects.filter(pk__in=wanted).values_list("pk", "text") if wanted else ()
        )
        self._before = {key: regions_of(text) for key, text in rows}

    def change(self, note_path: str, gate: Gate, *, since: int) -> ChangeJson | None:
        """Measure the note's change since a loaded snapshot; None when the note is gone."""
        before, after = self._before.get(since), self._after(note_path)
        if before is None or after is None:
            return None
        threshold = gate.rewrite_threshold
        change = as_gate_sees(before, after, watches=gate.watches, rewrite_threshold=threshold)
        return ChangeJson(
            watched=[region.value for region in change.watched],
            body_ratio=round(change.body_ratio, 4),
            trivial=change.trivial,
        )

    def _regions_now(self, note_path: str) -> Regions | None:
        now = file_now(self._corpus, note_path)
        return regions_of(now.text) if now else None
