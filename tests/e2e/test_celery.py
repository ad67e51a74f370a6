"""Sweeps by Celery workers that are killed, stopped and frozen, over brokers that forget: each job once."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.helpers.brokers import (
    celery_worker,
    has_rabbitmq,
    rabbitmq_server,
    redis_server,
    start_sweep,
)
from tests.helpers.machines import GATE, SETTINGS, faults, statuses, wait_for_jobs, watcher
from tests.helpers.machines import queue_jobs as queue
from tests.helpers.scripted import make_scripted
from tests.helpers.sweeping import command
from tests.postgres import cluster, control, find_binaries

needs_redis = pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server not found")
needs_rabbitmq = pytest.mark.skipif(
    not has_rabbitmq(), reason="rabbitmq-server not found, or not started as root"
)
needs_postgres = pytest.mark.skipif(find_binaries() is None, reason="PostgreSQL not found")


@pytest.fixture
def workers():
    started = []
    yield started
    for worker in started:
        worker.end()


@needs_redis
class TestOnRedis:
    def test_every_job_of_a_sweep_is_completed_once_though_a_worker_is_killed(
        self, tmp_path, workers
    ):
        base = make_scripted(tmp_path, notes=10, gates=(GATE,), seconds=0.3, settings=SETTINGS)
        with redis_server(tmp_path) as url:
            workers += [celery_worker(base, url), celery_worker(base, url, "-B")]
            sweep = start_sweep(base, url, in_flight=10)
            wait_for_jobs(base, lambda found: found["completed"] >= 2 and found["running"])

            workers[0].kill_tree()
            out, _ = sweep.communicate(timeout=120)
            for worker in workers:
                worker.end()

        assert json.loads(out)["jobs"]["completed"] == 10
        assert sweep.returncode == 0
        assert faults(base, 10) == []

    def test_ctrl_c_ends_what_runs_and_keeps_what_is_complete(self, tmp_path, workers):
        base = make_scripted(
            tmp_path,
            notes=4,
            gates=(GATE, "prose/y"),
            settings=SETTINGS,
            script={"*": "half", "kb/notes/n000.md": "finished"},
        )
        with redis_server(tmp_path) as url:
            workers.append(celery_worker(base, url))
            sweep = start_sweep(base, url, in_flight=3)
            wait_for_jobs(base, lambda found: found["completed"] == 1 and found["running"])
            while len(base.blocks()) < 3:
                time.sleep(0.1)

            sweep.send_signal(signal.SIGINT)
            out, _ = sweep.communicate(timeout=60)

        answer = json.loads(out)
        assert (sweep.returncode, answer["stopped"]) == (130, "interrupted")
        # The first block of the job that ran was whole.
        assert answer["pairs"]["pass"] == 3
        assert set(statuses(base)) == {"completed", "failed"}


def test_a_broker_that_is_away_is_named_without_its_password(tmp_path):
    base = make_scripted(tmp_path, notes=1, gates=(GATE,), settings=SETTINGS)
    base.store["COMMONPLACE_BROKER_URL"] = "amqp://ana:geheim@127.0.0.1:9//"

    done = command(base, "review_sweep", "--all-gates", "--runner", "scripted",
                   "--model", "scripted-1", "--dispatch", "celery", "--json")  # fmt: skip

    assert done.exit == 75
    assert "the broker at 127.0.0.1:9 does not answer" in done.err
    assert "geheim" not in done.out + done.err


JOBS = 50


# A server that is stopped at once keeps what it has said is committed.
SERVER = "-c listen_addresses='' -c fsync=off -c max_connections=100 -c shared_buffers=64MB"


@contextmanager
def server_store() -> Iterator[str]:
    """A database of its own on a PostgreSQL server of its own; gives its URL."""
    with cluster(find_binaries(), options=SERVER) as url:
        with psycopg.connect(url.replace("/review?", "/postgres?"), autocommit=True) as server:
            server.execute("CREATE DATABASE review")
        yield url


def freeze(worker, **_):
    worker.to_tree(signal.SIGSTOP)
    time.sleep(8)
    worker.to_tree(signal.SIGCONT)


def flush(_worker, *, url, **_):
    from kombu import Connection, Queue

    with Connection(url) as connection:
        if url.startswith("redis"):
            connection.default_channel.client.flushall()
        else:
            Queue("commonplace.scripted-1", routing_key="commonplace.scripted-1")(
                connection.default_channel
            ).purge()


def restart(_worker, *, store, **_):
    from pathlib import Path

    control(find_binaries(), Path(store.partition("host=")[2]), "restart")


ENDS = {
    "tree-killed": lambda worker, **_: worker.kill_tree(),
    "group-stopped": lambda worker, **_: worker.to_group(signal.SIGTERM),
    "frozen": freeze,
    "broker-flushed": flush,
    "store-restarted": restart,
}
CASES = [
    *(pytest.param("rabbitmq", end, marks=needs_rabbitmq, id=f"rabbitmq-{end}") for end in ENDS),
    *(pytest.param("redis", end, marks=needs_redis, id=f"redis-{end}") for end in ENDS),
    *(pytest.param("none", end, id=f"watch-{end}") for end in ENDS if end != "broker-flushed"),
]


@pytest.mark.soak
@needs_postgres
@pytest.mark.parametrize(("broker", "end"), CASES)
def test_fifty_jobs_of_two_workers_outlive_it(tmp_path, workers, broker, end, capsys):
    with server_store() as store, running(broker, tmp_path) as url:
        named = {"COMMONPLACE_REVIEW_DB": store}
        base = make_scripted(
            tmp_path, notes=JOBS, gates=(GATE,), seconds=1.0, settings=SETTINGS, store=named
        )
        assert command(base, "migrate").exit == 0

        def start(*arguments):
            workers.append(celery_worker(base, url, *arguments) if url else watcher(base))

        start()
        start("-B")
        if url:
            sweep = start_sweep(base, url, in_flight=JOBS)
        else:
            queue(base)
        wait_for_jobs(base, lambda found: found["completed"] or found["running"])
        began = time.monotonic()
        wait_for_jobs(base, lambda found: found["completed"] >= 10)
        ENDS[end](workers[0], url=url, store=store)
        time.sleep(3)
        start()
        wait_for_jobs(base, lambda found: found["completed"] == JOBS)
        seconds = time.monotonic() - began
        if url:
            out, _ = sweep.communicate(timeout=60)
            assert json.loads(out)["jobs"]["completed"] == JOBS
        for worker in workers:
            worker.end()

        assert faults(base, JOBS) == []
        calls = base.calls().total()
    with capsys.disabled():
        print(f"\n{broker} {end}: {JOBS} of {JOBS} after {seconds:.0f} s, {calls} runs")  # noqa: T201


@contextmanager
def running(broker, folder):
    if broker == "none":
        yield ""
    else:
        with {"redis": redis_server, "rabbitmq": rabbitmq_server}[broker](folder) as url:
            yield url
