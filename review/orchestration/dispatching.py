"""Hands queued jobs to workers and brings back what became of them; the parent drives it."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from django.db import DatabaseError, connection

from review.errors import ReviewError
from review.orchestration.ingesting import RefusedJob
from review.orchestration.news import Crashed, Final, News
from review.orchestration.running import Worker, run_job
from review.store import refusal_of

_LOOK_EVERY = 0.2


class Dispatcher(Protocol):
    """Runs jobs, at most `slots` at a time."""

    @property
    def slots(self) -> int:
        """How many jobs may be under way at once."""

    def send(self, job_id: int) -> None:
        """Hand out a job; its news follow, the last of them a `Final`."""

    def receive(self, seconds: float) -> News | None:
        """The next news; None when there were none for so long."""

    def close(self) -> None:
        """Let the workers go, when nothing is under way any more."""


def drive(
    job_ids: Iterator[int],
    dispatcher: Dispatcher,
    *,
    may_start: Callable[[int], bool],
    tell: Callable[[News], None],
) -> None:
    """Run jobs until none is left and none is under way, or none may start.

    :param may_start: asked before each job with the number of those under way.
    :param tell: hears all news, one at a time, in the thread that calls this.
    """
    under_way = 0
    more = True
    while True:
        while more and under_way < dispatcher.slots and may_start(under_way):
            job_id = next(job_ids, None)
            more = job_id is not None
            if job_id is not None:
                dispatcher.send(job_id)
                under_way += 1
        if not under_way:
            return
        news = dispatcher.receive(_LOOK_EVERY)
        if news is not None:
            under_way -= isinstance(news, Final)
            tell(news)


class SerialDispatcher:
    """Runs one job after the other in the thread that asks for news."""

    slots = 1

    def __init__(self, worker: Worker, *, stop: threading.Event) -> None:
        self._worker = worker
        self._stop = stop
        self._waiting: deque[int] = deque()
        self._news: deque[News] = deque()

    def send(self, job_id: int) -> None:
        """See `Dispatcher.send`."""
        self._waiting.append(job_id)

    def receive(self, seconds: float) -> News | None:
        """See `Dispatcher.receive`; takes as long as the job does."""
        if not self._news and self._waiting:
            job_id = self._waiting.popleft()
            tell = self._news.append
            tell(run_safely(job_id, worker=self._worker, stop=self._stop, tell=tell))
        return self._news.popleft() if self._news else None

    def close(self) -> None:
        """See `Dispatcher.close`."""


class ThreadDispatcher:
    """Runs jobs in threads, each with a database connection of its own."""

    def __init__(self, worker: Worker, *, slots: int, stop: threading.Event) -> None:
        self.slots = slots
        self._worker = worker
        self._stop = stop
        self._jobs: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"worker-{number}", daemon=True)
            for number in range(1, slots + 1)
        ]
        for thread in self._threads:
            thread.start()

    def send(self, job_id: int) -> None:
        """See `Dispatcher.send`."""
        self._jobs.put(job_id)

    def receive(self, seconds: float) -> News | None:
        """See `Dispatcher.receive`."""
        try:
            return self._news.get(timeout=seconds)
        except queue.Empty:
            return None

    def close(self) -> None:
        """See `Dispatcher.close`."""
        for _thread in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        tell = self._news.put
        try:
            while (job_id := self._jobs.get()) is not None:
                tell(run_safely(job_id, worker=self._worker, stop=self._stop, tell=tell))
        finally:
            connection.close()


def run_safely(
    job_id: int, *, worker: Worker, stop: threading.Event, tell: Callable[[News], None]
) -> Final:
    """`run_job`, with every refusal as data; the outermost loop of a worker."""
    try:
        return run_job(job_id, worker=worker, stop=stop, tell=tell)
    except ReviewError as refused:
        return RefusedJob(job_id, refused)
    except DatabaseError as error:
        known = refusal_of(error)
        return Crashed(job_id, error) if known is None else RefusedJob(job_id, known)
    except Exception as error:  # noqa: BLE001  # a worker must answer, or the parent waits for ever
        return Crashed(job_id, error)
