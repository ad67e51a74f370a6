"""The whole review at a glance, and what of it trips a gate in continuous integration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from review.conf import Config
from review.contracts.status import StatusJson
from review.corpus import Corpus, NoteList
from review.queries.abandonment import abandoned_jobs
from review.queries.coverage import Coverage, count_jobs, find_orphans, read_coverage
from review.queries.looks import LookRequest, count_looks
from review.queries.problems import no_note_found, problem_json
from review.queries.renames import find_renames
from review.queries.warn_queue import QueueRequest, read_warn_queue
from review.runners.process_table import ProcessTable
from review.store.refusals import store_name
from review.vocabulary import QUEUED_DECISIONS, Decision, JobStatus


class FailOn(StrEnum):
    """What `--fail-on` can ask for; `warn` trips on a fail too."""

    FAIL = "fail"
    WARN = "warn"
    STALE = "stale"


_COUNTED = {FailOn.FAIL: (Decision.FAIL,), FailOn.WARN: QUEUED_DECISIONS}


class Counted(NamedTuple):
    """The entries of the queue, by decision, and the looks there are."""

    queue: dict[str, int]
    needs_a_look: int


def read_status(
    corpus: Corpus,
    *,
    model_partition: str | None,
    fail_on: Iterable[FailOn],
    config: Config,
    now: datetime,
    counted: Counted | None = None,
) -> StatusJson:
    """Coverage, queue, jobs and orphans, of one model partition or of all.

    :param counted: what was counted already.
    """
    coverage = read_coverage(corpus, model_partition=model_partition)
    hidden: Mapping[str, int] = {}
    if counted is None:
        scope = LookRequest(model_partition=model_partition)
        looks = count_looks(corpus, scope, gates_folder=config.gates_folder)
        queue, hidden = _count_queue(corpus, coverage, model_partition)
        counted = Counted(queue, looks)
    status = StatusJson(
        notes=len(coverage.notes),
        gates=len(coverage.gates),
        uncovered=coverage.uncovered,
        partitions=list(coverage.partitions),
        jobs=count_jobs(),
        abandoned_jobs=_abandoned(config, now=now),
        queue=counted.queue,
        needs_a_look=counted.needs_a_look,
        orphans=find_orphans(corpus, coverage),
        problems=[problem_json(problem) for problem in coverage.problems],
        tripped=None,
    )
    status.tripped = "; ".join(_trips(status, set(fail_on), hidden=hidden)) or None
    if any(orphan.kind == "note" for orphan in status.orphans):
        status.renames = find_renames(corpus, coverage.notes, listed=coverage.notes)
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


def _count_queue(
    corpus: Corpus, coverage: Coverage, model_partition: str | None
) -> tuple[dict[str, int], Mapping[str, int]]:
    """Entries by decision; and those reviews that cannot be shown, as their gate cannot be used."""
    request = QueueRequest(model_partition=model_partition, with_rationale=False)
    listed = NoteList(coverage.notes, coverage.problems)
    queue = read_warn_queue(corpus, request, listed=listed)
    counts = Counter(entry.decision for entry in queue.entries)
    return {word.value: counts[word.value] for word in QUEUED_DECISIONS}, queue.hidden


def _abandoned(config: Config, *, now: datetime) -> list[int]:
    found = abandoned_jobs(older_than=config.abandoned_after, processes=ProcessTable(), now=now)
    return list(found)
