"""Write the files that mirror rows: result files and the manifest, from the store alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from review.documents.base import from_row
from review.domain.paths import gate_id_of
from review.job_files import ArtifactNotWritten, ArtifactStore, OutputNotReadable, manifest_path
from review.models import ReviewJob, ReviewPair, ReviewStore, ReviewText
from review.protocol.job_files import (
    Manifest,
    ManifestPair,
    ResultRecord,
    render_manifest,
    render_result,
)
from review.settings import Config
from review.vocabulary import OPEN_JOB_STATUSES, JobStatus

# As many as sweeps that run at once can leave half closed, and some more.
_LATEST = 100


@dataclass(frozen=True)
class JobFiles:
    """The files of a job whose rows are loaded with partition, paths and snapshots.

    :param texts: the review texts as they are stored, by pair key.
    """

    job: ReviewJob
    pairs: Sequence[ReviewPair]
    texts: Mapping[int, str]
    config: Config
    store_id: str

    def documents(self) -> Iterator[tuple[str, str]]:
        """Yield path and text of every file, the manifest last."""
        for pair in self.pairs:
            if pair.result_path and pair.pk in self.texts:
                record = _result(self.job, pair, self.config)
                yield pair.result_path, render_result(record, self.texts[pair.pk])
        yield manifest_path(self.job.prompt_path), self.manifest()

    def write(self) -> list[str]:
        """Write the files, and return what could not be written.

        The rows are the truth: a folder in the way or a full disk costs a file, never a review.
        Another process that moves the job meanwhile may write its files before these are written,
        so the row is read again afterwards and newer files are written: the last to write has
        written the last state.
        """
        store = ArtifactStore(self.config)
        failures = []
        for path, text in self.documents():
            try:
                store.write_bytes(path, text.encode("utf-8", "replace"))
            except ArtifactNotWritten as refused:
                failures.append(refused.message)
        return rewrite_job_files(self.job.pk, config=self.config) if self._has_moved() else failures

    def manifest(self) -> str:
        job = self.job
        manifest = from_row(
            Manifest,
            job,
            store_id=self.store_id,
            review_job_id=job.pk,
            model_partition=job.model_partition.name,
            replaces=job.replaces_id,
            pairs=[_manifest_pair(pair, self.config) for pair in self.pairs],
        )
        return render_manifest(manifest)

    def _has_moved(self) -> bool:
        """Return whether the job was moved since its row was read; a completed one never is."""
        if self.job.status == JobStatus.COMPLETED:
            return False
        now = ReviewJob.objects.values_list("status", "completed_at").get(pk=self.job.pk)
        return now != (self.job.status, self.job.completed_at)


def rewrite_job_files(job_id: int, *, config: Config) -> list[str]:
    """Write every result file of the job and its manifest again; return what could not be written."""
    (files,) = load_job_files([job_id], config=config)
    return files.write()


def finish_job_files(*, config: Config) -> list[int]:
    """Write the files again of the latest closed jobs whose worker was killed before it could.

    The manifest is written last, so one that says what the row says stands for all of them; one
    that is absent was removed on purpose. Returns the jobs that were repaired.
    """
    closed = ReviewJob.objects.exclude(status__in=OPEN_JOB_STATUSES).order_by("-pk")
    columns = closed.values_list("pk", "status", "prompt_path")[:_LATEST]
    repaired = [pk for pk, status, path in columns if _is_outdated(path, status, config)]
    for job_id in repaired:
        rewrite_job_files(job_id, config=config)
    return sorted(repaired)


def load_job_files(job_ids: Sequence[int], *, config: Config) -> Iterator[JobFiles]:
    """Yield the files of jobs, one job's texts at a time."""
    store_id = ReviewStore.objects.identity()
    jobs = ReviewJob.objects.select_related("model_partition").in_bulk(job_ids)
    related = ("note", "gate", "note_snapshot", "gate_snapshot")
    rows = ReviewPair.objects.filter(job_id__in=job_ids).select_related(*related)
    pairs: dict[int, list[ReviewPair]] = {job_id: [] for job_id in job_ids}
    for pair in rows.defer("note_snapshot__text", "gate_snapshot__text").order_by("ordinal"):
        pairs[pair.job_id].append(pair)
    for job_id in job_ids:
        texts = ReviewText.objects.filter(pair__job=job_id).values_list("pair_id", "text")
        yield JobFiles(jobs[job_id], pairs.pop(job_id), dict(texts), config, store_id)


def _is_outdated(prompt_path: str, status: str, config: Config) -> bool:
    try:
        data = ArtifactStore(config).read_output(manifest_path(prompt_path))
        return data is not None and json.loads(data).get("status") != status
    except (OutputNotReadable, ValueError):
        return True


def _manifest_pair(pair: ReviewPair, config: Config) -> ManifestPair:
    return from_row(
        ManifestPair,
        pair,
        pair_status=pair.status,
        decision=pair.decision or None,
        result_path=pair.result_path or None,
        **_names(pair, config),
    )


def _result(job: ReviewJob, pair: ReviewPair, config: Config) -> ResultRecord:
    return from_row(
        ResultRecord,
        pair,
        review_job_id=job.pk,
        model_partition=job.model_partition.name,
        decision_source=pair.decision_source or None,
        runner=job.runner,
        runner_model=job.runner_model,
        runner_effort=job.runner_effort,
        self_reported_model=job.self_reported_model or None,
        **_names(pair, config),
    )


def _names(pair: ReviewPair, config: Config) -> dict[str, Any]:
    return {
        "review_pair_id": pair.pk,
        "note_path": pair.note.path,
        "gate_path": pair.gate.path,
        "gate_id": gate_id_of(pair.gate.path, gates_folder=config.gates_folder),
        "note_sha256": pair.note_snapshot.content_sha256,
        "gate_sha256": pair.gate_snapshot.content_sha256,
    }
