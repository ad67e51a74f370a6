"""Extends the leases of the jobs that this process runs, and ends a run whose lease is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from django.db import DatabaseError, connection

from review.models import Lease, ReviewJob

# Of a lease: so that three beats may be missed.
_BEATS = 4
_LOOKS_EVERY = 0.5


class JobStop(threading.Event):
    """Set when its own run is to end, or all are."""

    def __init__(self, every_run: threading.Event) -> None:
        super().__init__()
        self._every_run = every_run

    def is_set(self) -> bool:
        return super().is_set() or self._every_run.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        until = time.monotonic() + (threading.TIMEOUT_MAX if timeout is None else timeout)
        while not self.is_set() and (left := until - time.monotonic()) > 0:
            super().wait(min(left, _LOOKS_EVERY))
        return self.is_set()


@dataclass
class Beats:
    """The leases of this process, extended by one statement of one thread while there are any."""

    length: timedelta = timedelta(minutes=1)
    _held: dict[int, tuple[Lease, JobStop]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def keep(self, job_id: int, lease: Lease, *, stop: threading.Event) -> Iterator[JobStop]:
        """Extend the lease meanwhile; the event is set with `stop`, or when it cannot be extended.

        That is when another worker has the job, or its run was cancelled.
        """
        job_stop = JobStop(stop)
        with self._lock:
            self._held[job_id] = lease, job_stop
            if len(self._held) == 1:
                self._ended = threading.Event()
                threading.Thread(target=self._beat, args=[self._ended], daemon=True).start()
        try:
            yield job_stop
        finally:
            with self._lock:
                del self._held[job_id]
                if not self._held:
                    self._ended.set()

    def _beat(self, ended: threading.Event) -> None:
        try:
            while not ended.wait(self.length.total_seconds() / _BEATS):
                try:
                    self._extend()
                except DatabaseError:  # of a server that is away; the next beat tries again
                    connection.close()
        finally:
            connection.close()

    def _extend(self) -> None:
        with self._lock:
            held = dict(self._held)
        leases = {job_id: lease for job_id, (lease, _stop) in held.items()}
        if ReviewJob.objects.extend(leases, by=self.length) == len(held):
            return
        rows = ReviewJob.objects.filter(pk__in=held, leased_until__isnull=False)
        tokens = dict(rows.values_list("pk", "claim_token"))
        for job_id, (lease, job_stop) in held.items():
            if tokens.get(job_id) != lease.token:
                job_stop.set()
