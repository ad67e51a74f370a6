"""Holds the texts of reviews, which have no digest, against what is kept beside the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from django.db.models import QuerySet

from review.artifacts import ArtifactStore, OutputNotReadable
from review.conf import Config
from review.models import JobOutput, ReviewJob, ReviewPair, batched
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
    for pair, told in copies.told(_pairs().iterator(chunk_size=_PAIRS_AT_ONCE)):
        faults.looked_at += 1
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


def belied_texts(
    differing: Mapping[int, Collection[str]], *, config: Config
) -> dict[int, dict[int, str]]:
    """Reviews that no kept copy confirms and one belies: by job, which copies, by pair key.

    Hand in a few dozen jobs. Nothing is read of those that neither an output nor a result file is
    left of: what is missing belies nobody.

    :param differing: by job, the result files that are there and are not what the store says.
    """
    belied: dict[int, dict[int, str]] = {}
    by_output = _jobs_with_outputs(differing, config)
    asked = by_output.union(job_id for job_id, paths in differing.items() if paths)
    if not asked:
        return belied
    pairs = _pairs().filter(job_id__in=asked).order_by("job_id", "pk")
    wanted = (
        pair
        for pair in pairs.iterator(chunk_size=_PAIRS_AT_ONCE)
        if pair.job_id in by_output or pair.result_path in differing[pair.job_id]
    )
    for pair, told in _Copies(config).told(wanted):
        if told and not any(told.values()):
            belied.setdefault(pair.job_id, {})[pair.pk] = " and ".join(told)
    return belied


def _jobs_with_outputs(job_ids: Collection[int], config: Config) -> set[int]:
    """Those of which an output is kept, in the store or as the worker's own file."""
    files, found = ArtifactStore(config), _keeping(job_ids)
    others = ReviewJob.objects.filter(pk__in=[key for key in job_ids if key not in found])
    for key, path in others.values_list("pk", "bundle_output_path"):
        if path and files.exists(path):
            found.add(key)
    return found


def _keeping(job_ids: Collection[int]) -> set[int]:
    """Those whose outputs the store keeps."""
    kept = JobOutput.objects.filter(job_id__in=job_ids)
    return set(kept.values_list("job_id", flat=True))


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
    keeping: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._files = ArtifactStore(self.config)

    def told(self, pairs: Iterable[ReviewPair]) -> Iterator[tuple[ReviewPair, dict[str, bool]]]:
        """Each pair with what its copies say of it; some hundred pairs are held at once."""
        for some in batched(pairs, _PAIRS_AT_ONCE):
            self.keeping = _keeping({pair.job_id for pair in some})
            for pair in some:
                yield pair, self._of(pair)

    def _of(self, pair: ReviewPair) -> dict[str, bool]:
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
        reader: OutputReader | None = None
        for name, data in self._outputs(one):
            reader = reader or OutputReader(one.job, config=self.config)
            blocks = reader.read(data).blocks
            yield name, {ordinal: block.text for ordinal, block in blocks.items()}

    def _outputs(self, pair: ReviewPair) -> Iterator[tuple[str, bytes]]:
        written = self._read(pair.job.bundle_output_path)
        if written is not None:
            yield pair.job.bundle_output_path, written
        if pair.job_id not in self.keeping:
            return
        kept = JobOutput.objects.filter(job_id=pair.job_id).order_by("pk")
        for key, raw in kept.values_list("pk", "raw").iterator(chunk_size=1):
            yield f"output {key}", bytes(raw)

    def _read(self, path: str) -> bytes | None:
        try:
            return self._files.read_output(path) if path else None
        except OutputNotReadable:
            return None
