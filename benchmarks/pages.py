"""The time a page takes on the server, over a store with 1,000,000 acceptances and 100,000 findings.

    python -m benchmarks.pages [ROOT] [--notes 10000] [--gates 50] [--requests 40]

Without ROOT the base is built first, which takes some minutes: every note by every gate in two model
partitions, a tenth of the pairs with a finding. Each page is asked for in turn by a logged-in client in
this process; the first request, which fills the caches, is listed apart.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import make_kb
from benchmarks.bulk_store import Filling, accept_all

if TYPE_CHECKING:
    from django.test import Client

PARTITIONS = ("bench-model", "other-model@high")
BUDGET_MS = 150
MAX_BYTES = 500_000
WARM = 2


@dataclass(frozen=True)
class Figures:
    """The cost of requests for one page: milliseconds, statements, bytes.

    :param cpu: the median of the processor time; it tells a slow page from a busy machine.
    :param first: until the first answer, which fills the caches.
    """

    first: float
    median: float
    p95: float
    cpu: float
    statements: int
    size: int


def main() -> None:
    """Build if need be, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path)
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--gates", type=int, default=50)
    parser.add_argument("--requests", type=int, default=40)
    options = parser.parse_args()
    if options.root is not None:
        measure(options.root.resolve(), requests=options.requests)
        return
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
        build(Path(folder), notes=options.notes, gates=options.gates)
        measure(Path(folder), requests=options.requests)


def build(root: Path, *, notes: int, gates: int) -> None:
    """The files, and a store in which all of them were reviewed, in a process of its own."""
    base = make_kb.make_files(root, notes=notes, gates=gates)
    child = os.fork()
    if not child:
        make_kb.set_up_django(root)
        accept_all(base, *(Filling(name, warn_every=10) for name in PARTITIONS))
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit("the store could not be built")


def measure(root: Path, *, requests: int) -> None:
    """Ask for each page and print what it took."""
    client = _client(root)
    from review.models import CurrentAcceptance, Finding

    counts = (
        f"{CurrentAcceptance.objects.count():,} acceptances, {Finding.objects.count():,} findings"
    )
    print(
        f"\npages on the server; {counts}; budget p95 {BUDGET_MS} ms, {MAX_BYTES // 1000} kB",
        flush=True,
    )
    print(
        f"{'page':34} {'p95':>8} {'median':>8} {'cpu':>8} {'first':>9} {'kB':>7} {'statements':>11}",
        flush=True,
    )
    for name, address in _addresses().items():
        figures = _ask(client, address, requests=requests)
        met = figures.p95 <= BUDGET_MS and figures.size <= MAX_BYTES
        print(
            f"{name:34} {figures.p95:6.0f}ms {figures.median:6.0f}ms {figures.cpu:6.0f}ms {figures.first:7.0f}ms "
            f"{figures.size / 1000:7.1f} {figures.statements:11}  {'ok' if met else 'MISSED'}",
            flush=True,
        )


def _client(root: Path) -> Client:
    os.environ["COMMONPLACE_ROOT"] = str(root)
    os.environ["DJANGO_SETTINGS_MODULE"] = "commonplace_site.settings.web"
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.test import Client

    import commonplace_site.wsgi  # noqa: F401 - loads the program as a server does

    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    call_command("migrate", verbosity=0)
    users = get_user_model().objects
    user = users.filter(username="bench").first() or users.create_superuser("bench")
    client = Client()
    client.force_login(user)
    return client


def _addresses() -> dict[str, str]:
    """One address of each kind of page, for what is in the middle of the base."""
    from review.models import Finding, ReviewJob

    middle = Finding.objects.order_by("pk")[Finding.objects.count() // 2]
    note, gate = middle.pair.note.path, middle.pair.gate.path
    gate_id = gate.removeprefix("kb/instructions/review-gates/").removesuffix(".md")
    job_id = ReviewJob.objects.order_by("pk").values_list("pk", flat=True).last()
    return {
        "start": "/",
        "queue": "/queue/",
        "queue, one gate": f"/queue/?gate={gate_id}",
        "finding": f"/findings/{middle.fingerprint}/",
        "needs a look": "/looks/",
        "review": f"/reviews/{middle.pair_id}/",
        "notes": "/notes/",
        "note": f"/notes/{note}",
        "diff": f"/diff/{note}?gate={gate_id}&model={PARTITIONS[0]}",
        "matrix": "/matrix/",
        "gates": "/gates/",
        "gate": f"/gates/{gate_id}",
        "jobs": "/jobs/",
        "jobs, failed": "/jobs/?status=failed",
        "job": f"/jobs/{job_id}",
        "events": "/events/",
        "admin: jobs": "/admin/review/reviewjob/",
        "admin: pairs": "/admin/review/reviewpair/",
        "admin: acceptances": "/admin/review/acceptance/",
    }


def _ask(client: Client, address: str, *, requests: int) -> Figures:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    first, _cpu, _size = _once(client, address)
    for _ in range(WARM - 1):
        _once(client, address)
    with CaptureQueriesContext(connection) as seen:
        _once(client, address)
    statements = len(seen)
    asked = [_once(client, address) for _ in range(requests)]
    times = sorted(taken for taken, _cpu, _size in asked)
    return Figures(
        first=first,
        median=statistics.median(times),
        p95=times[min(len(times) - 1, int(len(times) * 0.95))],
        cpu=statistics.median(cpu for _taken, cpu, _size in asked),
        statements=statements,
        size=max(size for _taken, _cpu, size in asked),
    )


def _once(client: Client, address: str) -> tuple[float, float, int]:
    started, began = time.perf_counter(), time.thread_time()
    response = client.get(address)
    size = len(response.content)
    taken, cpu = (time.perf_counter() - started) * 1000, (time.thread_time() - began) * 1000
    if response.status_code != 200:
        sys.exit(f"{address} answered {response.status_code}")
    return taken, cpu, size


if __name__ == "__main__":
    main()
