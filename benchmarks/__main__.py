"""`make bench`: the hot commands beside their floors, with the budgets they are held to.

    python -m benchmarks [--sizes 1000 10000] [--gates 40] [--runs 5]

Every figure is measured in this run on this machine; a ratio compares two programs run in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from benchmarks.bulk_store import Filling, accept_all
from benchmarks.make_kb import KnowledgeBase, make_files, set_up_django
from benchmarks.measure import PROJECT, Run, commonplace, floor, in_turn

PARTITION = "bench-model"
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
    parser.add_argument("--sweep-jobs", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
        starts(Path(folder, "empty"), runs=options.runs)
        for size in options.sizes:
            root = Path(folder, str(size))
            base = _build(root, notes=size, gates=options.gates)
            selector(base, runs=options.runs)
            pipeline(root, label=f"{size} notes, {size * options.gates:,} accepted pairs")
        sweep(Path(folder, "sweep"), notes=options.sweep_jobs)


def starts(root: Path, *, runs: int) -> None:
    """Hot commands against a bare Django command."""
    make_files(root, notes=0, gates=0)
    (root / "kb" / "notes").mkdir(parents=True)
    env = _env(root)
    commands = {"bare": floor("start")}
    commands |= {name: commonplace(*words) for name, words in HOT.items()}
    taken = in_turn(commands, env=env, cwd=root, runs=max(runs, 9))
    _title(f"start of a command; a bare Django command takes {taken['bare'].seconds:.3f} s")
    for name in HOT:
        _row(name, taken[name], taken["bare"].seconds, budget=1.15)


def selector(base: KnowledgeBase, *, runs: int) -> None:
    """The selector, warm, cold, with 1 % of the notes changed, and with nothing accepted."""
    root, env = base.root, _env(base.root)
    store = str(root / "kb/reports/review-store.sqlite")
    select = ("review_target_selector", "--all-gates", "--json")
    fresh = (*select, "--model", PARTITION)
    taken = in_turn(
        {
            "start": floor("start"),
            "cold floor": floor("cold", str(root), store),
            "warm floor": floor("warm", str(root), store),
            "warm, all fresh": commonplace(*fresh),
            "one note": commonplace(*fresh, "--note", base.notes[0]),
            "cold (--no-cache)": commonplace(*fresh, "--no-cache"),
            "nothing accepted": commonplace(*select, "--model", "other"),
            "warn queue": commonplace("warn_selector", "--json"),
        },
        env=env,
        cwd=root,
        runs=runs,
    )
    start = taken["start"].seconds
    _title(f"{len(base.notes):,} notes x {len(base.gates)} gates; start {start:.3f} s")
    warm = start + taken["warm floor"].seconds
    _row("selector warm, all fresh", taken["warm, all fresh"], warm, budget=2, mib=250)
    cold = start + taken["cold floor"].seconds
    _row("selector cold", taken["cold (--no-cache)"], cold, budget=2)
    _row("selector, one note", taken["one note"], start)
    _row("selector, nothing accepted (JSON)", taken["nothing accepted"], start, seconds=4, mib=250)
    _row("warn queue (JSON)", taken["warn queue"], start, seconds=0.6)
    for path in base.notes[:: max(1, len(base.notes) // max(1, len(base.notes) // 100))]:
        with (root / path).open("a", encoding="utf-8") as note:
            note.write("One sentence more.\n")
    changed = in_turn({"changed": commonplace(*fresh)}, env=env, cwd=root, runs=runs)["changed"]
    _row("selector, 1 % of the notes changed", changed, warm)


def pipeline(root: Path, *, label: str) -> None:
    """Create, claim and ingest in one process, in a nearly empty store and in this full one."""
    _title(f"one process, 300 jobs of 3 pairs; store: {label}")
    figures = {}
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
        empty = Path(folder, "first-decile")
        make_files(empty, notes=400, gates=40)
        for name, place in (("empty", empty), ("full", root)):
            answer = subprocess.run(
                [sys.executable, str(PROJECT / "benchmarks" / "pipeline.py"), str(place)],
                env={**os.environ, **_env(place)},
                cwd=place,
                check=True,
                capture_output=True,
            )
            figures[name] = json.loads(answer.stdout)
    budgets = {"create_jobs_per_second": 500, "ingest_pairs_per_second": 300}
    for what, full in figures["full"].items():
        budget = budgets.get(what)
        verdict = "" if budget is None else f"  budget {budget}: {_met(full >= budget)}"
        empty_rate = figures["empty"][what]
        line = f"{what.replace('_', ' '):38} {full:8.0f}  in an empty store {empty_rate:8.0f}  ({full / empty_rate:.2f}x){verdict}"
        print(line, flush=True)


def sweep(root: Path, *, notes: int) -> None:
    """A parent's own time and memory for each job, when the runner answers at once."""
    root.mkdir()
    answer = subprocess.run(
        [
            sys.executable,
            str(PROJECT / "benchmarks" / "sweep.py"),
            str(root),
            "--notes",
            str(notes),
        ],
        env={**os.environ, **_env(root)},
        cwd=root,
        check=True,
        capture_output=True,
    )
    told = json.loads(answer.stdout)
    _title(f"a sweep of {notes:,} jobs, 4 at once, with a runner that answers at once")
    print(f"{'jobs per second':38} {told['jobs_per_second']:8.1f}", flush=True)
    for what, unit in (("parent_cpu_ms", "ms"), ("wall_ms", "ms"), ("resident_mib", "MiB")):
        first, last = told[f"{what}_first"], told[f"{what}_last"]
        flat = f"flat (<= 1.25 x): {_met(last <= 1.25 * first)}"
        name = f"{what.replace('_', ' ')} a job, last tenth".removesuffix(
            " a job, last tenth" if unit == "MiB" else ""
        )
        print(f"{name:38} {last:8.1f} {unit}  in the first {first:8.1f}  {flat}", flush=True)


def _build(root: Path, *, notes: int, gates: int) -> KnowledgeBase:
    base = make_files(root, notes=notes, gates=gates)
    # In a process of its own, so that each size has its own store.
    child = os.fork()
    if not child:
        set_up_django(root)
        accept_all(base, Filling(PARTITION))
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit("the store could not be built")
    return base


def _env(root: Path) -> Mapping[str, str]:
    return {"COMMONPLACE_ROOT": str(root), "PYTHONDONTWRITEBYTECODE": "", "NO_COLOR": "1"}


def _title(text: str) -> None:
    print(f"\n{text}", flush=True)


def _row(
    name: str,
    run: Run,
    beside: float,
    *,
    budget: float | None = None,
    seconds: float | None = None,
    mib: float | None = None,
) -> None:
    ratio = run.seconds / beside
    verdicts = []
    if budget is not None:
        verdicts.append(f"<= {budget} x: {_met(ratio <= budget)}")
    if seconds is not None:
        verdicts.append(f"<= {seconds} s: {_met(run.seconds <= seconds)}")
    if mib is not None:
        verdicts.append(f"<= {mib} MiB: {_met(run.peak_mib <= mib)}")
    print(
        f"{name:38} {run.seconds:8.3f} s {run.peak_mib:6.0f} MiB {ratio:6.2f} x floor"
        f"  {'; '.join(verdicts)}",
        flush=True,
    )


def _met(held: bool) -> str:
    return "met" if held else "NOT MET"


if __name__ == "__main__":
    main()
