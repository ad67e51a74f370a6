"""Reads what the runs of a job left, and how complete its output is."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from review.domain.paths import gate_id_of
from review.errors import ReviewError
from review.job_files import ArtifactStore
from review.jobs.leases import parent_is_alive
from review.models import ReviewJob, ReviewPair
from review.protocol.output import parse_output
from review.protocol.sentinels import ExpectedPair
from review.runners.outcome import RunnerOutcome
from review.runners.process.table import Processes
from review.runners.run import collect_run, read_record
from review.settings import Config
from review.vocabulary import JobStatus

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


_COLUMNS = ("job_id", "ordinal", "note__path", "gate__path")

State = Literal["none", "unreadable", "foreign", "partial", "complete"]


@dataclass(frozen=True)
class OutputState:
    """The completeness of an output; `missing` says by ordinal why a pair has no whole review."""

    state: State
    missing: dict[int, str] = field(default_factory=dict)
    kept: int = 0

    @property
    def detail(self) -> str:
        """The parts of a partial output that an ingest would keep; else empty."""
        if self.state != "partial":
            return ""
        why = "; ".join(f"pair {ordinal}: {reason}" for ordinal, reason in self.missing.items())
        return f"{self.kept} kept, {len(self.missing)} missing: {why}"


def output_states(
    jobs: Iterable[ReviewJob], *, config: Config, processes: Processes | None = None
) -> dict[int, OutputState]:
    """Return how much of each job's output is there, by job id; one statement for all of them.

    :param processes: with them, what a run whose parent is gone left in files of its own counts.
    """
    store = ArtifactStore(config)
    states: dict[int, OutputState] = {}
    texts: dict[int, tuple[str, bytes]] = {}
    for job in jobs:
        try:
            data = store.read_output(job.bundle_output_path) or _left(job, config, processes)
        except ReviewError:
            states[job.pk] = OutputState("unreadable")
            continue
        states[job.pk] = OutputState("none")
        if data.strip():
            texts[job.pk] = (job.sentinel_token, data)
    expected: dict[int, list[ExpectedPair]] = {job_id: [] for job_id in texts}
    rows = ReviewPair.objects.filter(job_id__in=list(texts)).order_by("ordinal")
    for job_id, ordinal, note, gate in rows.values_list(*_COLUMNS):
        gate_id = gate_id_of(gate, gates_folder=config.gates_folder)
        expected[job_id].append(ExpectedPair(ordinal, note, gate_id))
    for job_id, (token, data) in texts.items():
        parsed = parse_output(data, token=token, expected=expected[job_id])
        missing = dict(parsed.missing)
        states[job_id] = OutputState("foreign")
        if parsed.has_own_blocks:
            state: State = "partial" if missing else "complete"
            states[job_id] = OutputState(state, missing, len(parsed.blocks))
    return states


def ready_job_ids(*, config: Config, actor: str | None) -> list[int]:
    """Return open jobs whose output holds a whole review for every pair, oldest first.

    :param actor: only jobs claimed by this actor; None: all open jobs, never claimed ones too.
    """
    jobs = ReviewJob.objects.open().order_by("pk")
    if actor is not None:
        jobs = jobs.filter(claimed_by=actor)
    states = output_states(jobs, config=config)
    return [job_id for job_id, output in states.items() if output.state == "complete"]


def _left(job: ReviewJob, config: Config, processes: Processes | None) -> bytes:
    """Return the longest text that the runs of a dead parent have left and nobody has ingested."""
    if processes is None or job.status != JobStatus.RUNNING:
        return b""
    if parent_is_alive(job, processes=processes) is not False:
        return b""
    texts = [outcome.text or b"" for outcome in left_outcomes(job, config=config)]
    return max(texts, key=len, default=b"")
