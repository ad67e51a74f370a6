"""The pairs that a sweep is to review, what is left out of them, and how they become jobs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from review.domain.grouping import Group, group_targets
from review.jobs.board import PairText, count_attempts
from review.jobs.create import CreateRequest
from review.jobs.factory import ALREADY_QUEUED, FRESH
from review.jobs.job_documents import SkippedJson
from review.models import batched
from review.selection.documents import SELECTION_SCHEMA
from review.selection.select import Selection
from review.sweeps.request import DEFAULT_BATCH_SIZE, SweepRequest
from review.vocabulary import REQUESTED, Grouping

GIVEN_UP = "too-many-attempts"
_SHOWN_SKIPPED = 200
_CHUNK = 200


@dataclass(frozen=True, slots=True)
class SweepTarget:
    """A pair to review, with the digests of the texts it had when it was selected."""

    text: PairText
    gate_id: str
    lens: str

    @property
    def key(self) -> tuple[str, str]:
        """What it is called: note path and gate id."""
        return (self.text.note_path, self.gate_id)


def sweep_targets(selection: Selection) -> list[SweepTarget]:
    """What a sweep keeps of the selected targets: it may have very many."""
    return [
        SweepTarget(
            PairText(target.note_path, target.gate_path, target.note_sha256, target.gate_sha256),
            target.gate_id,
            target.lens,
        )
        for target in selection.targets()
    ]


@dataclass
class Skipped:
    """Targets that became no job: all counted, the first of them shown."""

    reasons: Counter[str] = field(default_factory=Counter)
    shown: list[SkippedJson] = field(default_factory=list)

    def add_target(self, target: SweepTarget, reason: str) -> None:
        path = target.text.note_path
        self.add(SkippedJson(note_path=path, gate_id=target.gate_id, reason=reason))

    def add(self, item: SkippedJson) -> None:
        self.reasons[item.reason] += 1
        if len(self.shown) < _SHOWN_SKIPPED:
            self.shown.append(item)


def pack(targets: Iterable[SweepTarget], request: SweepRequest) -> list[Group[SweepTarget]]:
    """The targets as they will share jobs."""
    return group_targets(
        targets,
        grouping=request.grouping,
        batch_size=request.batch_size or DEFAULT_BATCH_SIZE,
        note_of=lambda target: target.text.note_path,
        gate_of=lambda target: target.text.gate_path,
        lens_of=lambda target: target.lens,
    )


def without_given_up(
    targets: Sequence[SweepTarget], request: SweepRequest, *, skipped: Skipped
) -> list[SweepTarget]:
    """The targets less those whose texts were tried often enough; these are added to `skipped`."""
    kept: list[SweepTarget] = []
    for some in batched(targets, _CHUNK):
        attempts = count_attempts(
            [target.text for target in some], model_partition=request.model_partition
        )
        for target in some:
            if attempts[target.text] < request.limits.max_attempts:
                kept.append(target)
            else:
                skipped.add_target(target, GIVEN_UP)
    return kept


def create_request(
    targets: Sequence[SweepTarget], request: SweepRequest, *, actor: str
) -> CreateRequest:
    """The targets as the input of job creation."""
    selection = {
        "schema": SELECTION_SCHEMA,
        "model_partition": request.model_partition,
        "targets": [
            {
                "note_path": target.text.note_path,
                "gate_path": target.text.gate_path,
                "gate_id": target.gate_id,
                "note_sha256": target.text.note_sha256,
                "gate_sha256": target.text.gate_sha256,
            }
            for target in targets
        ],
    }
    return CreateRequest(
        selection=json.dumps(selection).encode(),
        source="the selection",
        grouping=request.grouping,
        actor=actor,
        batch_size=request.batch_size if request.grouping is Grouping.GATE else None,
        max_prompt_tokens=request.max_prompt_tokens,
        omit=frozenset(
            {ALREADY_QUEUED} if request.selection.mode == REQUESTED else {ALREADY_QUEUED, FRESH}
        ),
        dry_run=request.dry_run,
    )
