"""Removal of the files of closed jobs, which the store can do without; no row is ever removed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import QuerySet

from review.domain.paths import sha256_hex
from review.job_files import ArtifactStore, OutputNotReadable, folder_name
from review.models import (
    Acceptance,
    JobEvent,
    JobMove,
    JobOutput,
    ReviewJob,
    ReviewPair,
    ReviewStore,
    batched,
)
from review.settings.config import Config
from review.upkeep.checks import CheckResult, CheckState, check_faults
from review.vocabulary import OPEN_JOB_STATUSES, JobNote, JobStatus, NotAccepted, PairStatus

_AT_ONCE = 100


@dataclass(frozen=True)
class Pruning:
    """A selection of closed jobs' folders to remove; without `remove` they are only listed.

    :param older_than: only jobs that were closed so long ago; None takes all.
    :param superseded: only jobs that no current acceptance rests on, and whose reviews nobody has to
        look at.
    """

    remove: bool
    actor: str
    now: datetime
    older_than: timedelta | None = None
    superseded: bool = False


def prune_job_files(config: Config, pruning: Pruning) -> CheckResult:
    """Name the folders of closed jobs or remove them.

    What goes is the prompt, the raw output of pairs that are all stored, and files that mirror the
    store. What only a file holds stays: a failed job that waits for a pair keeps its folder, since
    its output may yet come, and so does a replaced one whose output was never ingested.
    """
    files, found, kept = ArtifactStore(config), [], 0
    for closed in batched(_closed_jobs(files, pruning), _AT_ONCE):
        jobs = [job for job in closed if not _holds_new_output(job, files)]
        kept += len(closed) - len(jobs)
        if pruning.remove:
            # Recorded first, so that a kill in between leaves no job whose files are missed.
            moves = (JobMove(job.pk, job.status, job.status, JobNote.PRUNED) for job in jobs)
            JobEvent.objects.record(moves, actor=pruning.actor, now=pruning.now)
            files.discard_folders(job.pk for job in jobs)
        found += [f"job {job.pk} ({job.status})" for job in jobs]
    why = f"; {kept} more hold an output that was never taken in, and stay" if kept else ""
    what = "were removed" if pruning.remove else "can go: --yes"
    return check_faults(
        "prunable",
        found,
        fine=f"no folder of a closed job can go{why}",
        wrong=f"folders of closed jobs {what}{why}",
        state=CheckState.REPAIRED if pruning.remove else CheckState.WARNING,
    )


def _closed_jobs(files: ArtifactStore, pruning: Pruning) -> Iterator[ReviewJob]:
    store_id = ReviewStore.objects.identity()
    there = set(files.folders())
    # Of a removal that was killed half-way, the manifest may be gone.
    begun = set(JobEvent.objects.filter(note=JobNote.PRUNED).values_list("job_id", flat=True))
    for job in _wanted(pruning).order_by("pk").iterator(chunk_size=500):
        if (name := folder_name(job.pk)) in there:
            owner = files.owner(name)
            if owner == store_id or (not owner and job.pk in begun):
                yield job


def _wanted(pruning: Pruning) -> QuerySet[ReviewJob]:
    waiting = ReviewPair.objects.exclude(status=PairStatus.COMPLETED)
    jobs = ReviewJob.objects.exclude(status__in=OPEN_JOB_STATUSES).exclude(
        replaced_by=None, pk__in=waiting.values("job_id")
    )
    if pruning.older_than is not None:
        jobs = jobs.filter(completed_at__lte=pruning.now - pruning.older_than)
    if pruning.superseded:
        counting = Acceptance.objects.filter(current__isnull=False, review_pair__isnull=False)
        undecided = (NotAccepted.DECISION_ERROR, NotAccepted.DECISION_UNKNOWN)
        to_look_at = ReviewPair.objects.filter(not_accepted__in=undecided)
        jobs = jobs.exclude(pk__in=counting.values("review_pair__job_id"))
        jobs = jobs.exclude(pk__in=to_look_at.values("job_id"))
    return jobs


def _holds_new_output(job: ReviewJob, files: ArtifactStore) -> bool:
    """Return whether the folder holds an output that is not in the store; a completed job needs none."""
    if job.status == JobStatus.COMPLETED:
        return False
    try:
        data = files.read_output(job.bundle_output_path)
    except OutputNotReadable:
        return True
    if data is None or not data.strip():
        return False
    return not JobOutput.objects.filter(job=job, content_sha256=sha256_hex(data)).exists()
