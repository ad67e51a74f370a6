"""The whole review at a glance, and what of it trips a gate in continuous integration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum

from review.documents.problems import no_note_found, problem_json
from review.jobs.recoverable import abandoned_jobs
from review.knowledge_base import Corpus, NoteList
from review.overview.coverage import count_jobs, count_uncovered, find_orphans, read_coverage
from review.overview.status_documents import StatusJson
from review.queue.entries import WarnQueue, read_warn_queue
from review.queue.queue import QueueFilter
from review.reviews.needs_a_look import LookRequest, count_looks
from review.reviews.pair_states import BEST, PairStates, read_pair_states
from review.runners.process.table import ProcessTable
from review.selection.renames import find_renames
from review.settings.config import Config
from review.store.errors import store_name
from review.vocabulary import QUEUED_DECISIONS, Decision, JobStatus


class FailOn(StrEnum):
    """What `--fail-on` can ask for; `warn` trips on a fail too."""

    FAIL = "fail"
    WARN = "warn"
    STALE = "stale"


_COUNTED = {FailOn.FAIL: (Decision.FAIL,), FailOn.WARN: QUEUED_DECISIONS}


def read_status(
    corpus: Corpus,
    *,
    model_partition: str | None,
    fail_on: Iterable[FailOn],
    config: Config,
    now: datetime,
) -> StatusJson:
    """Coverage, queue, jobs and orphans, of one model partition or of all."""
    states = read_pair_states(corpus, config=config)
    scope = LookRequest(model_partition=model_partition)
    queue = _read_queue(corpus, states, model_partition)
    status = StatusJson(
        notes=len(states.notes),
        gates=len(states.gates),
        uncovered=count_uncovered(states, partition=model_partition or BEST),
        partitions=read_coverage(
            states, [model_partition] if model_partition else states.partitions
        ),
        jobs=count_jobs(),
        abandoned_jobs=_abandoned(config, now=now),
        queue=dict(queue.count_entries()),
        waiting_findings=queue.waiting,
        needs_a_look=count_looks(corpus, scope, gates_folder=config.gates_folder),
        orphans=find_orphans(corpus, states),
        problems=[problem_json(problem) for problem in states.problems],
        tripped=None,
    )
    status.tripped = "; ".join(_trips(status, set(fail_on), hidden=queue.hidden)) or None
    if any(orphan.kind == "note" for orphan in status.orphans):
        status.renames = find_renames(corpus, states.notes, listed=states.notes)
    status.notices = list(_notices(status, config=config))
    return status


def _notices(status: StatusJson, *, config: Config) -> Iterator[str]:
    """Zeros say little where no note is, and where nobody reviewed: on a first day, in a clone."""
    if not status.notes:
        yield no_note_found(config.note_roots)
    decided = any(
        any(gate.decisions.values()) for partition in status.partitions for gate in partition.gates
    )
    if not (decided or status.jobs[JobStatus.COMPLETED] or status.needs_a_look):
        yield (
            f"{store_name()} holds no review yet: that nothing waits in the queue says nothing about"
            " the notes; --fail-on stale fails where a pair has no review"
        )


def _trips(status: StatusJson, levels: set[FailOn], *, hidden: Mapping[str, int]) -> Iterator[str]:
    for level in sorted(levels & _COUNTED.keys()):
        for where, counts in (
            ("in the queue", status.queue),
            ("by gates that cannot be used", hidden),
        ):
            found = {word.value: counts.get(word.value, 0) for word in _COUNTED[level]}
            if any(found.values()):
                yield f"{level}: {where}: " + ", ".join(f"{n} {word}" for word, n in found.items())
    if FailOn.STALE in levels:
        yield from (f"stale: {why}" for why in _stale(status))


def _stale(status: StatusJson) -> Iterator[str]:
    # What could not be looked at is not fresh.
    if status.uncovered:
        yield f"pairs that are fresh in no partition: {status.uncovered}"
    skipped = len({problem.path for problem in status.problems if problem.skipped})
    if skipped:
        yield f"files that could not be looked at: {skipped}"
    if status.notes and not status.gates:
        yield "there is no gate to judge the notes by"
    # A base that never had a note is one that begins; of one that had, something hides them.
    gone = sum(orphan.kind == "note" for orphan in status.orphans)
    if gone and not status.notes:
        yield f"no note was found, and {gone} that were reviewed are gone"


def _read_queue(corpus: Corpus, states: PairStates, model_partition: str | None) -> WarnQueue:
    wanted = QueueFilter(partitions=(model_partition,) if model_partition else ())
    listed = NoteList(states.notes, states.problems)
    return read_warn_queue(corpus, wanted, listed=listed)


def _abandoned(config: Config, *, now: datetime) -> list[int]:
    found = abandoned_jobs(older_than=config.abandoned_after, processes=ProcessTable(), now=now)
    return [job.job_id for job in found]
