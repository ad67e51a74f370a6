"""One pair's texts then and now: what was accepted, what was judged, and what is on disk."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from review.domain.diffs.words import WordDiff, word_diff
from review.domain.paths import gate_path_of, normalise_path
from review.errors import InputRejected
from review.findings.documents import QueueFindingJson
from review.findings.states import FindingReader, ReviewedPair
from review.knowledge_base import Corpus, Gate, NoteText
from review.models import CurrentAcceptance, FileSnapshot
from review.protocol.quote_location import follow_quote
from review.selection.changes import file_now
from review.selection.documents import SelectionJson
from review.selection.select import SelectionRequest, select_targets
from review.settings.config import Config
from review.vocabulary import DispositionState


class NothingAccepted(InputRejected):
    """No text of this pair was accepted in this partition, so there is nothing to compare with."""


class Against(StrEnum):
    """Which earlier text today's is compared with."""

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

    before: str
    before_snapshot_id: int
    now: str | None
    now_sha256: str | None
    diff: WordDiff | None


@dataclass(frozen=True)
class OpenFinding:
    """An open finding, and the line of the earlier text that it quotes."""

    finding: QueueFindingJson
    line: int | None


@dataclass(frozen=True)
class PairChange:
    """What changed for a pair since its acceptance.

    :param acked_since: the accepted text is not the one that the review judged.
    """

    note_path: str
    gate_path: str
    gate_id: str
    model_partition: str
    note: FileChange
    gate: FileChange
    findings: tuple[OpenFinding, ...]
    decision: str
    kind: str
    actor: str
    accepted_at: datetime
    review_pair_id: int | None
    acked_since: bool

    @property
    def is_fresh(self) -> bool:
        return self.note.diff is None and self.gate.diff is None and not self.is_gone

    @property
    def is_gone(self) -> bool:
        return self.note.now is None or self.gate.now is None


def read_pair_change(corpus: Corpus, request: ChangeRequest, *, config: Config) -> PairChange:
    """Compare one pair's texts with those that were accepted, or reviewed.

    :raises NothingAccepted: nothing was.
    :raises BadPath: a name is none below the root.
    """
    note_path = normalise_path(request.note_path)
    gate_path = gate_path_of(request.gate_id, gates_folder=config.gates_folder)
    row = _current(note_path, gate_path, request)
    pair = row.event.review_pair
    source = pair if pair is not None and request.against is Against.REVIEWED else row
    before = source.note_snapshot
    now = file_now(corpus, note_path)
    findings = tuple(_findings(corpus, row, now.sha256 if now else None, before.text))
    keep = {item.line for item in findings if item.line is not None}
    if request.all_lines:
        keep = set(range(1, before.text.count("\n") + 2))
    return PairChange(
        note_path=note_path,
        gate_path=gate_path,
        gate_id=request.gate_id,
        model_partition=request.model_partition,
        note=_file_change(before, now, keep),
        gate=_file_change(source.gate_snapshot, file_now(corpus, gate_path), set()),
        findings=findings,
        decision=row.decision,
        kind=row.event.kind,
        actor=row.event.actor,
        accepted_at=row.event.accepted_at,
        review_pair_id=row.event.review_pair_id,
        acked_since=pair is not None and pair.note_snapshot_id != row.note_snapshot_id,
    )


def change_document(corpus: Corpus, request: ChangeRequest) -> SelectionJson:
    """Return the selector's document of the pair; a fresh one has no target."""
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


def _file_change(before: FileSnapshot, now: NoteText | Gate | None, keep: set[int]) -> FileChange:
    return FileChange(
        before=before.text,
        before_snapshot_id=before.pk,
        now=now.text if now else None,
        now_sha256=now.sha256 if now else None,
        diff=word_diff(before.text, now.text, keep=keep)
        if now and now.text != before.text
        else None,
    )


def _findings(
    corpus: Corpus, row: CurrentAcceptance, note_sha256: str | None, before: str
) -> list[OpenFinding]:
    pair = row.event.review_pair
    if pair is None:
        return []
    reviewed = ReviewedPair.of(pair, note_path=row.note.path, gate_path=row.gate.path)
    digests = {row.note.path: note_sha256} if note_sha256 else {}
    found = FindingReader(corpus, digests=digests).read_each([reviewed])[0]
    return [
        OpenFinding(
            finding,
            follow_quote(pair.note_snapshot.text, before, quote=finding.quote, line=finding.line),
        )
        for finding in found
        if finding.status == DispositionState.OPEN
    ]
