"""`make bench`: the hot commands beside their floors, with the budgets they are held to.

    python -m benchmarks [--sizes 1000 10000] [--gates 40] [--runs 5] [--stores sqlite postgresql]

Every figure is measured in this run on this machine; a ratio compares two programs run in turn.
On PostgreSQL, where a server can be had, the largest size is measured again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.bulk_store import Filling, accept_all
from benchmarks.make_kb import KnowledgeBase, make_files, set_up_django
from benchmarks.measure import PROJECT, commonplace, floor, in_turn
from benchmarks.stores import Place, Server, server
from benchmarks.table import line, met, row, title

PARTITION = "bench-model"
# With these, 10,000 notes by 40 gates have 2,000,000 current acceptances, and 15,000 findings.
OTHERS = tuple(f"other-model-{number}" for number in range(1, 5))
WARN_EVERY = 27
HOT = {
    "review_job_list": ("review_job_list",),
    "claim --next (none)": ("claim_review_job", "--next", "--runner", "bench"),
    "ingest --ready (none)": ("ingest_bundle_output", "--ready"),
    "selector (empty base)": ("review_target_selector", "--all-gates"),
    "warn_selector (empty)": ("warn_selector",),
}


def main() -> None:
    """Build bases, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--gates", type=int, default=40)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=100, help="a round of create, claim and ingest")
    parser.add_argument("--sweep-jobs", type=int, default=1000)
    parser.add_argument(
        "--stores", nargs="+", choices=["sqlite", "postgresql"], default=["sqlite", "postgresql"]
    )
    options = parser.parse_args()
    one, five, fifteen = os.getloadavg()
    line("load before", f"{one:.1f} {five:.1f} {fifteen:.1f} on {os.cpu_count()} processors")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="commonplace-bench-")))
        if "sqlite" in options.stores:
            for size in options.sizes:
                measure(folder, options, notes=size, is_largest=size == max(options.sizes))
            sweep(folder / "sweep", notes=options.sweep_jobs)
        if "postgresql" in options.stores:
            found = stack.enter_context(server())
            if found is None:
                title("PostgreSQL: no server on this machine; see tests/postgres.py")
                return
            largest = max(options.sizes)
            measure(folder, options, notes=largest, is_largest=True, on=found)


def measure(
    folder: Path,
    options: argparse.Namespace,
    *,
    notes: int,
    is_largest: bool,
    on: Server | None = None,
) -> None:
    """Everything at one size, in a file or on a server."""
    kind = "sqlite" if on is None else "postgresql"

    def place(name: str) -> Place:
        name = f"{kind}-{notes}-{name}"
        return Place(folder / name, on.new_database(name) if on else "")

    if is_largest:
        starts(place("empty"), runs=options.runs)
    full = place("full")
    base = make_files(full.root, notes=notes, gates=options.gates)
    in_child(full, lambda: accept_all(base, Filling(PARTITION, WARN_EVERY)))
    selector(full, base, runs=options.runs)
    if is_largest:
        warn_queue(full, base, runs=options.runs)
        changed(full, base, runs=options.runs)
        deciles = place("deciles")
        make_files(deciles.root, notes=notes, gates=options.gates)
        pipeline(deciles, jobs=options.jobs)


def in_child(place: Place, work: Callable[[], None]) -> None:
    """Do something in a process of its own, so that each store has its own."""
    child = os.fork()
    if not child:
        os.environ.update(place.env)
        set_up_django(place.root)
        work()
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit("the store could not be filled")


def starts(place: Place, *, runs: int) -> None:
    """Hot commands against a bare Django command."""
    make_files(place.root, notes=0, gates=0)
    (place.root / "kb" / "notes").mkdir(parents=True)
    commands = {"bare": floor("start", *(["connect"] if place.database else []))}
    commands |= {name: commonplace(*words) for name, words in HOT.items()}
    taken = in_turn(commands, env=place.env, cwd=place.root, runs=max(runs, 9))
    bare = taken["bare"].seconds
    with_driver = " that connects" if place.database else ""
    title(
        f"{place.kind}: start of a command; a bare Django command{with_driver} takes {bare:.3f} s"
    )
    for name in HOT:
        row(name, taken[name], bare, budget=1.15)


def selector(place: Place, base: KnowledgeBase, *, runs: int) -> None:
    """The selector, warm, cold, of one note, and with nothing accepted."""
    select = ("review_target_selector", "--all-gates", "--json")
    fresh = (*select, "--model", PARTITION)
    taken = in_turn(
        {
            "start": floor("start"),
            "cold floor": floor("cold", str(place.root), place.store),
            "warm floor": floor("warm", str(place.root), place.store),
            "warm": commonplace(*fresh),
            "one note": commonplace(*fresh, "--note", base.notes[0]),
            "cold": commonplace(*fresh, "--no-cache"),
            "no model": commonplace(*select),
            "nothing": commonplace(*select, "--model", "nobody"),
            "status": commonplace("review_status", "--json"),
        },
        env=place.env,
        cwd=place.root,
        runs=runs,
    )
    start = taken["start"].seconds
    warm, cold = (start + taken[f"{name} floor"].seconds for name in ("warm", "cold"))
    pairs = len(base.notes) * len(base.gates)
    title(f"{place.kind}: {len(base.notes):,} notes x {len(base.gates)} gates; start {start:.3f} s")
    row("selector warm, all fresh", taken["warm"], warm, budget=2, mib=250)
    row("selector cold", taken["cold"], cold, budget=2)
    row("selector, one note", taken["one note"], start)
    row("selector, without a model", taken["no model"], warm)
    row(f"selector, {pairs:,} targets (JSON)", taken["nothing"], start, seconds=4, mib=250)
    row("review_status", taken["status"], warm)


def warn_queue(place: Place, base: KnowledgeBase, *, runs: int) -> None:
    """The queue before and after four other models accepted everything."""
    queue = {"queue": commonplace("warn_selector", "--json"), "start": floor("start")}
    few = in_turn(queue, env=place.env, cwd=place.root, runs=runs)
    in_child(place, lambda: accept_all(base, *(Filling(name, 0) for name in OTHERS)))
    many = in_turn(queue, env=place.env, cwd=place.root, runs=runs)
    pairs = len(base.notes) * len(base.gates)
    title(f"{place.kind}: warn queue (JSON), {pairs // WARN_EVERY:,} open findings")
    row(f"among {pairs:,} acceptances", few["queue"], few["start"].seconds)
    pairs *= 1 + len(OTHERS)
    row(f"among {pairs:,} acceptances", many["queue"], many["start"].seconds, seconds=1.0)


def changed(place: Place, base: KnowledgeBase, *, runs: int) -> None:
    """The selector, when one note in a hundred was edited."""
    fresh = ("review_target_selector", "--all-gates", "--json", "--model", PARTITION)
    commands = {
        "start": floor("start"),
        "floor": floor("warm", str(place.root), place.store),
        "changed": commonplace(*fresh),
    }
    for path in base.notes[::100]:
        with (place.root / path).open("a", encoding="utf-8") as note:
            note.write("One sentence more.\n")
    taken = in_turn(commands, env=place.env, cwd=place.root, runs=runs)
    title(f"{place.kind}: one note in a hundred changed")
    row("selector", taken["changed"], taken["start"].seconds + taken["floor"].seconds)


def pipeline(place: Place, *, jobs: int) -> None:
    """Create, claim and ingest in one process, in each tenth of the store's filling."""
    told = _told("pipeline.py", place, "--jobs", str(jobs))
    title(f"{place.kind}: one process, jobs of 3 pairs, in each tenth of the store's filling")
    budgets = {
        "create_jobs": 500,
        "claims": None,
        "ingest_pairs": 300,
        "ingest_pairs_singly": None,
    }
    for name, budget in budgets.items():
        for clock, unit in (("wall", "a second"), ("cpu", "a second of the processor")):
            rates = [tenth[clock][name] for tenth in told]
            text = " ".join(f"{rate:5.0f}" for rate in rates)
            text += f"  last/first {rates[-1] / rates[0]:.2f}"
            if budget is not None and clock == "wall":
                text += f"  >= {budget}: {met(min(rates) >= budget)}"
            line(f"{name.replace('_', ' ')} {unit}", text)


def sweep(root: Path, *, notes: int) -> None:
    """A parent's own time and memory for each job, when the runner answers at once."""
    root.mkdir()
    told = _told("sweep.py", Place(root), "--notes", str(notes))
    title(f"SQLite: a sweep of {notes:,} jobs, 4 at once, with a runner that answers at once")
    line("jobs per second", f"{told['jobs_per_second']:8.1f}")
    for what, unit in (("parent_cpu_ms", "ms"), ("wall_ms", "ms"), ("resident_mib", "MiB")):
        first, last = told[f"{what}_first"], told[f"{what}_last"]
        flat = f"flat (<= 1.25 x): {met(last <= 1.25 * first)}"
        per_job = "" if unit == "MiB" else " a job"
        name = f"{what.replace('_', ' ')}{per_job}, last tenth"
        line(name, f"{last:8.1f} {unit}  in the first {first:8.1f}  {flat}")


def _told(script: str, place: Place, *options: str) -> Any:
    """Run a script of this folder on a place, and return its JSON."""
    command = [sys.executable, str(PROJECT / "benchmarks" / script), str(place.root), *options]
    environment = {**os.environ, **place.env}
    done = subprocess.run(
        command, env=environment, cwd=place.root, check=False, capture_output=True
    )
    if done.returncode:
        sys.exit(f"{script} ended with {done.returncode}:\n{done.stderr.decode()}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
