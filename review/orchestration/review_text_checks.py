"""Holds the texts of reviews, which have no digest, against what is kept beside the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from django.db.models import QuerySet

from review.artifacts import ArtifactStore, OutputNotReadable
from review.conf import Config
from review.models import JobOutput, ReviewPair
from review.orchestration.output_reading import OutputReader
from review.queries.checks import Check, Faults

_PAIRS_AT_ONCE = 200
_END_OF_FRONTMATTER = b"\n---\n\n"


def check_review_texts(config: Config) -> Check:
    """A review's text is what its result file or the worker's own output says, where one is kept.

    One copy that agrees is enough: either may have been edited or written again since. Where none
    is kept, as after pruning, nothing can be said.
    """
    copies, faults, agreed = _Copies(config), Faults(), 0
    for pair in _pairs().iterator(chunk_size=_PAIRS_AT_ONCE):
        faults.looked_at += 1
        told = copies.of(pair)
        if any(told.values()):
            agreed += 1
        elif told:
            faults.add(f"pair {pair.pk} of job {pair.job_id}: unlike {' and '.join(told)}")
    alone = faults.looked_at - agreed - faults.number
    return faults.check(
        "review-texts",
        fine=f"{agreed} reviews are what a result file or an output says"
        + (f"; of {alone} neither is kept" if alone else ""),
        wrong="reviews are not what was written; --repair leaves their files as they are",
    )


def belied_texts(job_id: int, *, config: Config) -> dict[int, str]:
    """The job's reviews that no kept copy confirms and one belies: which copies, by pair key."""
    copies = _Copies(config)
    told = {pair.pk: copies.of(pair) for pair in _pairs().filter(job_id=job_id)}
    return {
        key: " and ".join(said) for key, said in told.items() if said and not any(said.values())
    }


def _pairs() -> QuerySet[ReviewPair]:
    """Completed pairs with their texts, those of a job one after the other."""
    pairs = ReviewPair.objects.completed().exclude(review_text=None)
    return pairs.select_related("review_text", "job").order_by("pk")


@dataclass
class _Copies:
    """What is kept of reviews beside their rows; the blocks of one job are remembered."""

    config: Config
    job_id: int = 0
    blocks: list[tuple[str, Mapping[int, str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._files = ArtifactStore(self.config)

    def of(self, pair: ReviewPair) -> dict[str, bool]:
        """The copies there are by name, with whether they say what the row says.

        The outputs are only read when the result file does not agree. One that was torn is none.
        """
        text = pair.review_text.text
        expected = (text if text.endswith("\n") else f"{text}\n").encode("utf-8", "replace")
        told: dict[str, bool] = {}
        data = self._read(pair.result_path)
        if data is not None and f"\nreview_pair_id: {pair.pk}\n".encode() in data:
            said = data.partition(_END_OF_FRONTMATTER)[2]
            is_torn = len(said) < len(expected) and expected.startswith(said)
            if not is_torn:
                told[pair.result_path] = said == expected
        if any(told.values()):
            return told
        for name, blocks in self._blocks_of(pair):
            if pair.ordinal in blocks:
                told[name] = blocks[pair.ordinal] == text
        return told

    def _blocks_of(self, pair: ReviewPair) -> list[tuple[str, Mapping[int, str]]]:
        if pair.job_id != self.job_id:
            self.blocks = list(self._parsed(pair))
            self.job_id = pair.job_id
        return self.blocks

    def _parsed(self, one: ReviewPair) -> Iterator[tuple[str, Mapping[int, str]]]:
        reader = OutputReader(one.job, config=self.config)
        for name, data in self._outputs(one):
            blocks = reader.read(data).blocks
            yield name, {ordinal: block.text for ordinal, block in blocks.items()}

    def _outputs(self, pair: ReviewPair) -> Iterator[tuple[str, bytes]]:
        written = self._read(pair.job.bundle_output_path)
        if written is not None:
            yield pair.job.bundle_output_path, written
        kept = JobOutput.objects.filter(job_id=pair.job_id).order_by("pk")
        for key, raw in kept.values_list("pk", "raw").iterator(chunk_size=1):
            yield f"output {key}", bytes(raw)

    def _read(self, path: str) -> bytes | None:
        try:
            return self._files.read_output(path) if path else None
        except OutputNotReadable:
            return None
