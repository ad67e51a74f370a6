"""Workers of one queue as processes, ended in every way that processes end, and what they left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.helpers.commands import REPOSITORY, process_environment
from tests.helpers.scripted import MODEL, Scripted, is_running, note
from tests.helpers.sweeping import command, listed

# Of a lease: short, so that a test need not wait for a minute.
SETTINGS = """
[jobs]
lease = "3s"

[workers.scripted-1]
runner = "scripted"
"""
GATE = "prose/x"


class WorkerProcess:
    """A worker in a process group of its own."""

    def __init__(self, base: Scripted, argv: list[str], **environment: str) -> None:
        self.log = base.root.parent / f"worker-{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                argv,
                cwd=base.root,
                env=process_environment(base.root) | base.env | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill_tree(self) -> None:
        """End it, all below it, and the runners that it started in sessions of their own."""
        for pid in _tree(self.process.pid):
            _send(pid, signal.SIGKILL)
        self.process.wait()

    def to_group(self, number: signal.Signals) -> None:
        os.killpg(self.process.pid, number)

    def to_tree(self, number: signal.Signals) -> None:
        """Signal all processes, as a service manager does that stops a whole control group."""
        for pid in _tree(self.process.pid):
            _send(pid, number)

    def end(self) -> None:
        """Stop it in order, and at once where that takes long."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill_tree()


def watcher(base: Scripted, *arguments: str) -> WorkerProcess:
    """`run_review_jobs --watch` for the scripted runner."""
    command_line = [sys.executable, str(REPOSITORY / "manage.py"), "run_review_jobs", "--watch"]
    what = ["--runner", "scripted", "--model-partition", MODEL, "--jobs", "1"]
    return WorkerProcess(base, [*command_line, *what, *arguments])


def queue_jobs(base: Scripted) -> None:
    """A job for each note of the base."""
    selected = command(base, "review_target_selector", "--all-gates", "--model", MODEL, "--json")
    made = command(
        base,
        "create_review_jobs",
        "--input",
        "-",
        "--grouping",
        "note",
        "--json",
        stdin=selected.out,
    )
    assert made.exit == 0, made.err


def statuses(base: Scripted) -> Counter[str]:
    """The jobs of the store by their status."""
    return Counter(job["status"] for job in listed(base).values())


def wait_for_jobs(
    base: Scripted, is_there: Callable[[Counter[str]], bool], *, seconds: float = 300
):
    """Wait until the jobs are as `is_there` wants them; gives their statuses."""
    until = time.monotonic() + seconds
    while not is_there(found := statuses(base)):
        assert time.monotonic() < until, f"waited in vain: {found}"
        time.sleep(0.3)
    return found


def faults(base: Scripted, notes: int) -> list[str]:
    """Everything that is not as it must be when all jobs are done."""
    jobs = listed(base).values()
    accepted = Counter(
        pair["note_path"]
        for job in jobs
        for pair in job["pairs"]
        if pair["pair_status"] == "completed"
    )
    wrong = [f"{path} has {accepted[path]} reviews" for path in map(note, range(notes))
             if accepted[path] != 1]  # fmt: skip
    wrong += [f"job {job['review_job_id']} is {job['status']}" for job in jobs
              if job["status"] != "completed"]  # fmt: skip
    wrong += [f"runner {pid} is still there" for pid in base.pids() if is_running(pid)]
    doctor = command(base, "review_doctor", "--json")
    return wrong + ([] if doctor.exit == 0 else [doctor.out])


def _tree(pid: int) -> list[int]:
    """The process and all below it, the lowest last."""
    found, at = [pid], 0
    while at < len(found):
        tasks = Path(f"/proc/{found[at]}/task")
        for task in tasks.iterdir() if tasks.exists() else ():
            children = task / "children"
            if children.exists():
                found += map(int, children.read_text().split())
        at += 1
    return found


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return
