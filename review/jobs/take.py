"""Take work in one step: what is queued, else new jobs of a scope, with their prompts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec
from django.db.models import QuerySet

from review.domain.grouping import group_targets
from review.errors import ExitCode, ReviewError
from review.job_files import ArtifactStore
from review.jobs.claim import ClaimRequest, claim
from review.jobs.create import DEFAULT_BATCH_SIZE, CreateRequest, create_jobs
from review.jobs.job_documents import JobJson, SkippedJson, TakenJobJson, TakenJson
from review.knowledge_base import Corpus
from review.models import ReviewJob
from review.selection.documents import SELECTION_SCHEMA, TargetJson
from review.selection.select import SelectionRequest, select_targets
from review.settings.config import Config
from review.vocabulary import Grouping, JobStatus

_SHOWN_SKIPPED = 20
_SHOWN = [field.name for field in msgspec.structs.fields(TakenJobJson) if field.name != "prompt"]


class NothingToTake(ReviewError):
    """No job is queued, and nothing in the scope wants a review."""

    exit_code = ExitCode.NOTHING_TO_DO


class PromptGone(ReviewError):
    """The prompt file of a job that was taken cannot be read."""


@dataclass(frozen=True)
class TakeRequest:
    """Which work to take.

    :param claim: for whom, and of which partition; its limit is the most jobs.
    :param max_tokens: of all prompts together.
    :param selection: the scope; queued jobs that hold pairs of it come first, then new ones.
        None takes what is queued.
    """

    claim: ClaimRequest
    max_tokens: int
    selection: SelectionRequest | None = None
    grouping: Grouping = Grouping.NOTE
    across_lenses: bool = False


def take_jobs(request: TakeRequest, *, corpus: Corpus, config: Config, now: datetime) -> TakenJson:
    """Claim jobs and give their prompts; make jobs first where too few of the scope are queued.

    Jobs are made for no more notes (or gates) than are taken: their texts are those of this moment.

    :raises NothingToTake: there is no job to give; says why.
    :raises PartitionMismatch: the named model makes another partition.
    """
    jobs: list[JobJson] = []
    skipped: list[SkippedJson] = []
    created = 0

    def take(only: Sequence[int] | None) -> bool:
        """Return whether there was room, and a job that fits it."""
        limit = request.claim.limit - len(jobs)
        room = request.max_tokens - sum(job.estimated_prompt_tokens for job in jobs)
        wanted = replace(request.claim, limit=limit, only=only, max_prompt_tokens=room)
        found = claim(wanted, config=config, now=now).jobs if limit > 0 else []
        jobs.extend(found)
        return bool(found)

    if request.selection is None:
        take(None)
    else:
        targets = list(select_targets(corpus, request.selection).targets())
        take([item.open_review_job_id for item in targets if item.open_review_job_id])
        waiting = [item for item in targets if item.open_review_job_id is None]
        for group in _groups(waiting, request):
            if len(jobs) == request.claim.limit:
                break
            made = create_jobs(_creation(group, request, config), config=config, now=now)
            created += len(made.jobs)
            skipped += made.skipped
            new = [job.review_job_id for job in made.jobs if isinstance(job, JobJson)]
            # One that finds no room is the first of the next call.
            if new and not take(new):
                break
    if not jobs:
        raise _nothing(request, skipped)
    files = ArtifactStore(config)
    return TakenJson(
        jobs=[_taken(job, files) for job in jobs],
        created=created,
        skipped=skipped[:_SHOWN_SKIPPED],
        queued=_queued(request).count(),
    )


def _groups(targets: list[TargetJson], request: TakeRequest) -> list[tuple[TargetJson, ...]]:
    by_gate = request.grouping is Grouping.GATE
    groups = group_targets(
        targets,
        grouping=request.grouping,
        batch_size=DEFAULT_BATCH_SIZE if by_gate else None,
        note_of=lambda item: item.note_path,
        gate_of=lambda item: item.gate_path,
        lens_of=lambda item: "" if request.across_lenses else item.lens,
    )
    return [group.items for group in groups]


def _creation(
    targets: tuple[TargetJson, ...], request: TakeRequest, config: Config
) -> CreateRequest:
    partition = request.claim.model_partition
    selection = {"schema": SELECTION_SCHEMA, "model_partition": partition, "targets": targets}
    return CreateRequest(
        selection=msgspec.json.encode(selection),
        source="the selection",
        grouping=request.grouping,
        actor=request.claim.actor,
        across_lenses=request.across_lenses,
        max_prompt_tokens=min(request.max_tokens, config.max_prompt_tokens),
    )


def _queued(request: TakeRequest) -> QuerySet[ReviewJob]:
    claim = request.claim
    queued = ReviewJob.objects.filter(status=JobStatus.QUEUED, purpose=claim.purpose)
    return queued.of_partition(claim.model_partition) if claim.model_partition else queued


def _nothing(request: TakeRequest, skipped: list[SkippedJson]) -> NothingToTake:
    sizes = _queued(request).order_by("estimated_prompt_tokens")
    smallest = sizes.values_list("estimated_prompt_tokens", flat=True).first() or 0
    why, hint = "every pair of this scope is fresh, or in somebody's open job", ""
    if smallest > request.max_tokens:
        why = f"the smallest queued prompt has {smallest} tokens, more than {request.max_tokens}"
        hint = f"ask for more: --max-tokens {smallest}"
    elif skipped:
        first = f"{skipped[0].note_path} {skipped[0].gate_id}: {skipped[0].reason}"
        why = f"no job could be made: {len(skipped)} pairs skipped, {first}"
        hint = "prompts that are too large want a higher --max-tokens"
    elif request.selection is None:
        why, hint = "no job is queued", "name gates, or --all-gates, to make some"
    return NothingToTake(why, hint=hint)


def _taken(job: JobJson, files: ArtifactStore) -> TakenJobJson:
    prompt = files.read_output(job.prompt_path)
    if prompt is None:
        raise PromptGone(
            f"job {job.review_job_id} was claimed, and its prompt {job.prompt_path} is gone",
            hint="make it again: commonplace review_doctor --repair; then read it there",
        )
    shown = {name: getattr(job, name) for name in _SHOWN}
    return TakenJobJson(prompt=prompt.decode("utf-8", "replace"), **shown)
