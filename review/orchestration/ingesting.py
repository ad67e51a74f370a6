"""Takes in the outputs of many jobs, a few dozen in each transaction; a refusal stops only its job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import DatabaseError

from review.conf import Config
from review.contracts.jobs import IngestedJobJson
from review.errors import ReviewError, TryAgain
from review.models import ReviewJob, batched
from review.orchestration.finalization import ingest_job, ingest_together
from review.orchestration.ingest_reading import JobAsRead, JobReader
from review.orchestration.ingest_request import IngestRequest
from review.queries.recoverable import output_states
from review.store import refusal_of

# A kill leaves the files of so many jobs behind the store: a sweep that starts looks at four times as many.
JOBS_PER_TRANSACTION = 25
# Others cannot write meanwhile: for some hundredths of a second.
_PAIRS_PER_TRANSACTION = 100
_BYTES_PER_TRANSACTION = 2_000_000
# SQLSTATE class: the server rolled the transaction back for the sake of another one.
_ROLLED_BACK = "40"


@dataclass(frozen=True)
class RefusedJob:
    """A job whose output was not taken, and why."""

    review_job_id: int
    error: ReviewError


@dataclass(frozen=True)
class Ingested:
    """What became of each job that was asked for."""

    jobs: tuple[IngestedJobJson, ...]
    refused: tuple[RefusedJob, ...]


def ingest_jobs(
    job_ids: Iterable[int], *, request: IngestRequest, config: Config, now: datetime
) -> Ingested:
    """Ingest each job once, in the order given; refusals are reported, not raised.

    Jobs are stored in transactions of a few dozen. What refuses one of them is found by storing
    each of those on its own.
    """
    done: list[IngestedJobJson] = []
    refused: list[RefusedJob] = []
    taker = _Taker(request, config, now)
    for some in batched(dict.fromkeys(job_ids), JOBS_PER_TRANSACTION):
        for answer in taker.take(some):
            if isinstance(answer, RefusedJob):
                refused.append(answer)
            else:
                done.append(answer)
    return Ingested(tuple(done), tuple(refused))


def ready_job_ids(*, config: Config, actor: str | None) -> list[int]:
    """Open jobs whose output holds a closed block for every pair, oldest first.

    :param actor: only jobs claimed by this actor; None: all open jobs, never claimed ones too.
    """
    jobs = ReviewJob.objects.open().order_by("pk")
    if actor is not None:
        jobs = jobs.filter(claimed_by=actor)
    states = output_states(list(jobs), config=config)
    return sorted(job_id for job_id, state in states.items() if state == "complete")


@dataclass(frozen=True)
class _Taker:
    """Takes in jobs that are asked for with the same words."""

    request: IngestRequest
    config: Config
    now: datetime

    def take(self, job_ids: Sequence[int]) -> list[IngestedJobJson | RefusedJob]:
        """What became of each, in the order given."""
        answers: dict[int, IngestedJobJson | RefusedJob] = {}
        for turn in self._turns(job_ids, answers):
            answers |= self._together(turn)
        return [answers[job_id] for job_id in job_ids]

    def _turns(
        self, job_ids: Sequence[int], answers: dict[int, IngestedJobJson | RefusedJob]
    ) -> Iterator[list[JobAsRead]]:
        """The jobs that can be taken in, in lists for one transaction each; the others' refusals."""
        reader = JobReader(job_ids, request=self.request, config=self.config)
        turn: list[JobAsRead] = []
        for job_id in job_ids:
            try:
                turn.append(reader.read(job_id))
            except ReviewError as error:
                answers[job_id] = RefusedJob(job_id, error)
            if _is_full(turn):
                yield turn
                turn = []
        if turn:
            yield turn

    def _together(self, turn: Sequence[JobAsRead]) -> dict[int, IngestedJobJson | RefusedJob]:
        try:
            documents = ingest_together(
                turn, request=self.request, config=self.config, now=self.now
            )
        except (ReviewError, DatabaseError) as error:
            if not _may_be_of_one_job(error):
                raise
            # Nothing was stored. Read again, too: whoever moved a job may have moved others.
            return {read.job.pk: self._alone(read.job.pk) for read in turn}
        return {document.review_job_id: document for document in documents}

    def _alone(self, job_id: int) -> IngestedJobJson | RefusedJob:
        try:
            return ingest_job(job_id, request=self.request, config=self.config, now=self.now)
        except ReviewError as error:
            return RefusedJob(job_id, error)


def _is_full(turn: Sequence[JobAsRead]) -> bool:
    pairs = sum(len(read.pairs) for read in turn)
    size = sum(read.byte_size for read in turn)
    return pairs >= _PAIRS_PER_TRANSACTION or size >= _BYTES_PER_TRANSACTION


def _may_be_of_one_job(error: ReviewError | DatabaseError) -> bool:
    """Whether other jobs may well succeed alone; not where the store is busy or away, for that would
    only be waited for again, and what a lost connection committed is not known.
    """
    known = refusal_of(error) if isinstance(error, DatabaseError) else error
    state = str(getattr(error.__cause__, "sqlstate", None) or "")
    return not isinstance(known, TryAgain) or state.startswith(_ROLLED_BACK)
