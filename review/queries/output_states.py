"""How much of the outputs of jobs is there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from review.artifacts import ArtifactStore
from review.conf import Config
from review.domain.identity import gate_id_of
from review.errors import ReviewError
from review.models import ReviewJob
from review.protocol.parser import ExpectedPair, parse_output
from review.queries.abandonment import parent_is_alive
from review.queries.left_runs import left_outcomes
from review.runners.process_table import Processes
from review.vocabulary import JobStatus


@dataclass(frozen=True)
class OutputState:
    """How much of an output is there; `missing` says by ordinal why a pair has no whole review."""

    state: Literal["none", "unreadable", "foreign", "partial", "complete"]
    missing: dict[int, str] = field(default_factory=dict)
    kept: int = 0

    @property
    def detail(self) -> str:
        """What an ingest would keep of a partial output; else empty."""
        if self.state != "partial":
            return ""
        why = "; ".join(f"pair {ordinal}: {reason}" for ordinal, reason in self.missing.items())
        return f"{self.kept} kept, {len(self.missing)} missing: {why}"


def output_state(
    job: ReviewJob, *, config: Config, processes: Processes | None = None
) -> OutputState:
    """Return how much of the job's output is there.

    :param processes: with them, what a run whose parent is gone left in files of its own counts.
    """
    try:
        data = ArtifactStore(config).read_output(job.bundle_output_path)
        data = data or _left(job, config, processes)
    except ReviewError:
        return OutputState("unreadable")
    if not data.strip():
        return OutputState("none")
    pairs = job.pairs.order_by("ordinal").values_list("ordinal", "note__path", "gate__path")
    expected = [
        ExpectedPair(ordinal, note, gate_id_of(gate, gates_folder=config.gates_folder))
        for ordinal, note, gate in pairs
    ]
    parsed = parse_output(data, token=job.sentinel_token, expected=expected)
    if not parsed.has_own_blocks:
        return OutputState("foreign")
    state: Literal["partial", "complete"] = "partial" if parsed.missing else "complete"
    return OutputState(state, dict(parsed.missing), len(parsed.blocks))


def outputs_of(job_ids: Iterable[int], *, config: Config) -> dict[int, str]:
    """Return how much of the outputs of these jobs is there, by job id."""
    jobs = ReviewJob.objects.filter(pk__in=list(job_ids))
    return {job.pk: output_state(job, config=config).state for job in jobs}


def ready_job_ids(*, config: Config, actor: str | None) -> list[int]:
    """Return open jobs whose output holds a whole review for every pair, oldest first.

    :param actor: only jobs claimed by this actor; None: all open jobs, never claimed ones too.
    """
    jobs = ReviewJob.objects.open().order_by("pk")
    if actor is not None:
        jobs = jobs.filter(claimed_by=actor)
    return [job.pk for job in jobs if output_state(job, config=config).state == "complete"]


def _left(job: ReviewJob, config: Config, processes: Processes | None) -> bytes:
    """Return the longest text that the runs of a dead parent have left and nobody has ingested."""
    if processes is None or job.status != JobStatus.RUNNING:
        return b""
    if parent_is_alive(job, processes=processes) is not False:
        return b""
    texts = [outcome.text or b"" for outcome in left_outcomes(job, config=config)]
    return max(texts, key=len, default=b"")
