"""Starts sweeps as processes, kills them, and looks at what they left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.helpers.commands import Result, process_environment
from tests.helpers.forked import Forked, run_forked
from tests.helpers.scripted import MODEL, Scripted

SWEEP = ("review_sweep", "--all-gates", "--runner", "scripted", "--model", MODEL)


def command(
    base: Scripted, *arguments: object, stdin: str | None = None, timeout: float = 120
) -> Result:
    """Run a command on the base, to its end."""
    return run_forked(*arguments, root=base.root, stdin=stdin, env=base.env, timeout=timeout)


def sweep(
    base: Scripted, *arguments: object, runner: str = "scripted", timeout: float = 120
) -> Result:
    """A sweep over everything, with its answer as JSON."""
    scope = ("review_sweep", "--all-gates", "--runner", runner, "--model", MODEL, "--json")
    return command(base, *scope, *arguments, timeout=timeout)


def start(base: Scripted, *arguments: object) -> Forked:
    """A command that the test does not wait for."""
    return Forked(arguments, root=base.root, env=process_environment(base.root) | base.env)


def wait_for(holds: Callable[[], object], *, seconds: float = 120.0) -> None:
    """Wait until something holds; fail when it never does."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def listed(base: Scripted) -> dict[int, Any]:
    """The jobs of the store, by id."""
    jobs = command(base, "review_job_list", "--json").json["jobs"]
    return {job["review_job_id"]: job for job in jobs}


def reviewed(base: Scripted) -> list[tuple[str, str]]:
    """Note and gate of every pair that has a review, as often as it has one; sorted."""
    return sorted(
        (pair["note_path"], pair["gate_id"])
        for job in listed(base).values()
        for pair in job["pairs"]
        if pair["pair_status"] == "completed"
    )
