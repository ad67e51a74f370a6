"""The manifest of a job, from its row and its pairs."""

from __future__ import annotations

from collections.abc import Sequence

from review.documents.base import timestamp
from review.models import ReviewJob
from review.protocol.job_files import Manifest, ManifestPair


def manifest_of_job(job: ReviewJob, pairs: Sequence[ManifestPair], *, store_id: str) -> Manifest:
    """What `MANIFEST.json` says of the job; the partition should be loaded with it."""
    return Manifest(
        store_id=store_id,
        review_job_id=job.pk,
        status=job.status,
        model_partition=job.model_partition.name,
        grouping=job.grouping,
        lens=job.lens,
        prompt_path=job.prompt_path,
        prompt_sha256=job.prompt_sha256,
        bundle_output_path=job.bundle_output_path,
        created_at=timestamp(job.created_at) or "",
        replaces=job.replaces_id,
        pairs=pairs,
    )
