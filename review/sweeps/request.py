"""What a sweep is asked to do, and what can end it early."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from review.selection.select import SelectionRequest
from review.sweeps.documents import SweepJson
from review.vocabulary import Grouping

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
        return self.selection.model_partition or ""
