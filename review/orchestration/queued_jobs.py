"""Takes over a queued job that another parent made, when it still asks for today's texts."""

from __future__ import annotations

from datetime import datetime

from review.conf import Config
from review.corpus import Corpus, UnreadableFile
from review.models import ReviewJob
from review.orchestration.recovery import RecoveryAction, RecoveryRequest, recover
from review.runners.process_table import Processes
from review.vocabulary import JobStatus

_OUTDATED = "a text of it has changed since it was queued"


def take_over(
    job_id: int, *, corpus: Corpus, actor: str, config: Config, processes: Processes, now: datetime
) -> int | None:
    """The job to run for these pairs: this one, or a new one when a text has changed since.

    None when the job is not queued any more, or none of its pairs can be reviewed: it is somebody
    else's, or nobody's.
    """
    job = ReviewJob.objects.filter(pk=job_id, status=JobStatus.QUEUED).first()
    if job is None:
        return None
    if _is_current(job, corpus):
        return job_id
    request = RecoveryRequest(
        action=RecoveryAction.REPLACE,
        actor=actor,
        older_than=config.abandoned_after,
        job_ids=(job_id,),
        reason=_OUTDATED,
    )
    answer = recover(request, corpus=corpus, config=config, processes=processes, now=now).answer
    return answer.done[0].replaced_by if answer.done else None


def _is_current(job: ReviewJob, corpus: Corpus) -> bool:
    columns = (
        "note__path",
        "gate__path",
        "note_snapshot__content_sha256",
        "gate_snapshot__content_sha256",
    )
    try:
        return all(
            (note_sha256, gate_sha256)
            == (corpus.read_note(note_path).sha256, corpus.gate(gate_path).sha256)
            for note_path, gate_path, note_sha256, gate_sha256 in job.pairs.values_list(*columns)
        )
    except UnreadableFile:
        return False
