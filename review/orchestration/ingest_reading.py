"""Reads what an ingest starts from: the rows of its jobs, few statements for many, and their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from review.conf import Config
from review.models import ReviewJob, ReviewPair, ReviewText
from review.orchestration.ingest_checks import (
    check_provenance,
    no_blocks,
    read_output,
    refuse_closed,
)
from review.orchestration.ingest_request import IngestRequest
from review.orchestration.judging import gate_ids_of, parse_for_job
from review.protocol.parser import ParsedOutput
from review.queries.job_board import unknown_job
from review.vocabulary import PairStatus


@dataclass(frozen=True)
class JobAsRead:
    """A job that takes an output, its pairs in order, and what the output holds of them.

    :param gate_ids: by pair key.
    :param stored_texts: the review texts of the pairs that are completed already, by pair key.
    """

    job: ReviewJob
    pairs: Sequence[ReviewPair]
    gate_ids: dict[int, str]
    raw: bytes
    parsed: ParsedOutput
    stored_texts: dict[int, str]

    @property
    def byte_size(self) -> int:
        """Bytes of the output and of the notes: what has to be in memory to take it in."""
        notes = {pair.note_snapshot_id: pair.note_snapshot.byte_size for pair in self.pairs}
        return len(self.raw) + sum(notes.values())


class JobReader:
    """Reads jobs whose rows are fetched together."""

    def __init__(self, job_ids: Sequence[int], *, request: IngestRequest, config: Config) -> None:
        self._request = request
        self._config = config
        jobs = ReviewJob.objects.with_names().filter(pk__in=job_ids)
        self._jobs = {job.pk: job for job in jobs}
        self._pairs: dict[int, list[ReviewPair]] = {job_id: [] for job_id in self._jobs}
        for pair in _pairs_of(list(self._jobs)):
            self._pairs[pair.job_id].append(pair)

    def read(self, job_id: int) -> JobAsRead:
        """The job with its output, after every check that comes before the first write.

        :raises UnknownJob: no job has this id.
        :raises JobAlreadyCompleted, JobReplaced, NothingMissing: the job takes no output any more.
        :raises NoOutput, NoBlocks: the output is absent, blank, or not this job's.
        :raises PartitionMismatch, ProvenanceDisagrees: the flags contradict the job or its claim.
        """
        if job_id not in self._jobs:
            raise unknown_job(job_id)
        job, pairs = self._jobs[job_id], self._pairs[job_id]
        refuse_closed(job, pairs)
        check_provenance(job, self._request, self._config)
        raw = read_output(job, self._request, self._config)
        gate_ids = gate_ids_of(pairs, gates_folder=self._config.gates_folder)
        parsed = parse_for_job(raw, token=job.sentinel_token, pairs=pairs, gate_ids=gate_ids)
        if not parsed.has_own_blocks:
            raise no_blocks(job, parsed)
        return JobAsRead(job, pairs, gate_ids, raw, parsed, _stored_texts(pairs))


def _pairs_of(job_ids: Sequence[int]) -> QuerySet[ReviewPair]:
    related = ("note", "gate", "note_snapshot", "gate_snapshot")
    pairs = ReviewPair.objects.filter(job_id__in=job_ids).select_related(*related)
    return pairs.defer("note_snapshot__text", "gate_snapshot__text").order_by("job_id", "ordinal")


def _stored_texts(pairs: Sequence[ReviewPair]) -> dict[int, str]:
    done = [pair.pk for pair in pairs if pair.status == PairStatus.COMPLETED]
    if not done:
        return {}
    return dict(ReviewText.objects.filter(pair_id__in=done).values_list("pair_id", "text"))
