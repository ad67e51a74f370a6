"""Says what a sweep would run and may cost; nothing is written."""

from __future__ import annotations

from collections.abc import Iterable

from review.contracts.jobs import CreatedJson
from review.contracts.sweeps import PlanJson, SweepJson
from review.corpus import Corpus
from review.models import Provenance, ReviewJob, batched
from review.orchestration.job_making import ALREADY_QUEUED
from review.orchestration.planning import create_jobs
from review.orchestration.sweep_report import SweepReport
from review.orchestration.sweep_request import SweepRequest
from review.orchestration.sweep_surroundings import Surroundings
from review.orchestration.sweep_tally import Tally
from review.orchestration.sweep_targets import (
    Skipped,
    create_request,
    sweep_target,
    without_given_up,
)
from review.queries.costs import estimate_cost
from review.queries.targets import select_targets
from review.vocabulary import JobStatus


def plan_sweep(
    request: SweepRequest, *, corpus: Corpus, provenance: Provenance, around: Surroundings
) -> SweepJson:
    """The answer of a dry run.

    :raises UsageRefused, UnknownGate, NoSuchNote: the selection makes no sense.
    """
    report = SweepReport(request, provenance, began=around.clock())
    selection = select_targets(corpus, request.selection)
    targets = [sweep_target(target) for target in selection.targets()]
    report.selected(selection, len(targets))
    skipped = Skipped()
    wanted = without_given_up(targets, request, skipped=skipped)
    created = create_jobs(
        create_request(wanted, request, actor=around.actor),
        config=around.config,
        now=around.clock(),
    )
    for item in created.skipped:
        skipped.add(item)
    report.plan = _plan(created, request, runner=provenance.runner or "")
    return report.document(
        tally=Tally(), skipped=skipped, problems=created.problems, now=around.clock()
    )


def _plan(created: CreatedJson, request: SweepRequest, *, runner: str) -> PlanJson:
    queued = _queued({item.review_job_id for item in created.skipped if _is_queued(item.reason)})
    tokens = sum(job.estimated_prompt_tokens for job in created.jobs)
    tokens += sum(estimated for estimated, _pairs in queued)
    cost = estimate_cost(
        model_partition=request.model_partition, runner=runner, prompt_tokens=tokens
    )
    return PlanJson(
        new_jobs=len(created.jobs),
        new_pairs=sum(job.pair_count for job in created.jobs),
        queued_jobs=len(queued),
        queued_pairs=sum(pairs for _estimated, pairs in queued),
        estimated_prompt_tokens=tokens,
        estimated_cost_usd=None if cost.cost_usd is None else round(cost.cost_usd, 4),
        estimated_from_jobs=cost.jobs,
    )


def _is_queued(reason: str) -> bool:
    return reason == ALREADY_QUEUED


def _queued(job_ids: Iterable[int | None]) -> list[tuple[int, int]]:
    """Estimated tokens and pairs of those jobs that wait for somebody; others are at work."""
    found: list[tuple[int, int]] = []
    for some in batched(sorted(job_id for job_id in job_ids if job_id is not None), 500):
        rows = ReviewJob.objects.filter(pk__in=some, status=JobStatus.QUEUED)
        found += rows.values_list("estimated_prompt_tokens", "pair_count")
    return found
