"""One pair's texts then and now: what was accepted, what was judged, and what is on disk."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from review.documents.problems import problem_json
from review.domain.diffs.words import WordDiff, word_diff
from review.domain.paths import gate_path_of, normalise_path
from review.errors import InputRejected
from review.findings.documents import QueueFindingJson
from review.findings.states import FindingReader, ReviewedPair
from review.knowledge_base import Corpus, UnreadableFile
from review.models import CurrentAcceptance
from review.protocol.quote_location import follow_quote
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

    path: str
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
        """Whether both files are as they were."""
        return self.note.diff is None and self.gate.diff is None and not self.is_gone

    @property
    def is_gone(self) -> bool:
        """Whether one of the files is there no more."""
        return self.note.now is None or self.gate.now is None


def read_pair_change(corpus: Corpus, request: ChangeRequest, *, config: Config) -> PairChange:
    """The change of one pair since its text was accepted.

    :raises NothingAccepted: nothing was.
    :raises BadPath: a name is none below the root.
    """
    note_path = normalise_path(request.note_path)
    gate_path = gate_path_of(request.gate_id, gates_folder=config.gates_folder)
    row = _current(note_path, gate_path, request)
    pair = row.event.review_pair
    reviewed = pair is not None and request.against is Against.REVIEWED
    before = pair.note_snapshot if reviewed and pair is not None else row.note_snapshot
    gate_before = pair.gate_snapshot if reviewed and pair is not None else row.gate_snapshot
    note_now, note_sha256 = _read_note(corpus, note_path)
    findings = tuple(_findings(corpus, row, note_sha256, before.text))
    keep = {item.line for item in findings if item.line is not None}
    if request.all_lines:
        keep = set(range(1, before.text.count("\n") + 2))
    gate_now = _read_gate(corpus, gate_path)
    return PairChange(
        note_path=note_path,
        gate_path=gate_path,
        gate_id=request.gate_id,
        model_partition=request.model_partition,
        note=FileChange(
            path=note_path,
            before=before.text,
            before_snapshot_id=before.pk,
            now=note_now,
            now_sha256=note_sha256,
            diff=_diff(before.text, note_now, keep),
        ),
        gate=FileChange(
            path=gate_path,
            before=gate_before.text,
            before_snapshot_id=gate_before.pk,
            now=gate_now[0],
            now_sha256=gate_now[1],
            diff=_diff(gate_before.text, gate_now[0], set()),
        ),
        findings=findings,
        decision=row.decision,
        kind=row.event.kind,
        actor=row.event.actor,
        accepted_at=row.event.accepted_at,
        review_pair_id=row.event.review_pair_id,
        acked_since=pair is not None and pair.note_snapshot_id != row.note_snapshot_id,
    )


def change_document(corpus: Corpus, request: ChangeRequest) -> SelectionJson:
    """What the selector says of the pair; a fresh one has no target."""
    selection = select_targets(
        corpus,
        SelectionRequest(
            gates=(request.gate_id,),
            notes=(request.note_path,),
            model_partition=request.model_partition,
            with_diffs=True,
        ),
    )
    return SelectionJson(
        mode=selection.request.mode,
        model_partition=request.model_partition,
        targets=list(selection.targets()),
        diffs=list(selection.diffs()),
        counts=dict(selection.counts),
        problems=[problem_json(problem) for problem in selection.problems],
    )


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


def _read_note(corpus: Corpus, path: str) -> tuple[str | None, str | None]:
    try:
        note = corpus.read_note(path)
    except UnreadableFile:
        return None, None
    return note.text, note.sha256


def _read_gate(corpus: Corpus, path: str) -> tuple[str | None, str | None]:
    try:
        gate = corpus.gate(path)
    except UnreadableFile:
        return None, None
    return gate.text, gate.sha256


def _diff(before: str, now: str | None, keep: set[int]) -> WordDiff | None:
    if now is None or before == now:
        return None
    return word_diff(before, now, keep=keep)


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
