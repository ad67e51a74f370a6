"""`run_review_jobs --watch` in several processes that are killed, stopped and frozen: each job once."""

from __future__ import annotations

import signal
import time

import pytest

from tests.helpers.machines import (
    GATE,
    SETTINGS,
    faults,
    queue_jobs,
    statuses,
    wait_for_jobs,
    watcher,
)
from tests.helpers.scripted import make_scripted

pytestmark = pytest.mark.own_stores
JOBS = 20


@pytest.fixture
def workers():
    started = []
    yield started
    for worker in started:
        worker.end()


def freeze(worker):
    worker.to_tree(signal.SIGSTOP)
    time.sleep(5)
    worker.to_tree(signal.SIGCONT)


ENDS = {
    "tree-killed": lambda worker: worker.kill_tree(),
    "alone-killed": lambda worker: worker.process.kill(),
    "stopped": lambda worker: worker.to_group(signal.SIGTERM),
    "frozen": freeze,
}


@pytest.mark.parametrize("end", ENDS)
def test_every_job_is_completed_once_whatever_happens_to_a_worker(tmp_path, workers, end):
    base = make_scripted(tmp_path, notes=JOBS, gates=(GATE,), seconds=0.3, settings=SETTINGS)
    queue_jobs(base)
    workers += [watcher(base), watcher(base)]
    wait_for_jobs(base, lambda found: found["completed"] >= 3 and found["running"])

    ENDS[end](workers[0])
    workers.append(watcher(base))
    wait_for_jobs(base, lambda found: found["completed"] == JOBS)
    for worker in workers:
        worker.end()

    wrong = faults(base, JOBS)
    assert not wrong, "\n".join(wrong)
    assert statuses(base) == {"completed": JOBS}
