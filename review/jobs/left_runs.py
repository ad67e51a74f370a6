"""The output that runs left in a job's folder because the parent ended before taking it in."""

from __future__ import annotations

import re
from pathlib import Path

from review.models import ReviewJob
from review.runners.outcome import RunnerOutcome
from review.runners.run import collect_run, read_record
from review.settings.config import Config

_RUN = re.compile(r"run-([1-9][0-9]{0,3})")


def next_run_folder(job: ReviewJob, *, config: Config) -> Path:
    """Return the folder for the output of the job's next run; they are numbered from 1."""
    begun = [folder for folder in run_folders(job, config=config) if read_record(folder)]
    number = int(begun[-1].name.removeprefix("run-")) if begun else 0
    return _job_folder(job, config) / f"run-{number + 1}"


def run_folders(job: ReviewJob, *, config: Config) -> list[Path]:
    """The folders of the job's runs that are there, oldest first."""
    try:
        names = [entry.name for entry in _job_folder(job, config).iterdir()]
    except OSError:
        return []
    numbers = sorted(int(match[1]) for name in names if (match := _RUN.fullmatch(name)))
    return [_job_folder(job, config) / f"run-{number}" for number in numbers]


def left_outcomes(job: ReviewJob, *, config: Config) -> list[RunnerOutcome]:
    """Return the known outcomes of the runs; only for a job whose parent is gone.

    :raises UnknownRunner, ConfigRefused: the runner is no longer declared.
    """
    found = [collect_run(folder, config=config) for folder in run_folders(job, config=config)]
    return [outcome for outcome in found if outcome is not None]


def _job_folder(job: ReviewJob, config: Config) -> Path:
    return (config.root / job.prompt_path).parent
