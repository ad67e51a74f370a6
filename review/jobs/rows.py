"""The rows and files of a job that is being made, from its texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from review.domain.paths import sha256_hex
from review.job_files import JobPaths
from review.job_files.naming import MANIFEST_NAME, PROMPT_NAME
from review.jobs.manifest import manifest_of_job
from review.models import FileSnapshotKey, JobEvent, ModelPartition, ReviewJob, ReviewPair
from review.protocol.job_files import Manifest, ManifestPair, render_manifest
from review.protocol.prompt import VERSION, estimate_tokens
from review.selection.note_cache import DraftPair
from review.vocabulary import Grouping, JobStatus, PairStatus

TextKeys = Mapping[tuple[str, str], FileSnapshotKey]


@dataclass(frozen=True)
class JobRows:
    """A job's rows, and what its manifest says of each pair that the rows hold as keys."""

    job: ReviewJob
    pairs: tuple[ReviewPair, ...]
    texts: tuple[DraftPair, ...]
    prompt: str

    def files(self, *, store_id: str) -> dict[str, bytes]:
        """The files of the job's folder; the manifest first, so that a folder says whose it is."""
        manifest = render_manifest(self._manifest(store_id))
        return {MANIFEST_NAME: manifest.encode(), PROMPT_NAME: self.prompt.encode()}

    def creation_event(self, *, actor: str) -> JobEvent:
        """The first line of the job's log."""
        return JobEvent(
            job_id=self.job.pk,
            from_status="",
            to_status=JobStatus.QUEUED,
            actor=actor,
            note="created",
            at=self.job.created_at,
        )

    def _manifest(self, store_id: str) -> Manifest:
        pairs = [
            ManifestPair(
                review_pair_id=row.pk,
                ordinal=row.ordinal,
                note_path=text.note.path,
                gate_path=text.gate.path,
                gate_id=text.gate.gate_id,
                note_sha256=text.note.sha256,
                gate_sha256=text.gate.sha256,
                pair_status=row.status,
            )
            for row, text in zip(self.pairs, self.texts, strict=True)
        ]
        return manifest_of_job(self.job, pairs, store_id=store_id)


@dataclass(frozen=True)
class JobHead:
    """What a job is apart from its pairs."""

    job_id: int
    model_partition: ModelPartition
    grouping: Grouping
    lens: str
    replaces_id: int | None
    paths: JobPaths
    created_at: datetime


def job_rows(
    head: JobHead, pairs: tuple[DraftPair, ...], *, keys: TextKeys, token: str, prompt: str
) -> JobRows:
    """The rows of a queued job with its pairs numbered from 1."""
    job = ReviewJob(
        pk=head.job_id,
        model_partition=head.model_partition,
        status=JobStatus.QUEUED,
        grouping=head.grouping,
        lens=head.lens,
        sentinel_token=token,
        prompt_path=head.paths.prompt,
        bundle_output_path=head.paths.bundle_output,
        prompt_sha256=sha256_hex(prompt.encode()),
        prompt_version=VERSION,
        estimated_prompt_tokens=estimate_tokens(prompt),
        pair_count=len(pairs),
        created_at=head.created_at,
        replaces_id=head.replaces_id,
    )
    rows = tuple(_pair_row(job, number, pair, keys) for number, pair in enumerate(pairs, 1))
    return JobRows(job, rows, pairs, prompt)


def _pair_row(job: ReviewJob, ordinal: int, pair: DraftPair, keys: TextKeys) -> ReviewPair:
    note = keys[pair.note.path, pair.note.sha256]
    gate = keys[pair.gate.path, pair.gate.sha256]
    return ReviewPair(
        job_id=job.pk,
        ordinal=ordinal,
        note_id=note.path_id,
        gate_id=gate.path_id,
        note_snapshot_id=note.snapshot_id,
        gate_snapshot_id=gate.snapshot_id,
        status=PairStatus.PENDING,
    )
