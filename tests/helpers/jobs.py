"""Jobs that want recovering, made through the real steps."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from review.models import Provenance, ReviewJob
from tests.builders import make_jobs, make_output

AX = ("a.md", "prose/x")


def queued(root: Path, *pairs: tuple[str, str], **overrides: Any) -> int:
    """A job that nobody has taken; its id."""
    (job,) = make_jobs(root, *(pairs or (AX,)), force=True, **overrides)
    return int(job.review_job_id)


def running(
    root: Path, *pairs: tuple[str, str], claimed_by: str = "agent:bo", ago: timedelta = timedelta()
) -> int:
    """A job that was taken some time ago; its id."""
    job_id = queued(root, *pairs)
    taken_at: datetime = timezone.now() - ago
    provenance = Provenance(runner="claude-code")
    assert ReviewJob.objects.claim(
        job_id, provenance=provenance, claimed_by=claimed_by, now=taken_at
    )
    return job_id


def abandoned(root: Path, *pairs: tuple[str, str]) -> int:
    """A job that has been running for a day; its id."""
    return running(root, *pairs, ago=timedelta(days=1))


def write_output(
    root: Path, job_id: int, *reviews: str, only: tuple[int, ...] = (), data: bytes | None = None
) -> Path:
    """Write what a worker writes for the job; its file."""
    path = root / ReviewJob.objects.get(pk=job_id).bundle_output_path
    path.write_bytes(make_output(job_id, *reviews, only=only) if data is None else data)
    return path


def status_of(job_id: int) -> str:
    """Where the job stands now."""
    return ReviewJob.objects.values_list("status", flat=True).get(pk=job_id)
