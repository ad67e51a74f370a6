"""Makes the job that takes a failed one's place: the same pairs, from today's texts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from review.errors import Conflict
from review.jobs.factory import Dropped, JobDraft, JobMaker
from review.knowledge_base import Corpus, UnreadableFile
from review.models import ReviewJob, ReviewPair
from review.selection.note_cache import NoteShelf, PairRequest
from review.settings.config import Config
from review.vocabulary import Grouping, PairStatus


class NothingToReplace(Conflict):
    """No pair of the job can be reviewed any more."""


@dataclass(frozen=True)
class Unavailable:
    """A pair of the old job that the new one leaves out, and why."""

    note_path: str
    gate_path: str
    reason: str


@dataclass(frozen=True)
class Replacement:
    """The new job, and what it leaves out."""

    job_id: int
    left_out: tuple[Unavailable, ...]


def create_replacement(
    old: ReviewJob, *, corpus: Corpus, config: Config, actor: str, now: datetime
) -> Replacement:
    """Make a queued job for the pairs of `old` that have no review. Call inside a transaction.

    `old` is loaded with its partition, and was failed in the same transaction. Pairs that another
    open job has too are asked for all the same: that was somebody's choice when `old` was made.

    :raises NothingToReplace: each pair's note or gate is gone or cannot be reviewed.
    """
    pairs: list[PairRequest] = []
    left_out: list[Unavailable] = []
    rows = ReviewPair.objects.filter(job=old).exclude(status=PairStatus.COMPLETED)
    for note_path, gate_path in rows.order_by("ordinal").values_list("note__path", "gate__path"):
        try:
            pairs.append(PairRequest(note_path, corpus.gate(gate_path)))
        except UnreadableFile as refused:
            left_out.append(Unavailable(note_path, gate_path, refused.problem.code.value))
    draft = JobDraft(
        model_partition=old.model_partition.name,
        grouping=Grouping(old.grouping),
        lens=old.lens,
        pairs=tuple(pairs),
        replaces=old.pk,
    )
    maker = JobMaker(config=config, shelf=NoteShelf(corpus), actor=actor, now=now)
    made = maker.make([draft], allow_queued=True)
    left_out += [_unavailable(item) for item in made.dropped]
    if not made.job_ids:
        reasons = ", ".join(sorted({item.reason for item in left_out})) or "all are reviewed"
        raise NothingToReplace(f"no pair of job {old.pk} can be reviewed any more: {reasons}")
    return Replacement(made.job_ids[0], tuple(left_out))


def _unavailable(item: Dropped) -> Unavailable:
    return Unavailable(item.pair.note_path, item.pair.gate.path, item.reason)
