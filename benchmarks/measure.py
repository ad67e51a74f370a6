"""Times whole processes, two in turn, and keeps medians and peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Run:
    """Medians of several runs: seconds by the clock and of the processor; the largest peak in MiB."""

    seconds: float
    cpu: float
    peak_mib: float


class Sample(NamedTuple):
    """One run."""

    seconds: float
    cpu: float
    peak_mib: float


def run_once(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    output: Path | None = None,
    expected: Collection[int] = (0, 3),
) -> Sample:
    """One run; an unexpected exit code ends the benchmark.

    :param output: where standard output goes; None throws it away.
    """
    began = time.perf_counter()
    target = Path(os.devnull) if output is None else output
    with tempfile.TemporaryFile() as errors, target.open("wb") as told_to:
        process = subprocess.Popen(
            command, env={**os.environ, **env}, cwd=cwd, stdout=told_to, stderr=errors
        )
        _pid, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in expected:
            errors.seek(0)
            told = errors.read().decode()
            sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{told}")
    return Sample(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def summary(samples: Sequence[Sample]) -> Run:
    """Medians, and the largest peak."""
    return Run(
        seconds=statistics.median(sample.seconds for sample in samples),
        cpu=statistics.median(sample.cpu for sample in samples),
        peak_mib=max(sample.peak_mib for sample in samples),
    )


def in_turn(
    commands: Mapping[str, Sequence[str]], *, env: Mapping[str, str], cwd: Path, runs: int = 5
) -> dict[str, Run]:
    """Run all commands A B C, A B C, … after one warm-up, so that a slow minute hits all alike."""
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            sample = run_once(command, env=env, cwd=cwd)
            if number:
                samples[name].append(sample)
    return {name: summary(taken) for name, taken in samples.items()}


def commonplace(*arguments: str) -> list[str]:
    """A command of ours, as `manage.py` starts it with this interpreter."""
    return [sys.executable, str(PROJECT / "manage.py"), *arguments]


def floor(*arguments: str) -> list[str]:
    """A floor of `benchmarks/floors.py`, in this interpreter."""
    return [sys.executable, str(PROJECT / "benchmarks" / "floors.py"), *arguments]
