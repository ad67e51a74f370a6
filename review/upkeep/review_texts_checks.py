"""Compares the texts of reviews, which have no digest, with the copies in files and outputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from django.db.models import QuerySet

from review.ingest.parse import OutputReader
from review.job_files import ArtifactStore, OutputNotReadable
from review.models import JobOutput, ReviewJob, ReviewPair
from review.settings.config import Config
from review.upkeep.checks import Check, Faults

_PAIRS_AT_ONCE = 200
_END_OF_FRONTMATTER = b"\n---\n\n"


def check_review_texts(config: Config) -> Check:
    """A review's text is what its result file or the worker's own output says, where one is kept.

    One copy that agrees is enough: either may have been edited or written again since. Where none
    is kept, as after pruning, nothing can be said.
    """
    faults, agreed, alone = Faults(), 0, 0
    for pair, copies in _compare(_completed_pairs(), config):
        if any(copies.values()):
            agreed += 1
        elif copies:
            faults.add(f"pair {pair.pk} of job {pair.job_id}: unlike {' and '.join(copies)}")
        else:
            alone += 1
    return faults.check(
        "review-texts",
        fine=f"{agreed} reviews are what a result file or an output says"
        + (f"; of {alone} neither is kept" if alone else ""),
        wrong="reviews are not what was written; --repair leaves their files as they are",
    )


def contradicted_reviews(job_ids: Collection[int], *, config: Config) -> dict[int, dict[int, str]]:
    """Reviews whose copies all say something else: by job, the names of the copies by pair key."""
    found: dict[int, dict[int, str]] = {}
    for pair, copies in _compare(_completed_pairs().filter(job_id__in=job_ids), config):
        if copies and not any(copies.values()):
            found.setdefault(pair.job_id, {})[pair.pk] = " and ".join(copies)
    return found


def _completed_pairs() -> QuerySet[ReviewPair]:
    pairs = ReviewPair.objects.completed().exclude(review_text=None)
    return pairs.select_related("review_text", "job").order_by("job_id", "ordinal")


def _compare(
    pairs: QuerySet[ReviewPair], config: Config
) -> Iterator[tuple[ReviewPair, dict[str, bool]]]:
    """Each pair with its copies by name, and whether they agree with the row.

    The outputs of a job are read only when a result file does not agree.
    """
    files = ArtifactStore(config)
    rows = pairs.iterator(chunk_size=_PAIRS_AT_ONCE)
    for _job_id, of_job in groupby(rows, key=lambda pair: pair.job_id):
        outputs: dict[str, dict[int, str]] | None = None
        for pair in of_job:
            copies = _compare_result_file(pair, files)
            if not any(copies.values()):
                if outputs is None:
                    outputs = dict(_blocks_of_outputs(pair.job, files, config))
                text = pair.review_text.text
                for name, blocks in outputs.items():
                    if pair.ordinal in blocks:
                        copies[name] = blocks[pair.ordinal] == text
            yield pair, copies


def _compare_result_file(pair: ReviewPair, files: ArtifactStore) -> dict[str, bool]:
    """A file that is torn, or not of this pair, is no copy."""
    data = read_job_file(files, pair.result_path)
    if data is None or f"\nreview_pair_id: {pair.pk}\n".encode() not in data:
        return {}
    text = pair.review_text.text
    expected = (text if text.endswith("\n") else f"{text}\n").encode("utf-8", "replace")
    found = data.partition(_END_OF_FRONTMATTER)[2]
    is_torn = len(found) < len(expected) and expected.startswith(found)
    return {} if is_torn else {pair.result_path: found == expected}


def _blocks_of_outputs(
    job: ReviewJob, files: ArtifactStore, config: Config
) -> Iterator[tuple[str, dict[int, str]]]:
    reader: OutputReader | None = None
    for name, data in _outputs(job, files):
        reader = reader or OutputReader(job, config=config)
        blocks = reader.read(data).blocks
        yield name, {ordinal: block.text for ordinal, block in blocks.items()}


def _outputs(job: ReviewJob, files: ArtifactStore) -> Iterable[tuple[str, bytes]]:
    written = read_job_file(files, job.bundle_output_path)
    if written is not None:
        yield job.bundle_output_path, written
    kept = JobOutput.objects.filter(job=job).order_by("pk").values_list("pk", "raw")
    yield from ((f"output {key}", bytes(raw)) for key, raw in kept.iterator(chunk_size=1))


def read_job_file(files: ArtifactStore, path: str) -> bytes | None:
    """The bytes of a file of a job; None where it cannot be read."""
    try:
        return files.read_output(path) if path else None
    except OutputNotReadable:
        return None
