"""Holds the texts of reviews, which have no digest, against what is kept beside the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from review.artifacts import ArtifactStore, OutputNotReadable
from review.conf import Config
from review.domain.identity import gate_id_of
from review.models import JobOutput, ReviewPair
from review.orchestration.judging import parse_for_job
from review.queries.checks import Check, Faults

_PAIRS_AT_ONCE = 200


def check_review_texts(config: Config) -> Check:
    """A review's text is what its result file or the worker's own output says, where one is kept.

    One copy that agrees is enough: either may have been edited or written again since. Where none
    is kept, as after pruning, nothing can be said.
    """
    copies, faults, agreed = _Copies(config), Faults(), 0
    pairs = ReviewPair.objects.completed().exclude(review_text=None)
    related = ("review_text", "job", "note", "gate")
    for pair in pairs.select_related(*related).order_by("pk").iterator(chunk_size=_PAIRS_AT_ONCE):
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
        wrong="reviews are not what was written; look into them before --repair writes the files",
    )


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

        The outputs are only read when the result file does not agree.
        """
        text = pair.review_text.text
        told: dict[str, bool] = {}
        data = self._read(pair.result_path)
        if data is not None and f"\nreview_pair_id: {pair.pk}\n".encode() in data:
            told[pair.result_path] = _ends_with(data, text)
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
        job = one.job
        pairs = list(job.pairs.select_related("note", "gate").order_by("ordinal"))
        folder = self.config.gates_folder
        gate_ids = {pair.pk: gate_id_of(pair.gate.path, gates_folder=folder) for pair in pairs}
        for name, data in self._outputs(one):
            parsed = parse_for_job(data, token=job.sentinel_token, pairs=pairs, gate_ids=gate_ids)
            yield name, {ordinal: block.text for ordinal, block in parsed.blocks.items()}

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


def _ends_with(data: bytes, text: str) -> bool:
    end = "" if text.endswith("\n") else "\n"
    return data.endswith(f"\n---\n\n{text}{end}".encode("utf-8", "replace"))
