"""The Celery application: its settings, its queues, and the messages that name jobs.

A message is a hint: it names the job to look at. The work, and who does it, is recorded in
the store, so a message may arrive twice, late, or never.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from review.errors import InputRejected, TryAgain
from review.settings import Config

if TYPE_CHECKING:
    from celery import Celery

SETTING = "COMMONPLACE_BROKER_URL"
REAPER = "commonplace.reap"
_TASK = "commonplace.run"
_UPKEEP = "commonplace"
REAP_EVERY = timedelta(minutes=1)


def make_application(config: Config) -> Celery:
    """The application for this configuration; nothing is connected yet."""
    if not config.broker_url:
        raise InputRejected(
            "no broker is configured",
            "no-broker",
            hint=f"set {SETTING}, or url of [broker] in kb/review.toml: amqp://user@host//",
        )
    try:
        from celery import Celery
    except ModuleNotFoundError as error:
        raise InputRejected(
            "Celery is not installed",
            "no-broker",
            hint="install it: pip install 'commonplace-review[celery]'",
        ) from error
    application = Celery("commonplace", broker=config.broker_url, set_as_current=False)
    application.conf.update(_settings(config))
    return application


def task_of(partition: str) -> str:
    """The task of a partition: a rate is a task's."""
    return f"{_TASK}:{partition}"


def send_job(application: Celery, job_id: int, *, partition: str) -> None:
    """Ask the workers of the partition to look at the job; names no password when it cannot."""
    from celery.exceptions import OperationalError

    try:
        application.send_task(task_of(partition), args=[job_id], queue=_queue(partition))
    except OperationalError as error:
        place = urlsplit(application.conf.broker_url)
        raise TryAgain(
            f"the broker at {place.hostname}:{place.port or 'its usual port'} does not answer",
            "broker-unreachable",
            hint="jobs stay queued; start the broker and try again",
        ) from error


def waiting_messages(application: Celery, partition: str) -> int:
    """Count the messages that no worker of the partition has taken yet."""
    with application.connection_for_read() as connection:
        channel = connection.default_channel
        try:
            # Not declared again: a queue that the broker lost has no messages.
            queue = application.amqp.queues[_queue(partition)](channel)
            return int(queue.queue_declare(passive=True).message_count)
        except connection.channel_errors:
            return 0


def _settings(config: Config) -> dict[str, Any]:
    # All runs of a job with their pauses, roughly.
    longest_job = config.sweep_attempts * (config.sweep_timeout + timedelta(minutes=5))
    redis = {"visibility_timeout": 2 * longest_job.total_seconds()}
    return {
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "task_ignore_result": True,
        "worker_prefetch_multiplier": 1,
        # By the default exchange: a broker that forgot its bindings delivers all the same.
        "task_queues": {name: {} for name in (_UPKEEP, *map(_queue, config.workers))},
        "task_default_queue": _UPKEEP,
        "broker_connection_retry_on_startup": True,
        "broker_transport_options": redis if config.broker_url.startswith("redis") else {},
        "beat_schedule": {
            "reap": {
                "task": REAPER,
                "schedule": min(REAP_EVERY, config.lease),
                # One that nobody took in its time is as good as the next.
                "options": {"expires": REAP_EVERY.total_seconds()},
            }
        },
    }


def _queue(partition: str) -> str:
    return f"{_UPKEEP}.{partition}"
