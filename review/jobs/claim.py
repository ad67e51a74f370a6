"""Claim queued jobs, each by exactly one parent; or take work: what is queued, else new jobs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from review.documents.base import from_row, timestamp
from review.domain.grouping import Target, group_targets
from review.errors import ExitCode, ReviewError
from review.job_files import ArtifactStore
from review.jobs.board import require_job, show_jobs
from review.jobs.create import CreateRequest, create_jobs
from review.jobs.job_documents import ClaimedJson, JobJson, SkippedJson, TakenJobJson, TakenJson
from review.jobs.leases import JobNotClaimable
from review.jobs.provenance import PartitionMismatch, Validated, check_flags, validate_provenance
from review.knowledge_base import Corpus
from review.models import JobEvent, JobMove, Lease, NamedKeys, Parent, Provenance, ReviewJob
from review.protocol.prompt import NOTES, estimate_tokens
from review.selection.documents import TargetJson
from review.selection.select import Selection, SelectionRequest, left_out_lines, select_targets
from review.settings import Config
from review.vocabulary import Grouping, JobPurpose, JobStatus


@dataclass(frozen=True)
class ClaimRequest:
    """A request to claim jobs for an actor.

    :param job_id: this one; None claims the oldest queued ones, that `provenance` fits.
    :param effort_unknown: the harness names its model but not the effort.
    :param parent: the process that stays until the jobs are closed; without it, they are abandoned.
    :param lease: of the one job; None where nobody will extend it.
    """

    actor: str
    provenance: Provenance
    job_id: int | None = None
    limit: int = 1
    model_partition: str | None = None
    effort_unknown: bool = False
    purpose: JobPurpose = JobPurpose.REVIEW
    parent: Parent | None = None
    lease: Lease | None = None


def claim(request: ClaimRequest, *, config: Config, now: datetime) -> ClaimedJson:
    """Claim the job that is named, or up to `limit` of the oldest; nothing moves on a refusal."""
    check_flags(request.provenance, effort_unknown=request.effort_unknown, config=config)
    validated: Validated
    if request.job_id is not None:
        validated = claim_job(require_job(request.job_id), request, config=config, now=now)
        claimed = [request.job_id]
    else:
        queued = ReviewJob.objects.filter(status=JobStatus.QUEUED, purpose=request.purpose)
        if request.model_partition is not None:
            queued = queued.of_partition(config.canonical_partition(request.model_partition))
        fitting = _fitting_partitions(queued, request, config)
        validated = next(iter(fitting.values()), "none")
        oldest = queued.filter(model_partition__name__in=fitting).order_by("pk")
        claimed = _claim(oldest.values_list("pk", flat=True), request, now=now) if fitting else []
    jobs = show_jobs(claimed, config=config)
    return ClaimedJson(claimed=bool(jobs), validated=validated, jobs=jobs)


def claim_job(job: ReviewJob, request: ClaimRequest, *, config: Config, now: datetime) -> Validated:
    """Claim a job, loaded with its names; return how far its model was compared."""
    if job.status == JobStatus.QUEUED:
        validated = _validate(job.model_partition.name, request, config)
        if _claim([job.pk], request, now=now):
            return validated
    raise _not_claimable(require_job(job.pk), request)


def _validate(partition: str, request: ClaimRequest, config: Config) -> Validated:
    said, unknown = request.provenance, request.effort_unknown
    return validate_provenance(partition, said, effort_unknown=unknown, config=config)


def _fitting_partitions(
    queued: QuerySet[ReviewJob], request: ClaimRequest, config: Config
) -> dict[str, Validated]:
    """Return the partitions of queued jobs that the named model may do, and how far compared."""
    fitting: dict[str, Validated] = {}
    names = queued.order_by("model_partition__name").values_list("model_partition__name", flat=True)
    partitions = list(names.distinct())
    for name in partitions:
        with suppress(PartitionMismatch):
            fitting[name] = _validate(name, request, config)
    if partitions and not fitting:
        _validate(partitions[-1], request, config)
    return fitting


def _claim(job_ids: Iterable[int], request: ClaimRequest, *, now: datetime) -> list[int]:
    """Claim up to `limit` of the jobs that are still queued, in their order; return which."""
    claimed: list[int] = []
    with transaction.atomic():
        for job_id in job_ids:
            if ReviewJob.objects.claim(
                job_id,
                provenance=request.provenance,
                claimed_by=request.actor,
                parent=request.parent,
                lease=request.lease,
                now=now,
            ):
                claimed.append(job_id)
            if len(claimed) == request.limit:
                break
        moves = (JobMove(pk, JobStatus.QUEUED, JobStatus.RUNNING, "claimed") for pk in claimed)
        JobEvent.objects.record(moves, actor=request.actor, now=now)
    return claimed


def _not_claimable(job: ReviewJob, request: ClaimRequest) -> JobNotClaimable:
    if job.status == JobStatus.RUNNING:
        runner = f" with runner {job.runner}" if job.runner else ""
        why = f"running: {job.claimed_by} took it at {timestamp(job.started_at)}{runner}"
    else:
        after = f"; job {job.replacement_id} replaces it" if job.replacement_id else ""
        why = f"{job.status} since {timestamp(job.completed_at)}{after}"
    partition = shlex.quote(job.model_partition.name)
    hint = f"take another: commonplace claim_review_job --next --model-partition {partition}"
    if request.provenance.runner:
        hint += f" --runner {shlex.quote(request.provenance.runner)}"
    return JobNotClaimable(f"job {job.pk} is {why}", hint=hint)


_DONE = "every pair of this scope is fresh"


class NothingToTake(ReviewError):
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

    Jobs are made for no more notes (or gates) than are taken: their texts are those of now.
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
        taking.chosen = chosen = select_targets(corpus, selection)
        targets = list(chosen.targets())
        taking.open_ids = {it.open_review_job_id for it in targets if it.open_review_job_id}
        taking.fill_from(taking.open_ids)
        waiting = [item for item in targets if item.open_review_job_id is None]
        across = request.across_lenses
        for group in group_targets(waiting, grouping=request.grouping, across_lenses=across):
            if taking.is_full:
                break
            taking.create(group.items)
    if not taking.jobs:
        raise taking.mismatch or taking.nothing(corpus)
    # Pairs that are in no job that somebody works on.
    running = ReviewJob.objects.filter(pk__in=NamedKeys(taking.open_ids), status=JobStatus.RUNNING)
    ids = set(running.values_list("pk", flat=True))
    taken = sum(job.pair_count for job in taking.jobs if job.review_job_id not in ids)
    left = sum(item.open_review_job_id not in ids for item in targets) - taken
    return from_row(
        TakenJson, taking, skipped=taking.skipped[:20], queued=queued.count(), left=max(0, left)
    )


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
    chosen: Selection | None = None
    is_full: bool = False

    def create(self, targets: Sequence[Target]) -> None:
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
        for job_id, path in queued.order_by("pk").values_list("pk", "prompt_path")[:100]:
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
            shared = self.heads.get(head)
            self.heads.setdefault(head, job_id)
            self.jobs.append(from_row(TakenJobJson, job, prompt=shown, shares_with=shared))
            self.used += tokens
            self.is_full = len(self.jobs) == self.request.claim.limit

    def nothing(self, corpus: Corpus) -> NothingToTake:
        most, sizes = self.request.max_tokens, self.queued.order_by("estimated_prompt_tokens")
        smallest = sizes.values_list("estimated_prompt_tokens", flat=True).first() or 0
        chosen, hint = self.chosen, ""
        why = _DONE if chosen and chosen.counts["fresh"] else "no pair is in this scope"
        if self.open_ids:
            why = f"every pair of this scope is fresh or in an open job; open jobs: {len(self.open_ids)}"
            hint = f"hand in their reviews; the first is job {min(self.open_ids)}"
        if smallest > most:
            why = f"the smallest queued prompt has {smallest} tokens, more than {most}"
            hint = f"ask for more: --max-tokens {smallest}"
        elif self.skipped:
            number, first = len(self.skipped), self.skipped[0]
            named = f"{first.note_path} {first.gate_id}: {first.reason}"
            why = f"no job could be made: {number} pairs skipped, {named}"
            hint = "prompts that are too large want a higher --max-tokens"
        elif chosen is None:
            why, hint = "no job is queued", "name gates, or --all-gates, to make some"
        elif lacking := corpus.lacking():
            why = "; ".join(lacking)
        else:
            why = "; ".join([why, *left_out_lines(chosen.left_out)])
        is_done = why.partition(";")[0] == _DONE
        return NothingToTake(why, hint=hint, label="done" if is_done else "error")
