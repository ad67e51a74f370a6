"""Compare the accepted or reviewed texts of a pair with the current files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from review.domain.diffs.words import WordDiff, word_diff
from review.domain.paths import normalise_path
from review.errors import InputRejected
from review.findings.states import QueueFindingJson, read_findings_now
from review.knowledge_base import Corpus, Gate, NoteText, UnreadableFile
from review.models import CurrentAcceptance, FileSnapshot, ReviewPair
from review.protocol.quote_location import follow_quote
from review.selection.documents import SelectionJson
from review.selection.select import SelectionRequest, select_targets
from review.vocabulary import DispositionState

_LOADED = ("note", "gate", "note_snapshot", "gate_snapshot")


@dataclass(frozen=True)
class FileChange:
    """A file then and now; `diff` is None when it is the same text, or gone (`now` is None)."""

    before: FileSnapshot
    now: str | None
    now_sha256: str | None
    diff: WordDiff | None = None

    def with_diff(self, keep: set[int]) -> FileChange:
        if self.now is None or self.before.text == self.now:
            return self
        diff = word_diff(self.before.text, self.now, keep=keep)
        return FileChange(self.before, self.now, self.now_sha256, diff)


@dataclass(frozen=True)
class PairChange:
    """The change of a pair since its acceptance; open findings with the earlier line they quote."""

    accepted: CurrentAcceptance
    gate_id: str
    note: FileChange
    gate: FileChange
    findings: list[tuple[QueueFindingJson, int | None]]

    @property
    def is_gone(self) -> bool:
        return self.note.now is None or self.gate.now is None

    @property
    def is_fresh(self) -> bool:
        return self.note.diff is None and self.gate.diff is None and not self.is_gone


def read_pair_change(
    corpus: Corpus,
    note_path: str,
    gate_id: str,
    model_partition: str,
    *,
    since_review: bool,
    all_lines: bool,
) -> PairChange:
    """Compare with the accepted texts, or those of the review; `all_lines`: show equal ones too."""
    note_path, gate_path = normalise_path(note_path), corpus.config.gate_path(gate_id)
    rows = CurrentAcceptance.objects.of_partition(model_partition)
    of_review = (f"event__review_pair__{name}" for name in ("job", *_LOADED))
    rows = rows.select_related(*_LOADED, *of_review)
    row = rows.filter(note__path=note_path, gate__path=gate_path).first()
    if row is None:
        raise InputRejected(
            f"nothing was accepted for {note_path} and {gate_id} in {model_partition}",
            "nothing-accepted",
            hint="have the pair reviewed first",
        )
    pair = row.event.review_pair
    texts = pair if pair and since_review else row
    note = _change(texts.note_snapshot, corpus.read_note, note_path)
    findings = _open_findings(corpus, row, pair, note) if pair else []
    keep = {line for _finding, line in findings if line is not None}
    if all_lines:
        keep = set(range(1, note.before.text.count("\n") + 2))
    return PairChange(
        accepted=row,
        gate_id=gate_id,
        note=note.with_diff(keep),
        gate=_change(texts.gate_snapshot, corpus.gate, gate_path).with_diff(set()),
        findings=findings,
    )


def change_document(
    corpus: Corpus, note_path: str, gate_id: str, model_partition: str
) -> SelectionJson:
    """Return the selector's answer for the pair; a fresh one has no target."""
    selection = select_targets(
        corpus,
        SelectionRequest(
            gates=(gate_id,),
            notes=(note_path,),
            model_partition=model_partition,
            with_diffs=True,
        ),
    )
    document = selection.document()
    document.targets = list(selection.targets())
    document.diffs = list(selection.diffs())
    return document


def _change(before: FileSnapshot, read: Callable[[str], NoteText | Gate], path: str) -> FileChange:
    try:
        file = read(path)
    except UnreadableFile:
        return FileChange(before, None, None)
    return FileChange(before, file.text, file.sha256)


def _open_findings(
    corpus: Corpus, row: CurrentAcceptance, pair: ReviewPair, note: FileChange
) -> list[tuple[QueueFindingJson, int | None]]:
    reviewed = (pair, row.note.path, row.gate.path)
    digests = {row.note.path: note.now_sha256} if note.now_sha256 else {}
    (found,) = read_findings_now(corpus, [reviewed], digests=digests)
    judged = pair.note_snapshot.text
    return [
        (finding, follow_quote(judged, note.before.text, quote=finding.quote, line=finding.line))
        for finding in found
        if finding.status == DispositionState.OPEN
    ]
