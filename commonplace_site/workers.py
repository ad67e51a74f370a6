"""The workers of a broker: `celery -A commonplace_site.workers worker`, and `beat` once.

Each takes the id of a job and does with the job itself what `run_review_jobs` would do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from celery import Celery, Task
from celery.exceptions import OperationalError, Reject
from celery.signals import celeryd_init
from django.utils import timezone

from commonplace_site.loading import CLI_SETTINGS, load_apps

load_apps(CLI_SETTINGS)

from django.db import connection  # noqa: E402

from review import settings  # noqa: E402
from review.broker import application as broker  # noqa: E402
from review.errors import ReviewError, TryAgain  # noqa: E402
from review.jobs.leases import (  # noqa: E402
    JobNotClaimable,
    LeaseLost,
    forgotten_jobs,
    is_running,
)
from review.knowledge_base import Corpus  # noqa: E402
from review.management.kit.sweeping import stop_on_signals  # noqa: E402
from review.store.errors import translate_db_errors  # noqa: E402
from review.sweeps.executors import WorkerRequest, build_worker  # noqa: E402
from review.sweeps.progress import JobRun, event_of  # noqa: E402
from review.sweeps.run_job import RetryPolicy, run_job  # noqa: E402
from review.upkeep.open_store import open_store  # noqa: E402

_log = logging.getLogger("commonplace.workers")


def _application(config: settings.Config) -> Celery:
    made = broker.make_application(config)
    for partition, declared in config.workers.items():
        made.task(
            _task(partition, declared),
            name=broker.task_of(partition),
            bind=True,
            max_retries=None,
            rate_limit=declared.rate or None,
        )
    made.task(_reap, name=broker.REAPER)
    return made


def _task(partition: str, declared: settings.WorkerSettings) -> Callable[[Task, int], None]:
    def look_at(task: Task, job_id: int) -> None:
        _look_at(task, job_id, partition=partition, declared=declared)

    return look_at


@celeryd_init.connect  # type: ignore[untyped-decorator]
def _open_store(**_: Any) -> None:
    """Refuse a store of another version at the start, and not with each job."""
    with _ending():
        open_store(write=True)
        connection.close()


@contextmanager
def _ending() -> Iterator[None]:
    """End the program with the message of a refusal."""
    try:
        yield
    except ReviewError as refused:
        raise SystemExit(f"commonplace: {refused.message}\n{refused.hint}".rstrip()) from refused


def _look_at(task: Task, job_id: int, *, partition: str, declared: settings.WorkerSettings) -> None:
    """Run the job, if it is to be run; come back to it while it is another's."""
    config = settings.current()
    request = WorkerRequest(
        runner=declared.runner,
        typed=partition,
        timeout=config.sweep_timeout,
        model=declared.model,
        retry=RetryPolicy(config.sweep_attempts),
        hands_on=True,
    )
    try:
        with stop_on_signals() as stop, Corpus(config) as corpus, translate_db_errors():
            worker = build_worker(
                request, linker=corpus.linker, config=config, clock=timezone.now, stop=stop
            )
            outcome = run_job(job_id, worker=worker, on_update=lambda _update: None)
        _log.info("job %s: %s", job_id, event_of(outcome).fields)
    except (JobNotClaimable, LeaseLost) as refused:
        _log.info("%s", refused.message)
        if is_running(job_id):
            raise task.retry(countdown=config.lease.total_seconds()) from refused
        return
    except TryAgain as refused:
        raise task.retry(countdown=config.lease.total_seconds()) from refused
    except ReviewError as refused:
        _log.error("job %s: %s", job_id, refused.message)
        return
    finally:
        connection.close()
    if stop.is_set() and not isinstance(outcome, JobRun):
        raise Reject(requeue=True)


def _reap() -> None:
    """Resend jobs without a worker: brokers lose messages, and workers die with fetched ones."""
    config = settings.current()
    try:
        for partition in config.workers:
            is_idle = not broker.waiting_messages(app, partition)
            for job_id in forgotten_jobs(
                partition, queued_for=broker.REAP_EVERY if is_idle else None
            ):
                broker.send_job(app, job_id, partition=partition)
    except (OperationalError, TryAgain) as error:
        _log.warning("not sent again: %s", error)
    finally:
        connection.close()


with _ending():
    app = _application(settings.current())
