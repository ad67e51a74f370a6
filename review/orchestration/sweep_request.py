"""What a sweep is asked to do, what can end it early, and what it works with."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING

from review.conf import Config
from review.contracts.sweeps import SweepJson
from review.models import Provenance
from review.orchestration.job_updates import SweepEvent
from review.queries.targets import SelectionRequest
from review.runners.process_table import Processes
from review.vocabulary import Grouping

if TYPE_CHECKING:
    from review.orchestration.sweep_report import Tally

DEFAULT_BATCH_SIZE = 8


class StopReason(StrEnum):
    """Why a sweep ended before its work was done."""

    INTERRUPTED = "interrupted"
    ACCOUNT_EXHAUSTED = "account-exhausted"
    RUNNER_UNUSABLE = "runner-unusable"
    PARTITION_MISMATCH = "partition-mismatch"
    FAILING = "failing"
    MAX_COST = "max-cost"
    COST_UNKNOWN = "cost-unknown"
    MAX_JOBS = "max-jobs"
    JOBS_NOT_MADE = "jobs-not-made"


@dataclass(frozen=True)
class Limits:
    """What a sweep may spend; None is no limit.

    :param max_attempts: how often a pair is tried on the same texts, over all sweeps.
    """

    max_attempts: int
    max_jobs: int | None = None
    max_cost_usd: Decimal | None = None


@dataclass(frozen=True)
class SweepRequest:
    """Which pairs to review, packed how, and within which limits.

    :param selection: names its model partition.
    :param answer: the document to answer with.
    :param batch_size: pairs in a job of grouping `gate`; None is the default.
    """

    selection: SelectionRequest
    grouping: Grouping
    limits: Limits
    answer: type[SweepJson] = SweepJson
    batch_size: int | None = None
    max_prompt_tokens: int | None = None
    dry_run: bool = False

    @property
    def model_partition(self) -> str:
        """The partition to review for."""
        return self.selection.model_partition or ""


@dataclass(frozen=True)
class SweepContext:
    """What a sweep works with.

    :param actor: the name on what it makes and claims.
    :param on_event: is told what happened, with the numbers after it, in the sweep's own thread.
    :param stop: ends the sweep when it is set: no new job, and the children of running ones ended.
    :param clock: read when something happens: sweeps take hours.
    """

    config: Config
    processes: Processes
    provenance: Provenance
    actor: str
    on_event: Callable[[SweepEvent, Tally], None]
    stop: threading.Event
    clock: Callable[[], datetime]
