"""What the start page tells: where everything stands, and what a person may have to see to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Min

from review.conf import Config
from review.contracts.queue import LookJson
from review.contracts.recovery import RecoveryListJson
from review.contracts.status import StatusJson
from review.corpus import Corpus
from review.models import ReviewJob
from review.queries.looks import LookRequest, read_looks
from review.queries.queue import Queue
from review.queries.recoverable import list_recoverable
from review.queries.status import Counted, read_status
from review.runners.process_table import Processes
from review.vocabulary import JobStatus


@dataclass(frozen=True)
class Standing:
    """What takes a look at every note to tell."""

    status: StatusJson
    recovery: RecoveryListJson
    looks: tuple[LookJson, ...]


@dataclass(frozen=True)
class Sweep:
    """Running jobs that one process took."""

    name: str
    host: str
    pid: int
    jobs: int
    since: datetime


def read_standing(
    corpus: Corpus, *, queue: Queue, config: Config, processes: Processes, now: datetime
) -> Standing:
    """Coverage, queue, jobs, what wants recovering and what wants a look, of all partitions.

    :param queue: the open queue, unfiltered.
    """
    looks = read_looks(
        corpus, LookRequest(with_rationale=False), gates_folder=config.gates_folder
    ).looks
    return Standing(
        status=read_status(
            corpus,
            model_partition=None,
            fail_on=(),
            config=config,
            now=now,
            counted=Counted(queue.entry_counts, len(looks), queue.waiting),
        ),
        recovery=list_recoverable(
            older_than=config.abandoned_after, processes=processes, config=config, now=now
        ),
        looks=looks,
    )


def running_sweeps() -> Sequence[Sweep]:
    """Processes with running jobs, the longest at work first."""
    rows = (
        ReviewJob.objects.filter(status=JobStatus.RUNNING, parent_pid__isnull=False)
        .values_list("claimed_by", "parent_host", "parent_pid")
        .annotate(jobs=Count("pk"), since=Min("started_at"))
        .order_by("since")
    )
    return [Sweep(*row) for row in rows]
