"""Removes the files of closed jobs, which the store can do without; no row is ever removed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from review.artifacts import ArtifactStore, folder_name
from review.conf import Config
from review.models import JobEvent, ReviewJob, ReviewPair, ReviewStore, batched
from review.queries.checks import Check, CheckState, Faults
from review.vocabulary import OPEN_JOB_STATUSES, JobNote, PairStatus


def prune_job_files(config: Config, *, remove: bool, actor: str, now: datetime) -> Check:
    """Name the folders of closed jobs or, with `remove`, remove them.

    A failed job that still waits for a pair keeps its folder: its output may yet come. What goes is
    the prompt, the raw output of pairs that are all stored, and files that mirror the store.
    """
    files, found = ArtifactStore(config), Faults()
    for jobs in batched(_closed_jobs(files), 100):
        if remove:
            # First, so that a kill in between leaves no job whose files are missed.
            JobEvent.objects.record(_event(job, actor=actor, now=now) for job in jobs)
            files.discard_folders(job.pk for job in jobs)
        for job in jobs:
            found.add(f"job {job.pk} ({job.status})")
    state = CheckState.REPAIRED if remove else CheckState.WARNING
    what = (
        "folders of closed jobs were removed" if remove else "folders of closed jobs can go: --yes"
    )
    return found.check("prunable", fine="no folder of a closed job", wrong=what, state=state)


def _closed_jobs(files: ArtifactStore) -> Iterator[ReviewJob]:
    store_id = ReviewStore.objects.values_list("store_id", flat=True).get(pk=1)
    waiting = ReviewPair.objects.exclude(status=PairStatus.COMPLETED)
    jobs = ReviewJob.objects.exclude(status__in=OPEN_JOB_STATUSES).exclude(
        replaced_by=None, pk__in=waiting.values("job_id")
    )
    there = set(files.folders())
    for job in jobs.order_by("pk").iterator(chunk_size=500):
        name = folder_name(job.pk)
        if name in there and files.owner(name) == store_id:
            yield job


def _event(job: ReviewJob, *, actor: str, now: datetime) -> JobEvent:
    return JobEvent(
        job=job,
        from_status=job.status,
        to_status=job.status,
        actor=actor,
        note=JobNote.PRUNED.value,
        at=now,
    )
