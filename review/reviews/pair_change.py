"""Compare the accepted or reviewed texts of a pair with the current files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from review.domain.diffs.words import WordDiff, word_diff
from review.domain.paths import gate_path_of, normalise_path
from review.errors import InputRejected
from review.findings.documents import QueueFindingJson
from review.findings.states import ReviewedPair, read_findings_now
from review.knowledge_base import Corpus, Gate, NoteText, UnreadableFile
from review.models import CurrentAcceptance, FileSnapshot, ReviewPair
from review.protocol.quote_location import follow_quote
from review.selection.documents import SelectionJson
from review.selection.select import SelectionRequest, select_targets
from review.settings.config import Config
from review.vocabulary import DispositionState


class NothingAccepted(InputRejected):
    """No text of this pair was accepted in this partition, so there is nothing to compare with."""


class Against(StrEnum):
    """The earlier text that the current one is compared with."""

    ACCEPTED = "accepted"
    REVIEWED = "reviewed"


@dataclass(frozen=True)
class ChangeRequest:
    """A pair, and how its change is shown.

    :param all_lines: equal lines too.
    """

    note_path: str
    gate_id: str
    model_partition: str
    against: Against = Against.ACCEPTED
    all_lines: bool = False


@dataclass(frozen=True)
class FileChange:
    """A file then and now; `diff` is None when it is the same text, or gone (`now` is None)."""

    before: FileSnapshot
    now: str | None
    now_sha256: str | None
    diff: WordDiff | None


@dataclass(frozen=True)
class QuotedFinding:
    """An open finding, and the line of the earlier text that it quotes."""

    finding: QueueFindingJson
    line: int | None


@dataclass(frozen=True)
class PairChange:
    """The change of a pair since its acceptance."""

    accepted: CurrentAcceptance
    gate_id: str
    note: FileChange
    gate: FileChange
    findings: tuple[QuotedFinding, ...]

    @property
    def is_gone(self) -> bool:
        return self.note.now is None or self.gate.now is None

    @property
    def is_fresh(self) -> bool:
        return self.note.diff is None and self.gate.diff is None and not self.is_gone


def read_pair_change(corpus: Corpus, request: ChangeRequest, *, config: Config) -> PairChange:
    """Read the change of one pair since its text was accepted.

    :raises NothingAccepted: nothing was.
    :raises BadPath: a name is none below the root.
    """
    note_path = normalise_path(request.note_path)
    gate_path = gate_path_of(request.gate_id, gates_folder=config.gates_folder)
    row = _current(note_path, gate_path, request)
    texts: CurrentAcceptance | ReviewPair = row
    if request.against is Against.REVIEWED and row.event.review_pair is not None:
        texts = row.event.review_pair
    before = texts.note_snapshot
    note_now = _read(corpus.read_note, note_path)
    findings = tuple(_findings(corpus, row, note_now[1], before.text))
    keep = {item.line for item in findings if item.line is not None}
    if request.all_lines:
        keep = set(range(1, before.text.count("\n") + 2))
    return PairChange(
        accepted=row,
        gate_id=request.gate_id,
        note=_file_change(before, *note_now, keep=keep),
        gate=_file_change(texts.gate_snapshot, *_read(corpus.gate, gate_path), keep=set()),
        findings=findings,
    )


def change_document(corpus: Corpus, request: ChangeRequest) -> SelectionJson:
    """Return the selector's answer for the pair; a fresh one has no target."""
    selection = select_targets(
        corpus,
        SelectionRequest(
            gates=(request.gate_id,),
            notes=(request.note_path,),
            model_partition=request.model_partition,
            with_diffs=True,
        ),
    )
    document = selection.document()
    document.targets = list(selection.targets())
    document.diffs = list(selection.diffs())
    return document


def _current(note_path: str, gate_path: str, request: ChangeRequest) -> CurrentAcceptance:
    row = (
        CurrentAcceptance.objects.of_partition(request.model_partition)
        .filter(note__path=note_path, gate__path=gate_path)
        .select_related(
            "note",
            "gate",
            "note_snapshot",
            "gate_snapshot",
            "event__review_pair__note",
            "event__review_pair__gate",
            "event__review_pair__job",
            "event__review_pair__note_snapshot",
            "event__review_pair__gate_snapshot",
        )
        .first()
    )
    if row is None:
        raise NothingAccepted(
            f"nothing was accepted for {note_path} and {request.gate_id}"
            f" in {request.model_partition}",
            hint="have the pair reviewed first",
        )
    return row


def _read(read: Callable[[str], NoteText | Gate], path: str) -> tuple[str | None, str | None]:
    """Return the text of a file and its digest; None where it is gone or cannot be used."""
    try:
        file = read(path)
    except UnreadableFile:
        return None, None
    return file.text, file.sha256


def _file_change(
    before: FileSnapshot, now: str | None, sha256: str | None, *, keep: set[int]
) -> FileChange:
    same = now is None or before.text == now
    diff = None if same else word_diff(before.text, now or "", keep=keep)
    return FileChange(before, now, sha256, diff)


def _findings(
    corpus: Corpus, row: CurrentAcceptance, note_sha256: str | None, before: str
) -> list[QuotedFinding]:
    pair = row.event.review_pair
    if pair is None:
        return []
    reviewed = ReviewedPair(pair, row.note.path, row.gate.path)
    digests = {row.note.path: note_sha256} if note_sha256 else {}
    found = read_findings_now(corpus, [reviewed], digests=digests)[0]
    return [
        QuotedFinding(
            finding,
            follow_quote(pair.note_snapshot.text, before, quote=finding.quote, line=finding.line),
        )
        for finding in found
        if finding.status == DispositionState.OPEN
    ]
