"""Prints figures, one per line, each with its floor and its budget."""

from __future__ import annotations

from benchmarks.measure import Run

_NAME = 38


def title(text: str) -> None:
    """Begin a block."""
    print(f"\n{text}", flush=True)


def line(name: str, text: str) -> None:
    """One figure."""
    print(f"{name:{_NAME}} {text}", flush=True)


def met(held: bool) -> str:
    return "met" if held else "NOT MET"


def row(
    name: str,
    run: Run,
    beside: float,
    *,
    budget: float | None = None,
    seconds: float | None = None,
    mib: float | None = None,
) -> None:
    """A command beside its floor.

    :param beside: seconds that the floor took; `budget` is how many times that are allowed.
    """
    ratio = run.seconds / beside
    verdicts = []
    if budget is not None:
        verdicts.append(f"<= {budget} x: {met(ratio <= budget)}")
    if seconds is not None:
        verdicts.append(f"<= {seconds} s: {met(run.seconds <= seconds)}")
    if mib is not None:
        verdicts.append(f"<= {mib} MiB: {met(run.peak_mib <= mib)}")
    line(
        name,
        f"{run.seconds:8.3f} s {run.cpu:7.3f} cpu {run.peak_mib:6.0f} MiB {ratio:6.2f} x floor"
        f"  {'; '.join(verdicts)}",
    )
