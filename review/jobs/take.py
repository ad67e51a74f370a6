"""Take work in one step: what is queued, else new jobs of a scope, with their prompts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec
from django.db.models import QuerySet

from review.domain.grouping import group_targets
from review.errors import ExitCode, ReviewError
from review.job_files import ArtifactStore
from review.jobs.claim import ClaimRequest, claim
from review.jobs.create import DEFAULT_BATCH_SIZE, CreateRequest, create_jobs
from review.jobs.job_documents import (
    JobJson,
    SkippedJson,
    TakenJobJson,
    TakenJson,
)
from review.knowledge_base import Corpus
from review.models import ReviewJob
from review.selection.documents import SELECTION_SCHEMA, TargetJson
from review.selection.select import SelectionRequest, select_targets
from review.settings.config import Config
from review.vocabulary import Grouping, JobStatus

_SHOWN_SKIPPED = 20


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
    work = _Taking(request, corpus, config, now)
    if request.selection is None:
        work.claim(None)
    else:
        work.take_of(list(select_targets(corpus, request.selection).targets()))
    if not work.jobs:
        raise _nothing(request, work)
    files = ArtifactStore(config)
    return TakenJson(
        jobs=[_taken(job, files) for job in work.jobs],
        created=work.created,
        skipped=work.skipped[:_SHOWN_SKIPPED],
        queued=_queued(request).count(),
    )


@dataclass
class _Taking:
    request: TakeRequest
    corpus: Corpus
    config: Config
    now: datetime
    jobs: list[JobJson] = field(default_factory=list)
    skipped: list[SkippedJson] = field(default_factory=list)
    created: int = 0

    @property
    def missing(self) -> int:
        return self.request.claim.limit - len(self.jobs)

    @property
    def room(self) -> int:
        return self.request.max_tokens - sum(job.estimated_prompt_tokens for job in self.jobs)

    def claim(self, only: tuple[int, ...] | None) -> None:
        wanted = replace(
            self.request.claim, limit=self.missing, only=only, max_prompt_tokens=self.room
        )
        self.jobs += claim(wanted, config=self.config, now=self.now).jobs

    def take_of(self, targets: list[TargetJson]) -> None:
        open_ids = dict.fromkeys(filter(None, (item.open_review_job_id for item in targets)))
        if open_ids:
            self.claim(tuple(open_ids))
        by_gate = self.request.grouping is Grouping.GATE
        groups = group_targets(
            [item for item in targets if item.open_review_job_id is None],
            grouping=self.request.grouping,
            batch_size=DEFAULT_BATCH_SIZE if by_gate else None,
            note_of=lambda item: item.note_path,
            gate_of=lambda item: item.gate_path,
            lens_of=lambda item: "" if self.request.across_lenses else item.lens,
        )
        for group in groups:
            if self.missing <= 0 or self.room <= 0:
                return
            if made := self._create(group.items):
                before = len(self.jobs)
                self.claim(made)
                if len(self.jobs) == before:  # it is the first of the next call
                    return

    def _create(self, targets: tuple[TargetJson, ...]) -> tuple[int, ...]:
        selection = {
            "schema": SELECTION_SCHEMA,
            "model_partition": self.request.claim.model_partition,
            "targets": targets,
        }
        request = CreateRequest(
            selection=msgspec.json.encode(selection),
            source="the selection",
            grouping=self.request.grouping,
            actor=self.request.claim.actor,
            across_lenses=self.request.across_lenses,
            max_prompt_tokens=min(self.request.max_tokens, self.config.max_prompt_tokens),
        )
        made = create_jobs(request, config=self.config, now=self.now)
        self.skipped += made.skipped
        self.created += len(made.jobs)
        return tuple(job.review_job_id for job in made.jobs if isinstance(job, JobJson))


def _queued(request: TakeRequest) -> QuerySet[ReviewJob]:
    claim = request.claim
    queued = ReviewJob.objects.filter(status=JobStatus.QUEUED, purpose=claim.purpose)
    return queued.of_partition(claim.model_partition) if claim.model_partition else queued


def _nothing(request: TakeRequest, work: _Taking) -> NothingToTake:
    queued = _queued(request).order_by("estimated_prompt_tokens")
    smallest = queued.values_list("estimated_prompt_tokens", flat=True).first()
    if smallest is not None and smallest > request.max_tokens:
        why = f"the smallest queued prompt has {smallest} tokens, more than {request.max_tokens}"
        return NothingToTake(why, hint=f"ask for more: --max-tokens {smallest}")
    if work.skipped:
        first = work.skipped[0]
        where = f"{first.note_path} {first.gate_id}"
        why = f"no job could be made: {len(work.skipped)} pairs skipped, {where}: {first.reason}"
        return NothingToTake(why, hint="prompts that are too large want a higher --max-tokens")
    if request.selection is None:
        return NothingToTake("no job is queued", hint="name gates, or --all-gates, to make some")
    return NothingToTake("every pair of this scope is fresh, or in somebody's open job")


def _taken(job: JobJson, files: ArtifactStore) -> TakenJobJson:
    prompt = files.read_output(job.prompt_path)
    if prompt is None:
        raise PromptGone(
            f"job {job.review_job_id} was claimed, and its prompt {job.prompt_path} is gone",
            hint="make it again: commonplace review_doctor --repair; then read it there",
        )
    return TakenJobJson(
        review_job_id=job.review_job_id,
        model_partition=job.model_partition,
        lens=job.lens,
        pair_count=job.pair_count,
        estimated_prompt_tokens=job.estimated_prompt_tokens,
        prompt_path=job.prompt_path,
        bundle_output_path=job.bundle_output_path,
        prompt=prompt.decode("utf-8", "replace"),
    )
