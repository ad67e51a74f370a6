"""Take work in one step: what is queued, else new jobs of a scope, with their prompts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db.models import QuerySet

from review.documents.base import from_row
from review.domain.grouping import Target, group_targets
from review.errors import ExitCode, ReviewError
from review.job_files import ArtifactStore
from review.jobs.claim import ClaimRequest, JobNotClaimable, claim
from review.jobs.create import CreateRequest, create_jobs
from review.jobs.job_documents import JobJson, SkippedJson, TakenJobJson, TakenJson
from review.jobs.provenance import PartitionMismatch
from review.knowledge_base import Corpus
from review.models import NamedKeys, ReviewJob
from review.protocol.prompt import NOTES, estimate_tokens
from review.selection.documents import TargetJson
from review.selection.select import SelectionRequest, select_targets
from review.settings import Config
from review.vocabulary import Grouping, JobStatus

_SHOWN_SKIPPED = 20
_LOOKED_AT = 100
_DONE = "every pair of this scope is fresh"


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


def take_jobs(request: TakeRequest, *, corpus: Corpus, now: datetime) -> TakenJson:
    """Claim jobs and give their prompts; make jobs first where too few of the scope are queued.

    Jobs are made for no more notes (or gates) than are taken: their texts are those of this moment.

    :raises NothingToTake: there is no job to give; says why.
    :raises PartitionMismatch: the named model makes another partition.
    """
    claim, selection = request.claim, request.selection
    queued = ReviewJob.objects.filter(status=JobStatus.QUEUED, purpose=claim.purpose)
    if claim.model_partition:
        queued = queued.of_partition(claim.model_partition)
    taking = _Taking(request, queued, ArtifactStore(corpus.config), corpus.config, now)
    targets: list[TargetJson] = []
    if selection is None:
        taking.fill(queued)
    else:
        chosen = select_targets(corpus, selection)
        targets = list(chosen.targets())
        taking.left_out = chosen.left_out
        taking.open_ids = {it.open_review_job_id for it in targets if it.open_review_job_id}
        taking.fill_from(taking.open_ids)
        waiting = [item for item in targets if item.open_review_job_id is None]
        groups = group_targets(
            waiting, grouping=request.grouping, across_lenses=request.across_lenses
        )
        for group in groups:
            if taking.is_full:
                break
            taking.create(group.items)
    if not taking.jobs:
        raise taking.mismatch or taking.nothing(corpus)
    return TakenJson(
        jobs=taking.jobs,
        created=taking.created,
        skipped=taking.skipped[:_SHOWN_SKIPPED],
        queued=queued.count(),
        left=_count_left(targets, taking),
    )


def _count_left(targets: Sequence[TargetJson], taking: _Taking) -> int:
    """Count the pairs that are in no job that somebody works on."""
    running = ReviewJob.objects.filter(pk__in=NamedKeys(taking.open_ids), status=JobStatus.RUNNING)
    ids = set(running.values_list("pk", flat=True))
    made = sum(job.pair_count for job in taking.jobs if job.review_job_id not in ids)
    return max(0, sum(item.open_review_job_id not in ids for item in targets) - made)


@dataclass
class _Taking:
    """The jobs that were taken; one that finds no room fills it."""

    request: TakeRequest
    queued: QuerySet[ReviewJob]
    files: ArtifactStore
    config: Config
    now: datetime
    jobs: list[TakenJobJson] = field(default_factory=list)
    skipped: list[SkippedJson] = field(default_factory=list)
    open_ids: set[int] = field(default_factory=set)
    heads: dict[str, int] = field(default_factory=dict)
    created: int = 0
    used: int = 0
    mismatch: PartitionMismatch | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    is_full: bool = False

    def create(self, targets: Sequence[Target]) -> None:
        """Make jobs of the targets, and take them."""
        request, claim = self.request, self.request.claim
        to_create = CreateRequest(
            model_partition=claim.model_partition or "",
            grouping=request.grouping,
            actor=claim.actor,
            across_lenses=request.across_lenses,
            max_prompt_tokens=min(request.max_tokens, self.config.max_prompt_tokens),
        )
        made = create_jobs(targets, to_create, config=self.config, now=self.now)
        self.created += len(made.jobs)
        self.skipped += made.skipped
        self.fill_from(job.review_job_id for job in made.jobs if isinstance(job, JobJson))

    def fill_from(self, job_ids: Iterable[int]) -> None:
        self.fill(self.queued.filter(pk__in=NamedKeys(set(job_ids))))

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
            wanted = replace(self.request.claim, job_id=job_id)
            try:
                (job,) = claim(wanted, config=self.config, now=self.now).jobs
            except PartitionMismatch as refused:
                self.mismatch = refused
                continue
            except JobNotClaimable:
                continue  # somebody else was quicker
            with_job = self.heads.setdefault(head, job_id)
            shared = None if with_job == job_id else with_job
            self.jobs.append(from_row(TakenJobJson, job, prompt=shown, shares_with=shared))
            self.used += tokens
            self.is_full = len(self.jobs) == self.request.claim.limit

    def nothing(self, corpus: Corpus) -> NothingToTake:
        most, sizes = self.request.max_tokens, self.queued.order_by("estimated_prompt_tokens")
        smallest = sizes.values_list("estimated_prompt_tokens", flat=True).first() or 0
        why, hint = _DONE, ""
        if self.open_ids:
            open_jobs = f"open jobs: {len(self.open_ids)}"
            why = f"every pair of this scope is fresh or in an open job; {open_jobs}"
            hint = f"hand in their reviews; the first is job {min(self.open_ids)}"
        if smallest > most:
            why = f"the smallest queued prompt has {smallest} tokens, more than {most}"
            hint = f"ask for more: --max-tokens {smallest}"
        elif self.skipped:
            first = self.skipped[0]
            named = f"{first.note_path} {first.gate_id}: {first.reason}"
            why = f"no job could be made: {len(self.skipped)} pairs skipped, {named}"
            hint = "prompts that are too large want a higher --max-tokens"
        elif self.request.selection is None:
            why, hint = "no job is queued", "name gates, or --all-gates, to make some"
        elif lacking := corpus.lacking():
            why = "; ".join(lacking)
        elif self.left_out:
            named = ", ".join(f"{name} {number}" for name, number in self.left_out.items())
            why = f"{why}; left out by options: {named}"
        is_done = why.partition(";")[0] == _DONE
        return NothingToTake(why, hint=hint, label="done" if is_done else "error")
