"""Take in reviews that a caller gives as data, by the same ingest as those that are read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from review.documents.typed_reviews import ReviewBlockJson
from review.errors import InputRejected
from review.ingest.ingest import ingest_job
from review.ingest.load import IngestRequest
from review.ingest.parse import names_of, write_blocks
from review.jobs.board import require_job
from review.jobs.job_documents import IngestedJobJson
from review.protocol.output import strip_escapes
from review.protocol.typed_review import WHOLE_NOTE, TypedFinding, TypedReview
from review.settings.config import Config
from review.vocabulary import Decision, Severity


class BadBlock(InputRejected):
    """A review is for a pair that the job does not have, or for one that has a review already."""


def submit_reviews(
    job_id: int, blocks: Sequence[ReviewBlockJson], *, actor: str, config: Config, now: datetime
) -> IngestedJobJson:
    """Store the reviews of a job, or of some of its pairs; raises as `ingest_job` does.

    :raises BadBlock: an ordinal is none of the job's pairs, or occurs twice; nothing is stored.
    """
    job = require_job(job_id)
    pairs = job.pairs.select_related("note", "gate")
    names = names_of(pairs, gates_folder=config.gates_folder)
    typed: dict[int, TypedReview] = {}
    for place, block in enumerate(blocks):
        if block.ordinal not in names or block.ordinal in typed:
            why = "stands twice" if block.ordinal in typed else f"is none of 1 to {len(names)}"
            raise BadBlock(f"blocks[{place}]: ordinal {block.ordinal} {why}; nothing was stored")
        typed[block.ordinal] = _typed(block)
    outputs = {job_id: write_blocks(typed, token=job.sentinel_token, names=names)}
    request = IngestRequest(actor=actor, outputs=outputs, typed=typed)
    return ingest_job(job_id, request=request, config=config, now=now)


def _typed(block: ReviewBlockJson) -> TypedReview:
    """Make every text one paragraph, so that none of its lines can be read as another part."""
    return TypedReview(
        decision=Decision(block.decision),
        findings=tuple(
            TypedFinding(Severity(item.severity), _line(item.text), _line(item.quote), WHOLE_NOTE)
            for item in block.findings
        ),
        summary=_line(block.summary),
        suggestion=_line(block.revision) or "None.",
    )


def _line(text: str) -> str:
    return " ".join(strip_escapes(text).replace("\0", " ").split())
