"""Reads what runs of a job have left against all of its pairs, before anything is taken in."""

from __future__ import annotations

from review.conf import Config
from review.models import ReviewJob
from review.orchestration.judging import gate_ids_of, parse_for_job
from review.protocol.parser import ParsedOutput


class OutputReader:
    """Parses outputs of one job; its pairs are fetched once."""

    def __init__(self, job: ReviewJob, *, config: Config) -> None:
        self._token = job.sentinel_token
        self._pairs = list(job.pairs.select_related("note", "gate").order_by("ordinal"))
        self._gate_ids = gate_ids_of(self._pairs, gates_folder=config.gates_folder)

    def read(self, data: bytes) -> ParsedOutput:
        """The blocks of the job in `data`."""
        return parse_for_job(data, token=self._token, pairs=self._pairs, gate_ids=self._gate_ids)
