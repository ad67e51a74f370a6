"""Looks at the store that cost the same at any size: whether it takes writes, and how jobs stand."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import DatabaseError, connection, transaction
from django.db.models import Count

from review import store
from review.errors import TryAgain
from review.models import ReviewJob
from review.queries.checks import Check, CheckState, Faults
from review.queries.recoverable import abandoned_jobs
from review.runners.process_table import ProcessTable
from review.vocabulary import JobStatus

_PATIENCE_MS = 500
_TOLD = (JobStatus.QUEUED, JobStatus.RUNNING, JobStatus.FAILED)


def check_write_lock() -> Check:
    """Whether the lock of a writer can be had at once; it is given back, and nothing is written."""
    name = "write-lock"
    if connection.vendor != "sqlite":
        return Check(name, CheckState.OK, f"left to {connection.display_name}")
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout")
            (before,) = cursor.fetchone()
            cursor.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            try:
                with transaction.atomic():
                    pass
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {int(before)}")
    except DatabaseError as error:
        known = store.refusal_of(error)
        if known is None:
            raise
        busy = "another process writes at this moment"
        told = busy if isinstance(known, TryAgain) else known.message
        return Check(name, CheckState.WARNING, told)
    return Check(name, CheckState.OK, "free")


def check_jobs(*, older_than: timedelta, now: datetime) -> Check:
    """How many jobs wait, run and failed, from their index; running ones that nobody seems to work on.

    :param older_than: how long a job may run until it is taken for abandoned.
    """
    counted = ReviewJob.objects.filter(status__in=_TOLD).values_list("status")
    numbers = dict(counted.annotate(number=Count("pk")).order_by())
    told = ", ".join(f"{numbers.get(status, 0)} {status}" for status in _TOLD)
    stuck = Faults()
    for job in abandoned_jobs(older_than=older_than, processes=ProcessTable(), now=now):
        stuck.add(f"job {job.job_id}: {job.because}")
    return stuck.check(
        "jobs",
        fine=told,
        wrong=f"running jobs seem abandoned ({told}); commonplace recover_review_jobs names them",
        state=CheckState.WARNING,
    )
