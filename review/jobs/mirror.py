"""Writes the files that mirror rows: result files and the manifest, from the store alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.db.models import Prefetch

from review.documents.base import timestamp
from review.domain.paths import gate_id_of
from review.job_files import ArtifactNotWritten, ArtifactStore, OutputNotReadable, manifest_path
from review.jobs.manifest import manifest_of_job
from review.models import FileSnapshot, ReviewJob, ReviewPair, ReviewStore, ReviewText
from review.protocol.job_files import (
    Manifest,
    ManifestPair,
    ResultRecord,
    render_manifest,
    render_result,
)
from review.settings.config import Config
from review.vocabulary import OPEN_JOB_STATUSES, JobStatus

# As many as sweeps that run at once can leave half closed, and some more.
_LATEST = 100


def mirror_job(job_id: int, *, config: Config) -> list[str]:
    """Write every result file of the job and its manifest again; return what could not be written.

    The rows are the truth: a folder in the way or a full disk costs a file, never a review.
    """
    job, pairs = _load(job_id)
    return mirror(job, pairs, texts=_texts(job), config=config)


def mirrored_documents(
    job_ids: Sequence[int], *, config: Config, store_id: str
) -> Iterator[tuple[int, Iterator[tuple[str, str]]]]:
    """Each job with path and text of every file that mirrors its rows, the manifest last.

    Jobs and pairs are read together, texts of reviews one job at a time: hand in a few dozen jobs.
    """
    jobs = ReviewJob.objects.select_related("model_partition").in_bulk(job_ids)
    texts = FileSnapshot.objects.defer("text")
    # Jobs that are made together share notes or gates: each of these is then one row and one object.
    pairs = ReviewPair.objects.filter(job_id__in=job_ids).prefetch_related(
        "note", "gate", Prefetch("note_snapshot", texts), Prefetch("gate_snapshot", texts)
    )
    of_job: dict[int, list[ReviewPair]] = {key: [] for key in job_ids}
    for pair in pairs.order_by("job_id", "ordinal"):
        of_job[pair.job_id].append(pair)
    for key in job_ids:
        job = jobs[key]
        yield key, _documents(job, of_job.pop(key), _texts(job), config, store_id=store_id)


def _texts(job: ReviewJob) -> dict[int, str]:
    return dict(ReviewText.objects.filter(pair__job=job).values_list("pair_id", "text"))


def _load(job_id: int) -> tuple[ReviewJob, list[ReviewPair]]:
    job = ReviewJob.objects.select_related("model_partition").get(pk=job_id)
    related = ("note", "gate", "note_snapshot", "gate_snapshot")
    pairs = job.pairs.select_related(*related).order_by("ordinal")
    return job, list(pairs.defer("note_snapshot__text", "gate_snapshot__text"))


def finish_mirrors(*, config: Config) -> list[int]:
    """Write the files again of the latest closed jobs whose parent was killed before it could.

    The manifest is written last, so one that says what the row says stands for all of them; one
    that is not there was taken away on purpose. Answers the jobs that were mended.
    """
    closed = ReviewJob.objects.exclude(status__in=OPEN_JOB_STATUSES).order_by("-pk")
    columns = ("pk", "status", "prompt_path")
    mended = []
    for job_id, status, prompt_path in closed.values_list(*columns)[:_LATEST]:
        if _told_status(prompt_path, config) not in (None, status):
            mirror_job(job_id, config=config)
            mended.append(job_id)
    return sorted(mended)


def _told_status(prompt_path: str, config: Config) -> str | None:
    """The status that a job's manifest says; None when there is no manifest."""
    try:
        data = ArtifactStore(config).read_output(manifest_path(prompt_path))
        return None if data is None else str(json.loads(data).get("status", ""))
    except (OutputNotReadable, ValueError, AttributeError, RecursionError):
        return ""


def mirror(
    job: ReviewJob,
    pairs: Sequence[ReviewPair],
    *,
    texts: Mapping[int, str],
    config: Config,
    store_id: str = "",
) -> list[str]:
    """`mirror_job` for rows that are loaded already, with paths and snapshots.

    Whoever moves the job meanwhile may have written its files before these: what was written is held
    against the row once more, and written anew. So the last to write has written the last state.

    :param texts: the review texts as they are stored, by pair key.
    :param store_id: the store's own id; asked for when it is not given.
    """
    store_id = store_id or ReviewStore.objects.identity()
    failures = _write(_documents(job, pairs, texts, config, store_id=store_id), config)
    while _has_moved(job):
        job, pairs = _load(job.pk)
        documents = _documents(job, pairs, _texts(job), config, store_id=store_id)
        failures = _write(documents, config)
    return failures


def _has_moved(job: ReviewJob) -> bool:
    """Whether the job was moved since its row was read; one that is completed never is."""
    if job.status == JobStatus.COMPLETED:
        return False
    now = ReviewJob.objects.values_list("status", "completed_at").get(pk=job.pk)
    return now != (job.status, job.completed_at)


def _write(documents: Iterable[tuple[str, str]], config: Config) -> list[str]:
    files = ArtifactStore(config)
    failures = []
    for path, text in documents:
        try:
            files.write_text(path, text)
        except ArtifactNotWritten as refused:
            failures.append(refused.message)
    return failures


def _documents(
    job: ReviewJob,
    pairs: Sequence[ReviewPair],
    texts: Mapping[int, str],
    config: Config,
    *,
    store_id: str,
) -> Iterator[tuple[str, str]]:
    for pair in pairs:
        if pair.result_path and pair.pk in texts:
            yield pair.result_path, render_result(_result(job, pair, config), texts[pair.pk])
    yield (
        manifest_path(job.prompt_path),
        render_manifest(_manifest(job, pairs, config, store_id=store_id)),
    )


def _manifest(
    job: ReviewJob, pairs: Sequence[ReviewPair], config: Config, *, store_id: str
) -> Manifest:
    manifest_pairs = [
        ManifestPair(
            review_pair_id=pair.pk,
            ordinal=pair.ordinal,
            note_path=pair.note.path,
            gate_path=pair.gate.path,
            gate_id=gate_id_of(pair.gate.path, gates_folder=config.gates_folder),
            note_sha256=pair.note_snapshot.content_sha256,
            gate_sha256=pair.gate_snapshot.content_sha256,
            pair_status=pair.status,
            decision=pair.decision or None,
            result_path=pair.result_path or None,
        )
        for pair in pairs
    ]
    return manifest_of_job(job, manifest_pairs, store_id=store_id)


def _result(job: ReviewJob, pair: ReviewPair, config: Config) -> ResultRecord:
    return ResultRecord(
        review_pair_id=pair.pk,
        review_job_id=job.pk,
        note_path=pair.note.path,
        gate_path=pair.gate.path,
        gate_id=gate_id_of(pair.gate.path, gates_folder=config.gates_folder),
        model_partition=job.model_partition.name,
        decision=pair.decision,
        decision_source=pair.decision_source or None,
        note_sha256=pair.note_snapshot.content_sha256,
        gate_sha256=pair.gate_snapshot.content_sha256,
        reviewed_at=timestamp(pair.reviewed_at) or "",
        runner=job.runner,
        runner_model=job.runner_model,
        runner_effort=job.runner_effort,
        self_reported_model=job.self_reported_model or None,
    )
