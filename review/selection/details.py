"""What stale pairs were accepted with: digests, moments, the change since, and the diffs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from review.documents.base import timestamp
from review.domain.diffs.lines import unified_diff
from review.domain.diffs.words import changed_words, word_diff
from review.domain.regions import Regions, regions_of
from review.domain.trivial_change import Change, as_gate_sees, body_ratio, changed_regions
from review.knowledge_base import Corpus
from review.knowledge_base.gate_catalog import Gate, UnknownGate
from review.knowledge_base.notes import NoteFacts
from review.knowledge_base.reader import UnreadableFile
from review.models import CurrentAcceptance, FileSnapshot, batched
from review.selection.documents import ChangeJson, DiffJson, TargetJson
from review.selection.freshness import NoteStaleness, StaleGate
from review.vocabulary import REQUESTED, Staleness


@dataclass(frozen=True, slots=True)
class Baseline:
    """The current acceptance of one pair; `evidence_snapshot_id` is the text really reviewed."""

    note_sha256: str
    gate_sha256: str
    accepted_at: datetime
    review_pair_id: int | None
    evidence_snapshot_id: int


@dataclass(frozen=True)
class Details:
    """Baselines of a chunk of notes, by note and gate path."""

    reader: DetailReader
    baselines: Mapping[tuple[str, str], Baseline]

    def target(self, note: NoteFacts, stale: StaleGate, *, mode: str) -> TargetJson:
        """The target of one pair."""
        gate = stale.gate
        baseline = self.baselines.get((note.path, gate.path))
        reasons = [reason.value for reason in stale.reasons]
        if mode == REQUESTED:
            reasons.insert(0, REQUESTED)
        return TargetJson(
            note_path=note.path,
            gate_path=gate.path,
            gate_id=gate.gate_id,
            lens=gate.lens,
            reason=reasons[0],
            reasons=reasons,
            note_sha256=note.sha256,
            gate_sha256=gate.sha256,
            accepted_note_sha256=baseline.note_sha256 if baseline else None,
            accepted_gate_sha256=baseline.gate_sha256 if baseline else None,
            accepted_at=timestamp(baseline.accepted_at) if baseline else None,
            accepted_review_pair_id=baseline.review_pair_id if baseline else None,
            open_review_job_id=self.reader.open_jobs.get((note.path, gate.path)),
            change=self._change(note, stale, baseline),
        )

    def _change(
        self, note: NoteFacts, stale: StaleGate, baseline: Baseline | None
    ) -> ChangeJson | None:
        if baseline is None or Staleness.NOTE_CHANGED not in stale.reasons:
            return None
        change = self.reader.change(note, stale.gate, baseline.evidence_snapshot_id)
        if change is None:
            return None
        return ChangeJson(
            watched=[region.value for region in change.watched],
            body_ratio=None if change.body_ratio is None else round(change.body_ratio, 4),
            trivial=change.trivial,
        )


class DetailReader:
    """Reads baselines for chunks of notes and measures changes once per note and baseline."""

    def __init__(
        self,
        corpus: Corpus,
        *,
        model_partition: str | None,
        open_jobs: Mapping[tuple[str, str], int],
    ) -> None:
        """Read for one partition; None has no baselines."""
        self._corpus = corpus
        self._partition = model_partition
        self.open_jobs = open_jobs
        self._regions_of_snapshot = lru_cache(maxsize=512)(_snapshot_regions)
        self._regions_of_note = lru_cache(maxsize=512)(self._read_regions)
        self._ratio = lru_cache(maxsize=512)(self._measure_ratio)

    def read(self, notes: Sequence[NoteStaleness]) -> Details:
        """Baselines of the pairs of `notes` that have one."""
        if self._partition is None:
            return Details(self, {})
        paths = [
            item.note.path
            for item in notes
            if item.fresh or any(stale.reasons[0] != _MISSING for stale in item.stale)
        ]
        found: dict[tuple[str, str], Baseline] = {}
        for chunk in batched(paths, 200):
            rows = CurrentAcceptance.objects.of_partition(self._partition).filter(
                note__path__in=chunk
            )
            for note_path, gate_path, *values in rows.values_list(*_COLUMNS).iterator():
                note_sha, gate_sha, at, pair_id, pair_snapshot, snapshot = values
                found[note_path, gate_path] = Baseline(
                    note_sha, gate_sha, at, pair_id, pair_snapshot or snapshot
                )
        return Details(self, found)

    def change(self, note: NoteFacts, gate: Gate, snapshot_id: int) -> Change | None:
        """The note's change since the snapshot, as the gate sees it; None when it vanished."""
        after = self._regions_of_note(note)
        if after is None:
            return None
        before = self._regions_of_snapshot(snapshot_id)
        return as_gate_sees(
            changed=changed_regions(before, after),
            ratio=lambda: self._ratio(note, snapshot_id),
            watches=gate.watches,
            rewrite_threshold=gate.rewrite_threshold,
        )

    def _measure_ratio(self, note: NoteFacts, snapshot_id: int) -> float:
        after = self._regions_of_note(note)
        before = self._regions_of_snapshot(snapshot_id)
        return body_ratio(before.body, after.body if after is not None else "")

    def _read_regions(self, note: NoteFacts) -> Regions | None:
        try:
            return regions_of(self._corpus.read_note(note.path).text)
        except UnreadableFile:
            return None


class DiffLedger:
    """Remembers which diffs targets named, and reads each once."""

    def __init__(self, corpus: Corpus) -> None:
        """Start empty."""
        self._corpus = corpus
        self._named: dict[tuple[str, str], bool] = {}

    def note(self, target: TargetJson) -> None:
        """Take down the diffs that explain the target."""
        if target.accepted_note_sha256 not in (None, target.note_sha256):
            self._named[target.note_path, target.accepted_note_sha256 or ""] = True
        if target.accepted_gate_sha256 not in (None, target.gate_sha256):
            self._named[target.gate_path, target.accepted_gate_sha256 or ""] = False

    def read(self) -> Iterator[DiffJson]:
        """The diffs in order of path and accepted text; a file that vanished has none."""
        for (path, sha256), is_note in sorted(self._named.items()):
            try:
                now = self._corpus.read_note(path) if is_note else self._corpus.gate(path)
            except (UnreadableFile, UnknownGate):
                continue
            before = FileSnapshot.objects.values_list("text", flat=True).get(
                path__path=path, content_sha256=sha256
            )
            diff = unified_diff(before, now.text, path=path)
            yield DiffJson(
                path=path,
                accepted_sha256=sha256,
                sha256=now.sha256,
                diff=diff.text,
                words=changed_words(word_diff(before, now.text)),
                truncated=diff.truncated,
            )


_MISSING = Staleness.MISSING_REVIEW
_COLUMNS = (
    "note__path",
    "gate__path",
    "note_snapshot__content_sha256",
    "gate_snapshot__content_sha256",
    "event__accepted_at",
    "event__review_pair_id",
    "event__review_pair__note_snapshot_id",
    "note_snapshot_id",
)


def _snapshot_regions(snapshot_id: int) -> Regions:
    return regions_of(FileSnapshot.objects.values_list("text", flat=True).get(pk=snapshot_id))
