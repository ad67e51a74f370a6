"""A sweep through 1, 2 and 4 workers of a broker, with a runner that answers after a second.

`python -m benchmarks.workers JOBS` on a machine with PostgreSQL and RabbitMQ, as root.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from tests.helpers.brokers import celery_worker, rabbitmq_server, start_sweep
from tests.helpers.machines import GATE, SETTINGS
from tests.helpers.scripted import make_scripted
from tests.helpers.sweeping import command
from tests.postgres import cluster, find_binaries

SLOTS = 4
_STATEMENT = re.compile(rb"LOG:  (?:execute [^:]*|statement): (?!BEGIN|COMMIT|SAVEPOINT|RELEASE)")
_OPTIONS = (
    "-c listen_addresses='' -c fsync=off -c max_connections=100 -c shared_buffers=64MB"
    " -c log_statement=all"
)


def main(jobs: int) -> None:
    """Print jobs a second and statements a job for each number of workers."""
    binaries = find_binaries()
    if binaries is None:
        sys.exit("PostgreSQL not found")
    for workers in (1, 2, 4):
        with (
            tempfile.TemporaryDirectory() as folder,
            cluster(binaries, options=_OPTIONS) as store,
            rabbitmq_server(Path(folder)) as url,
        ):
            seconds, statements = _measure(jobs, workers, Path(folder), store, url)
            print(
                f"{workers} workers of {SLOTS}: {jobs / seconds:.1f} jobs a second,"
                f" {statements / jobs:.1f} statements a job",
                flush=True,
            )


def _measure(jobs: int, workers: int, folder: Path, store: str, url: str) -> tuple[float, int]:
    with psycopg.connect(store.replace("/review?", "/postgres?"), autocommit=True) as server:
        server.execute("CREATE DATABASE review")
    base = make_scripted(
        folder,
        notes=jobs,
        gates=(GATE,),
        seconds=1.0,
        settings=SETTINGS.replace("3s", "60s"),
        store={"COMMONPLACE_REVIEW_DB": store},
    )
    command(base, "migrate")
    log = Path(store.partition("host=")[2], "log")
    started = [celery_worker(base, url, "-c", str(SLOTS), "-l", "INFO") for _ in range(workers)]
    try:
        while not all(b" ready." in worker.log.read_bytes() for worker in started):
            time.sleep(0.2)
        before = len(_STATEMENT.findall(log.read_bytes()))
        sweep = start_sweep(base, url, in_flight=2 * SLOTS * workers)
        out, _ = sweep.communicate()
    finally:
        for worker in started:
            worker.end()
    answer = json.loads(out)
    if answer["jobs"]["completed"] != jobs:
        sys.exit(out)
    return answer["seconds"], len(_STATEMENT.findall(log.read_bytes())) - before


if __name__ == "__main__":
    main(int(sys.argv[1]))
