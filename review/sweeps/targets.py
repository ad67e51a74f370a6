"""The pairs that a sweep is to review, and how they become jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from review.domain.grouping import Group, group_targets
from review.domain.paths import lens_of
from review.jobs.create import DEFAULT_BATCH_SIZE, CreateRequest
from review.jobs.factory import ALREADY_QUEUED, FRESH
from review.selection.documents import SELECTION_SCHEMA, TargetInput, TargetJson
from review.selection.select import SelectionRequest
from review.sweeps.limits import Limits
from review.vocabulary import REQUESTED, Grouping


@dataclass(frozen=True)
class SweepRequest:
    """Which pairs to review, packed how, and within which limits.

    :param selection: names its model partition.
    :param batch_size: pairs in a job of grouping `gate`; None is the default.
    """

    selection: SelectionRequest
    grouping: Grouping
    limits: Limits
    batch_size: int | None = None
    dry_run: bool = False

    @property
    def model_partition(self) -> str:
        return self.selection.model_partition or ""


def sweep_target(target: TargetJson) -> TargetInput:
    """The part of a selected target that job creation reads: a sweep may keep very many."""
    return TargetInput(
        note_path=target.note_path,
        gate_path=target.gate_path,
        gate_id=target.gate_id,
        note_sha256=target.note_sha256,
        gate_sha256=target.gate_sha256,
    )


def pack(targets: Iterable[TargetInput], request: SweepRequest) -> list[Group[TargetInput]]:
    """The targets as they will share jobs."""
    return group_targets(
        targets,
        grouping=request.grouping,
        batch_size=request.batch_size or DEFAULT_BATCH_SIZE,
        note_of=lambda target: target.note_path,
        gate_of=lambda target: target.gate_path,
        lens_of=lambda target: lens_of(target.gate_id),
    )


def create_request(
    targets: Iterable[TargetInput], request: SweepRequest, *, actor: str
) -> CreateRequest:
    """The targets as the input of job creation."""
    selection = {
        "schema": SELECTION_SCHEMA,
        "model_partition": request.model_partition,
        "targets": targets,
    }
    return CreateRequest(
        selection=msgspec.json.encode(selection),
        source="the selection",
        grouping=request.grouping,
        actor=actor,
        batch_size=request.batch_size if request.grouping is Grouping.GATE else None,
        omit=frozenset(
            {ALREADY_QUEUED} if request.selection.mode == REQUESTED else {ALREADY_QUEUED, FRESH}
        ),
        dry_run=request.dry_run,
    )
