"""Message brokers of their own for tests, and Celery workers and sweeps that speak with them."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers.commands import REPOSITORY, process_environment
from tests.helpers.machines import WorkerProcess
from tests.helpers.scripted import Scripted
from tests.helpers.sweeping import SWEEP

_RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """The URL of a Redis server that keeps nothing."""
    port = _free_port()
    options = ["--port", str(port), "--save", "", "--appendonly", "no", "--bind", "127.0.0.1"]
    server = subprocess.Popen(
        ["redis-server", *options, "--dir", str(folder)], stdout=subprocess.DEVNULL
    )
    try:
        _wait_for(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait()


def has_rabbitmq() -> bool:
    return _RABBITMQ.exists() and os.geteuid() == 0


@contextmanager
def rabbitmq_server(folder: Path) -> Iterator[str]:
    """The URL of a RabbitMQ server that runs as its own user, as its program demands."""
    owner = pwd.getpwnam("rabbitmq")
    home = Path("/tmp") / f"rabbitmq-{os.getpid()}-{time.monotonic_ns()}"  # noqa: S108
    home.mkdir()
    os.chown(home, owner.pw_uid, owner.pw_gid)
    port, names = _free_port(), _free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_NODENAME": f"t{port}@localhost",
        "RABBITMQ_MNESIA_BASE": str(home),
        "RABBITMQ_LOG_BASE": str(home),
        "RABBITMQ_DIST_PORT": str(_free_port()),
        "ERL_EPMD_PORT": str(names),
    }
    as_owner: dict[str, Any] = {
        "user": owner.pw_uid,
        "group": owner.pw_gid,
        "env": environment,
        "cwd": home,
    }
    server = subprocess.Popen(
        [_RABBITMQ], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_owner
    )
    try:
        _wait_for(port)
        yield f"amqp://guest:guest@127.0.0.1:{port}//"
    finally:
        server.terminate()
        server.wait()
        subprocess.run(
            ["epmd", "-port", str(names), "-kill"], stdout=subprocess.DEVNULL, **as_owner
        )
        shutil.rmtree(home, ignore_errors=True)


def celery_worker(base: Scripted, url: str, *arguments: str) -> WorkerProcess:
    """A worker with one process for jobs; `-B` has it send what is forgotten."""
    celery = [sys.executable, "-m", "celery", "-A", "commonplace_site.workers", "worker"]
    name = f"w{time.monotonic_ns()}@localhost"
    options = ["-c", "1", "-n", name, "--without-mingle", "--without-gossip", *arguments]
    if "-B" in arguments:
        options += ["-s", str(base.root.parent / "beat")]
    return WorkerProcess(
        base, [*celery, *options], COMMONPLACE_BROKER_URL=url, PYTHONPATH=str(REPOSITORY)
    )


def start_sweep(base: Scripted, url: str, *, in_flight: int) -> subprocess.Popen[str]:
    """A sweep over everything, by the workers."""
    argv = [*SWEEP, "--dispatch", "celery", "--jobs", str(in_flight), "--json"]
    return subprocess.Popen(
        [sys.executable, str(REPOSITORY / "manage.py"), *argv],
        cwd=base.root,
        env=process_environment(base.root) | base.env | {"COMMONPLACE_BROKER_URL": url},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int) -> None:
    until = time.monotonic() + 60
    while True:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < until, "the broker does not listen"
        time.sleep(0.1)
