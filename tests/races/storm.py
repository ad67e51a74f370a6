"""Starts the processes of a storm over one store, and a server beside them; gives the verdict."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.helpers.commands import REPOSITORY, process_environment
from tests.helpers.forked import run_forked
from tests.races.base import make_base
from tests.races.books import Book

# A guard against hanging only: the machine may be shared by many.
_HANG = 900
_LISTENING = re.compile(r"Listening at: (http://[0-9.:]+)")


@dataclass(frozen=True)
class Storm:
    """How many processes act for how long, and over how many notes."""

    seconds: float
    seed: int
    processes: int = 8
    notes: int = 12
    with_site: bool = True


def rage(storm: Storm, root: Path, store: Mapping[str, str]) -> dict[str, Any]:
    """Let the processes act on `root` and the store; what was broken, and counts of what was done."""
    books = root.parent / "books"
    books.mkdir()
    root.mkdir()
    with Book(books / "base.jsonl") as book:
        make_base(root, book, notes=storm.notes)
    env = process_environment(root) | dict(store)
    # Made by one command, as a server finds it.
    assert run_forked("migrate", root=root, env=dict(store)).exit == 0
    with ExitStack() as stack:
        site = stack.enter_context(_server(root, env)) if storm.with_site else ""
        workers = [
            stack.enter_context(_worker(storm, number, root=root, books=books, site=site, env=env))
            for number in range(storm.processes)
        ]
        ended = [worker.wait(timeout=storm.seconds + _HANG) for worker in workers]
    verdict = _verdict(books, env)
    verdict["faults"] += [f"worker {n}: exit {code}" for n, code in enumerate(ended) if code]
    verdict["faults"] += list(_said(books))
    verdict["faults"] += list(_unlike_without_cache(root, store))
    return verdict


@contextmanager
def _worker(
    storm: Storm, number: int, *, root: Path, books: Path, site: str, env: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    options = {
        "root": root, "books": books, "number": number, "of": storm.processes, "seed": storm.seed,
        "seconds": storm.seconds, "notes": storm.notes, "site": site,
    }  # fmt: skip
    argv = [sys.executable, "-m", "tests.races.worker"]
    argv += [f"--{name}={value}" for name, value in options.items()]
    with (books / f"worker-{number}.err").open("wb") as errors:
        worker = subprocess.Popen(argv, cwd=REPOSITORY, env=env, stdout=errors, stderr=errors)
        try:
            yield worker
        finally:
            worker.kill()
            worker.wait()


@contextmanager
def _server(root: Path, env: dict[str, str]) -> Iterator[str]:
    """The site, served by threads of one process: its address, with a session's key behind it."""
    path = urlsplit(run_forked("serve", "--link", root=root, env=env).out.strip()).path
    log = root.parent / "books" / "server.err"
    argv = [sys.executable, "-m", "gunicorn", "commonplace_site.wsgi", "--bind", "127.0.0.1:0"]
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [*argv, "--threads", "6"], cwd=REPOSITORY, env=env, stdout=errors, stderr=errors
        ) as server,
    ):
        try:
            address = _address_in(log, server)
            yield f"{address}#{_log_in(address, path)}"
        finally:
            server.terminate()


def _address_in(log: Path, server: subprocess.Popen[bytes]) -> str:
    end = time.monotonic() + _HANG
    while time.monotonic() < end and server.poll() is None:
        if found := _LISTENING.search(log.read_text(encoding="utf-8")):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(log.read_text(encoding="utf-8"))


def _log_in(site: str, path: str) -> str:
    address = urlsplit(site)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=120)
    connection.request("GET", path)
    cookies = connection.getresponse().headers.get_all("Set-Cookie", [])
    (session,) = [text for text in cookies if text.startswith("sessionid=")]
    connection.close()
    return session.partition("=")[2].partition(";")[0]


def _verdict(books: Path, env: dict[str, str]) -> dict[str, Any]:
    argv = [sys.executable, "-m", "tests.races.checking", str(books)]
    done = subprocess.run(
        argv, cwd=REPOSITORY, env=env, capture_output=True, timeout=_HANG, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def _said(books: Path) -> Iterator[str]:
    for file in sorted(books.glob("*.err")):
        text = file.read_text(encoding="utf-8", errors="replace")
        if "Traceback" in text or "locked" in text:
            yield f"{file.name}: {text[-3000:]}"


def _unlike_without_cache(root: Path, store: Mapping[str, str]) -> Iterator[str]:
    """The last word of the file index, as it was left, against the files themselves."""
    select = ("review_target_selector", "--all-gates", "--model", "model-a", "--json")
    cached, read = (
        run_forked(*select, *how, root=root, env=dict(store)) for how in ((), ("--no-cache",))
    )
    if cached.exit or read.exit or cached.out != read.out:
        yield f"with the cache: {cached.err}{cached.out}\n\nwithout: {read.err}{read.out}"
