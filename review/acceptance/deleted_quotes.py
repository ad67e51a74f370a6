"""Open findings whose quote an edit of the note has deleted."""

from __future__ import annotations

from collections.abc import Sequence

from review.findings.documents import QueueFindingJson
from review.findings.states import FindingReader, ReviewedPair
from review.knowledge_base import Corpus, UnreadableFile
from review.models import ReviewPair, batched
from review.protocol.quote_location import quote_lines
from review.selection.documents import TargetJson
from review.vocabulary import DispositionState

Key = tuple[str, str]


def find_deleted_quotes(
    corpus: Corpus, targets: Sequence[TargetJson]
) -> dict[Key, QueueFindingJson]:
    """The first finding with such a quote, of each (note path, gate path) that has one.

    A quote is deleted if it stood in the reviewed text and is not where it was any more; one that
    still stands as often as it did has moved.
    """
    found: dict[Key, QueueFindingJson] = {}
    for chunk in batched(targets, 200):
        pair_ids = [target.accepted_review_pair_id or 0 for target in chunk]
        rows = ReviewPair.objects.select_related("note", "gate", "note_snapshot")
        pairs = {pair.pk: pair for pair in rows.filter(pk__in=pair_ids)}
        judged = [
            (target, pairs[pair_id])
            for target, pair_id in zip(chunk, pair_ids, strict=True)
            if pair_id in pairs
        ]
        reader = FindingReader(
            corpus, digests={target.note_path: target.note_sha256 for target in chunk}
        )
        findings = reader.read_each([_reviewed(target, pair) for target, pair in judged])
        for (target, pair), of_pair in zip(judged, findings, strict=True):
            suspects = [
                finding
                for finding in of_pair
                if finding.line_now is None and finding.status == DispositionState.OPEN
            ]
            if deleted := _first_deleted(corpus, target.note_path, pair, suspects):
                found[target.note_path, target.gate_path] = deleted
    return found


def _reviewed(target: TargetJson, pair: ReviewPair) -> ReviewedPair:
    return ReviewedPair(
        pair_id=pair.pk,
        note_path=target.note_path,
        gate_path=target.gate_path,
        moved=(pair.note.path, pair.gate.path) != (target.note_path, target.gate_path),
        note_sha256=pair.note_snapshot.content_sha256,
    )


def _first_deleted(
    corpus: Corpus, note_path: str, pair: ReviewPair, findings: list[QueueFindingJson]
) -> QueueFindingJson | None:
    if not findings:
        return None
    try:
        now = corpus.read_note(note_path).text
    except UnreadableFile:
        return None
    before = pair.note_snapshot.text
    return next(
        (
            finding
            for finding in findings
            if len(quote_lines(now, finding.quote)) < len(quote_lines(before, finding.quote))
        ),
        None,
    )
