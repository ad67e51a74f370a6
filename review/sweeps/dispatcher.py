"""Hands queued jobs to workers and brings back what became of them; the parent drives it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from django.db import DatabaseError, connection

from review.errors import ReviewError
from review.ingest.ingest import RefusedJob
from review.store import refusal_of
from review.sweeps.job_updates import Crashed, JobOutcome, JobUpdate
from review.sweeps.run_job import Worker, run_job

_LOOK_EVERY = 0.2


class Dispatcher:
    """Runs jobs in up to `slots` threads, each with a database connection of its own.

    What takes this process's own time runs at once instead: it would be no faster in a thread.
    """

    def __init__(self, worker: Worker, *, slots: int, stop: threading.Event) -> None:
        self.slots = 1 if worker.executor.in_process else slots
        self.stop = stop
        self._worker = worker
        self._jobs: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._updates: queue.SimpleQueue[JobUpdate | Crashed] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    def send(self, job_id: int) -> None:
        """Hand out a job; its updates follow, the last of them a `JobOutcome`, or `Crashed`."""
        if self._worker.executor.in_process:
            self._run(job_id)
            return
        if len(self._threads) < self.slots:
            self._threads.append(threading.Thread(target=self._work, daemon=True))
            self._threads[-1].start()
        self._jobs.put(job_id)

    def receive(self) -> JobUpdate | Crashed | None:
        """The next update; None when there was none for a moment."""
        try:
            return self._updates.get(timeout=_LOOK_EVERY)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Let the threads end, when nothing is under way any more."""
        for _thread in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self, job_id: int) -> None:
        """Run a job, with every refusal as an update: the outermost loop of a worker."""
        outcome: JobOutcome | Crashed
        try:
            outcome = run_job(
                job_id, worker=self._worker, stop=self.stop, on_update=self._updates.put
            )
        except ReviewError as refused:
            outcome = RefusedJob(job_id, refused)
        except DatabaseError as error:
            known = refusal_of(error)
            outcome = Crashed(job_id, error) if known is None else RefusedJob(job_id, known)
        except Exception as error:  # noqa: BLE001  # a worker must answer, or the parent waits for ever
            outcome = Crashed(job_id, error)
        self._updates.put(outcome)

    def _work(self) -> None:
        try:
            while (job_id := self._jobs.get()) is not None:
                self._run(job_id)
        finally:
            connection.close()


def drive(
    job_ids: Iterator[int | None],
    dispatcher: Dispatcher,
    *,
    may_start: Callable[[int], bool],
    on_update: Callable[[JobUpdate], None],
) -> None:
    """Run jobs until none is left and none is under way, or none may start.

    A fault of a worker is raised when the others have ended.

    :param job_ids: where it gives None, it is asked again when a job has ended.
    :param may_start: asked before each job with the number of those under way.
    :param on_update: hears all updates, one at a time, in the thread that calls this.
    """
    under_way = 0
    crash: Exception | None = None
    try:
        while under_way := _fill(job_ids, dispatcher, may_start=may_start, under_way=under_way):
            update = dispatcher.receive()
            under_way -= isinstance(update, JobOutcome | Crashed)
            if isinstance(update, Crashed):
                crash = crash or update.error
                dispatcher.stop.set()
            elif update is not None:
                on_update(update)
    except BaseException:
        dispatcher.stop.set()
        raise
    finally:
        dispatcher.close()
    if crash is not None:
        raise crash


def _fill(
    job_ids: Iterator[int | None],
    dispatcher: Dispatcher,
    *,
    may_start: Callable[[int], bool],
    under_way: int,
) -> int:
    """Hand out what may start; how many jobs are under way then."""
    while under_way < dispatcher.slots and may_start(under_way):
        job_id = next(job_ids, None)
        if job_id is None:
            break
        dispatcher.send(job_id)
        under_way += 1
    return under_way
