"""Writes the files that mirror rows: result files and the manifest, from the store alone."""

from __future__ import annotations

from collections.abc import Iterable

from review.artifacts import ArtifactStore
from review.conf import Config
from review.models import ReviewJob, ReviewPair, ReviewStore, ReviewText
from review.vocabulary import PairStatus


def mirror_job(job_id: int, *, config: Config) -> list[str]:
    """Write every result file of the job and its manifest again; answers what could not be written.

    The rows are the truth: a folder in the way or a full disk costs a file, never a review.
    """
    job = ReviewJob.objects.select_related("model_partition").get(pk=job_id)
    pairs = list(
        ReviewPair.objects.filter(job=job)
        .select_related("note", "gate", "note_snapshot", "gate_snapshot")
        .defer("note_snapshot__text", "gate_snapshot__text")
        .order_by("ordinal")
    )
    texts = dict(ReviewText.objects.filter(pair__job=job).values_list("pair_id", "text"))
    store = ArtifactStore(config)
    failures = list(_write_results(store, job, pairs, texts))
    try:
        store.write_manifest(job, pairs, store_id=ReviewStore.objects.get(pk=1).store_id)
    except OSError as error:
        failures.append(f"MANIFEST.json: {error.strerror}")
    return failures


def _write_results(
    store: ArtifactStore, job: ReviewJob, pairs: Iterable[ReviewPair], texts: dict[int, str]
) -> Iterable[str]:
    for pair in pairs:
        if pair.status != PairStatus.COMPLETED or pair.pk not in texts:
            continue
        try:
            store.write_result(job, pair, text=texts[pair.pk])
        except OSError as error:
            yield f"{pair.result_path}: {error.strerror}"
