"""Take work in one step: what is queued, else new jobs of a scope, with their prompts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

import msgspec
from django.db.models import QuerySet

from review.documents.base import from_row
from review.domain.grouping import group_targets
from review.errors import ExitCode, ReviewError
from review.job_files import ArtifactStore
from review.jobs.claim import ClaimRequest, claim
from review.jobs.create import DEFAULT_BATCH_SIZE, CreateRequest, create_jobs
from review.jobs.job_documents import JobJson, SkippedJson, TakenJobJson, TakenJson
from review.jobs.provenance import PartitionMismatch
from review.knowledge_base import Corpus
from review.models import NamedKeys, ReviewJob
from review.protocol.prompt import NOTES, estimate_tokens
from review.selection.documents import SELECTION_SCHEMA, TargetJson
from review.selection.select import SelectionRequest, select_targets
from review.settings.config import Config
from review.vocabulary import Grouping, JobStatus

_SHOWN_SKIPPED = 20
_LOOKED_AT = 100


class NothingToTake(ReviewError):
    """No job is queued, and nothing in the scope wants a review."""

    exit_code = ExitCode.NOTHING_TO_DO


@dataclass(frozen=True)
class TakeRequest:
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
    basket = _Basket(request, ArtifactStore(config), config, now)
    skipped: list[SkippedJson] = []
    targets: list[TargetJson] = []
    open_ids: set[int] = set()
    created = 0
    if request.selection is None:
        basket.fill(_queued(request))
    else:
        targets = list(select_targets(corpus, request.selection).targets())
        open_ids = {item.open_review_job_id for item in targets if item.open_review_job_id}
        basket.fill(_queued(request).filter(pk__in=NamedKeys(open_ids)))
        waiting = [item for item in targets if item.open_review_job_id is None]
        for group in _groups(waiting, request):
            if basket.is_full:
                break
            made = create_jobs(_creation(group, request, config), config=config, now=now)
            created += len(made.jobs)
            skipped += made.skipped
            new = [job.review_job_id for job in made.jobs if isinstance(job, JobJson)]
            basket.fill(_queued(request).filter(pk__in=NamedKeys(new)))
    if not basket.jobs:
        raise basket.mismatch or _nothing(request, skipped, corpus, open_jobs=len(open_ids))
    return TakenJson(
        jobs=basket.jobs,
        created=created,
        skipped=skipped[:_SHOWN_SKIPPED],
        queued=_queued(request).count(),
        left=max(0, len(targets) - sum(job.pair_count for job in basket.jobs)),
    )


@dataclass
class _Basket:
    """The jobs that were taken; one that finds no room fills it."""

    request: TakeRequest
    files: ArtifactStore
    config: Config
    now: datetime
    jobs: list[TakenJobJson] = field(default_factory=list)
    heads: dict[str, int] = field(default_factory=dict)
    used: int = 0
    mismatch: PartitionMismatch | None = None
    is_full: bool = False

    def fill(self, queued: QuerySet[ReviewJob]) -> None:
        rows = queued.order_by("pk").values_list("pk", "prompt_path")[:_LOOKED_AT]
        for job_id, path in rows:
            if self.is_full:
                return
            prompt = (self.files.read_output(path) or b"").decode("utf-8", "replace")
            head = prompt[: prompt.find(NOTES)]
            shown = prompt[len(head) :] if head in self.heads else prompt
            tokens = estimate_tokens(shown)
            if self.used + tokens > self.request.max_tokens:
                self.is_full = bool(self.jobs)
                continue
            wanted = replace(self.request.claim, only=(job_id,))
            try:
                claimed = claim(wanted, config=self.config, now=self.now).jobs
            except PartitionMismatch as refused:
                self.mismatch = refused
                continue
            for job in claimed:  # none where somebody else was quicker
                with_job = self.heads.setdefault(head, job_id)
                shared = None if with_job == job_id else with_job
                self.jobs.append(from_row(TakenJobJson, job, prompt=shown, shares_with=shared))
                self.used += tokens
            self.is_full = len(self.jobs) == self.request.claim.limit


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


def _creation(targets: object, request: TakeRequest, config: Config) -> CreateRequest:
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


def _nothing(
    request: TakeRequest, skipped: list[SkippedJson], corpus: Corpus, *, open_jobs: int
) -> NothingToTake:
    sizes = _queued(request).order_by("estimated_prompt_tokens")
    smallest = sizes.values_list("estimated_prompt_tokens", flat=True).first() or 0
    why, hint = "every pair of this scope is fresh", ""
    if open_jobs:
        why = f"every pair of this scope is fresh or in an open job; open jobs: {open_jobs}"
    if smallest > request.max_tokens:
        why = f"the smallest queued prompt has {smallest} tokens, more than {request.max_tokens}"
        hint = f"ask for more: --max-tokens {smallest}"
    elif skipped:
        first = f"{skipped[0].note_path} {skipped[0].gate_id}: {skipped[0].reason}"
        why = f"no job could be made: {len(skipped)} pairs skipped, {first}"
        hint = "prompts that are too large want a higher --max-tokens"
    elif request.selection is None:
        why, hint = "no job is queued", "name gates, or --all-gates, to make some"
    elif lacking := corpus.lacking():
        why = "; ".join(lacking)
    return NothingToTake(why, hint=hint)
