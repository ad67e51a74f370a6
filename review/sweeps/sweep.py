"""Reviews everything stale in a scope: a parent over select, create, claim, run and ingest."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain

import msgspec

from review.documents.base import from_row, timestamp
from review.domain.grouping import Group, group_targets
from review.errors import ReviewError
from review.ingest.parse import names_of
from review.jobs.board import PairText, count_attempts
from review.jobs.costs import estimate_cost, mean_cost, priced_estimates
from review.jobs.create import ALREADY_QUEUED, FRESH, CreateRequest, create_jobs
from review.jobs.files import finish_job_files
from review.jobs.job_documents import CreatedJson, JobJson, PlannedJobJson, RefusedJob, SkippedJson
from review.jobs.leases import JobNotClaimable
from review.knowledge_base import Corpus, in_order
from review.models import ReviewJob, batched
from review.recovery.close import orphaned_jobs, salvage_job
from review.recovery.recover import replace_job
from review.runners.cli.reset_times import read_reset_time
from review.selection.documents import TargetInput
from review.selection.freshness import file_now
from review.selection.select import SelectionRequest, select_targets
from review.store.errors import retry_while_busy
from review.sweeps import progress
from review.sweeps.limits import Limits, StopPolicy, StopReason
from review.sweeps.run_job import Worker
from review.sweeps.run_jobs import Dispatch, drive
from review.vocabulary import REQUESTED, RULES_PARTITION, Grouping, JobStatus

# Groups that become jobs at a time: few, so that little is left over when the sweep ends early, and
# a job has the texts that there are when it runs. Rules judge a note in a moment.
_WAVE, _WAVE_OF_RULES = 8, 50


@dataclass(frozen=True)
class SweepRequest:
    """The pairs to review, their grouping, and the limits; `batch_size` is for grouping `gate`."""

    selection: SelectionRequest
    grouping: Grouping
    limits: Limits
    batch_size: int | None = None
    dry_run: bool = False

    @property
    def model_partition(self) -> str:
        return self.selection.model_partition or ""

    @property
    def notes_in_job(self) -> int | None:
        return self.batch_size if self.grouping is Grouping.GATE else None

    @property
    def is_of_rules(self) -> bool:
        return self.model_partition == RULES_PARTITION

    @property
    def across_lenses(self) -> bool:
        """A job of rules holds all gates of its note: nobody reads its prompt."""
        return self.is_of_rules and self.grouping is Grouping.NOTE


def _without_given_up(
    targets: Iterable[TargetInput], request: SweepRequest, tally: progress.Tally
) -> list[TargetInput]:
    """Return the targets less those whose texts were tried often enough; once, for rules."""
    most, why = (
        (1, progress.CANNOT_JUDGE)
        if request.is_of_rules
        else (request.limits.max_attempts, progress.GIVEN_UP)
    )
    kept = []
    for chunk in batched(targets, 200):
        texts: list[PairText] = [
            (item.note_path, item.gate_path, item.note_sha256 or "", item.gate_sha256 or "")
            for item in chunk
        ]
        attempts = count_attempts(texts, model_partition=request.model_partition)
        for target, text in zip(chunk, texts, strict=True):
            if attempts[text] < most:
                kept.append(target)
            else:
                tally.skip(SkippedJson(target.note_path, target.gate_id, why))
    return kept


def create_wanted(
    targets: Iterable[TargetInput], request: SweepRequest, *, worker: Worker, tally: progress.Tally
) -> CreatedJson:
    """Create jobs for the targets, less those whose texts were tried often enough."""
    wanted = _without_given_up(targets, request, tally)
    to_create = CreateRequest(
        model_partition=request.model_partition,
        grouping=request.grouping,
        actor=worker.actor,
        batch_size=request.notes_in_job,
        across_lenses=request.across_lenses,
        omit=frozenset(
            {ALREADY_QUEUED} if request.selection.mode == REQUESTED else {ALREADY_QUEUED, FRESH}
        ),
        dry_run=request.dry_run,
    )
    create = partial(create_jobs, wanted, to_create, config=worker.config, now=worker.clock())
    created = retry_while_busy(create, stop=worker.stop)
    tally.problems = in_order([*tally.problems, *created.problems])
    return created


def _is_current(job: ReviewJob, corpus: Corpus) -> bool:
    sides = [
        job.pairs.values_list(f"{side}__path", f"{side}_snapshot__content_sha256")
        for side in ("note", "gate")
    ]
    files = ((file_now(corpus, path), sha256) for path, sha256 in chain(*sides))
    return all(file is not None and file.sha256 == sha256 for file, sha256 in files)


def sweep(
    request: SweepRequest,
    *,
    corpus: Corpus,
    worker: Worker,
    on_event: progress.OnEvent,
    dispatch: Dispatch = drive,
) -> progress.SweepJson:
    """Review what is stale, within the limits; `dispatch` runs the jobs, or sends them away.

    Jobs of parents that are gone are closed first, with what their runs had left on this host.
    """
    began = worker.clock()
    partition, limits = request.model_partition, request.limits
    if request.is_of_rules:
        limits = replace(limits, max_cost_usd=None)
    expected = mean_cost(partition, worker.provenance.runner or "")
    if expected is None and limits.max_cost_usd is not None:
        expected = _expected_cost(request, corpus, worker)
    policy = StopPolicy(limits, worker.stop, worker.slots, expected)
    run = _Sweep(request, worker, policy, on_event)
    run.salvage(orphaned_jobs(worker.processes))
    finish_job_files(config=worker.config)
    targets = _select(corpus, request, run.tally)
    corpus.save()
    selected = progress.SweepEvent(
        "selected", {"targets": len(targets), "counts": run.tally.counts}
    )
    on_event(selected, run.tally)
    run.review(targets, dispatch)
    answer = _answer(request, run.tally, worker, began)
    answer.stopped, answer.stopped_because = policy.reason, policy.because or None
    if policy.reason is StopReason.ACCOUNT_EXHAUSTED:
        resets_at = read_reset_time(policy.because, now=worker.clock())
        answer.resets_at = None if resets_at is None else timestamp(resets_at)
    return answer


def plan_sweep(request: SweepRequest, *, corpus: Corpus, worker: Worker) -> progress.SweepJson:
    began, tally = worker.clock(), progress.Tally()
    created = create_wanted(_select(corpus, request, tally), request, worker=worker, tally=tally)
    for item in created.skipped:
        tally.skip(item)
    answer = _answer(request, tally, worker, began)
    answer.plan = _plan(created, request, runner=answer.runner)
    planned = [job for job in created.jobs if isinstance(job, PlannedJobJson)]
    answer.plan.estimates = priced_estimates(planned, request.model_partition, corpus=corpus)
    return answer


@dataclass
class _Sweep:
    """A sweep under way: makes its jobs, hands them out and receives all updates, in one thread.

    Jobs that other parents have queued for pairs of its scope are run too.
    """

    request: SweepRequest
    worker: Worker
    policy: StopPolicy
    on_event: progress.OnEvent
    tally: progress.Tally = field(default_factory=progress.Tally)
    _targets: dict[tuple[str, str], TargetInput] = field(default_factory=dict)
    _groups: deque[Group[TargetInput]] = field(default_factory=deque)
    # Jobs to run next, and whether this sweep made them.
    _ready: dict[int, bool] = field(default_factory=dict)
    # Queued jobs that were met, and the job that is run in the place of each.
    _others: dict[int, int | None] = field(default_factory=dict)

    def review(self, targets: Sequence[TargetInput], dispatch: Dispatch) -> None:
        """Run until nothing is left, or nothing may start any more."""
        self._targets = {(target.note_path, target.gate_id): target for target in targets}
        self._pack(targets)
        dispatch(self._next_job, self.worker, may_start=self._may_start, on_update=self._on_update)
        # The texts of what was not started will have changed by the next time.
        why = f"not started: the sweep ended: {self.policy.because or 'nothing may start'}"
        for job_id in [job_id for job_id, is_ours in self._ready.items() if is_ours]:
            # Another parent may have taken it.
            self.tally.jobs[progress.NOT_STARTED] += self.worker.give_up(
                job_id, why, leaving=JobStatus.QUEUED
            )

    def _may_start(self, under_way: int) -> bool:
        # A limit that is reached with the last job cuts nothing off.
        return bool(self._ready or self._groups) and self.policy.may_start(under_way)

    def _next_job(self) -> int | None:
        """A job to run; None: nothing for now. A refusal ends the sweep."""
        try:
            while self._groups and not (self._ready or self.worker.stop.is_set()):
                self._make()
        except ReviewError as refused:
            self.policy.end(StopReason.JOBS_NOT_MADE, refused.message)
            return None
        if not self._ready:
            return None
        job_id = next(iter(self._ready))
        del self._ready[job_id]
        return job_id

    def _pack(self, targets: Iterable[TargetInput]) -> None:
        request = self.request
        self._groups.extend(
            group_targets(
                targets,
                grouping=request.grouping,
                batch_size=request.notes_in_job,
                across_lenses=request.across_lenses,
            )
        )

    def _make(self) -> None:
        """Make the next jobs; one group at a time where their number is limited."""
        wave = _WAVE_OF_RULES if self.request.is_of_rules else _WAVE
        wave = wave if self.request.limits.max_jobs is None else 1
        groups = [self._groups.popleft() for _ in range(min(wave, len(self._groups)))]
        targets = [target for group in groups for target in group.items]
        created = create_wanted(targets, self.request, worker=self.worker, tally=self.tally)
        for job in created.jobs:
            if isinstance(job, JobJson):  # and no plan, which only a dry run gives
                self._ready[job.review_job_id] = True
        for item in created.skipped:
            if item.reason != ALREADY_QUEUED or not self._runs_other(item.review_job_id or 0):
                self.tally.skip(item)

    def _runs_other(self, job_id: int) -> bool:
        """Return whether this sweep runs a job that another parent has queued."""
        if job_id not in self._others:
            found = self._take_over(job_id)
            self._others[job_id] = found
            if found is not None:
                self._others[found] = found
                self._ready[found] = found != job_id
        return self._others[job_id] is not None

    def _take_over(self, job_id: int) -> int | None:
        """A queued job, or its replacement where a text changed; None: neither can be run."""
        worker = self.worker
        job = ReviewJob.objects.with_names().filter(pk=job_id, status=JobStatus.QUEUED).first()
        if job is None:
            return None
        corpus = Corpus(worker.config)
        if _is_current(job, corpus):
            return job_id
        try:
            replaced = replace_job(
                job,
                actor=worker.actor,
                reason="a text of it has changed since it was queued",
                corpus=corpus,
                now=worker.clock(),
            )
        except ReviewError:
            return None
        return replaced.replaced_by

    def salvage(self, job_ids: Iterable[int]) -> None:
        """Close orphaned jobs; another sweep may be quicker."""
        worker = self.worker
        close = partial(salvage_job, actor=worker.actor, parent=worker.parent, config=worker.config)
        for job_id in job_ids:
            salvage = partial(close, job_id, now=worker.clock())
            try:
                document = retry_while_busy(salvage, stop=worker.stop)
            except ReviewError as refused:
                event = progress.SweepEvent(
                    "not-salvaged", progress.event_of(RefusedJob(job_id, refused)).fields
                )
            else:
                kept = sum(pair.decision is not None for pair in document.pairs)
                salvaged = from_row(progress.SalvagedJson, document, pairs_kept=kept)
                self.tally.salvaged.append(salvaged)
                event = progress.SweepEvent("salvaged", msgspec.structs.asdict(salvaged))
            self.on_event(event, self.tally)

    def _on_update(self, update: progress.JobUpdate) -> None:
        self.tally.add(update)
        self.policy.sent += isinstance(update, progress.JobSent)
        if isinstance(update, progress.JobRun):
            code = None if update.runs_rest_again else update.document.failure_code
            self.policy.note(
                update.usage, update.failure, code, update.document.failure_reason or ""
            )
            if update.runs_rest_again:
                self._pack(self._targets[key] for key in update.missing if key in self._targets)
        if isinstance(update, RefusedJob) and isinstance(update.error, JobNotClaimable):
            job_id = update.review_job_id
            for name in names_of(ReviewJob(pk=job_id), self.worker.config).values():
                self.tally.skip(SkippedJson(*name, ALREADY_QUEUED, job_id))
        self.on_event(progress.event_of(update), self.tally)


def _select(corpus: Corpus, request: SweepRequest, tally: progress.Tally) -> list[TargetInput]:
    selection = select_targets(corpus, request.selection)
    # Only what job creation reads: a sweep may keep very many.
    targets = [from_row(TargetInput, target, reason="") for target in selection.targets()]
    tally.counts, tally.left_out = dict(selection.counts), selection.left_out
    tally.pairs_in_all, tally.renames = len(targets), selection.renames()
    tally.problems = in_order([*tally.problems, *selection.problems])
    return targets


def _answer(
    request: SweepRequest, tally: progress.Tally, worker: Worker, began: datetime
) -> progress.SweepJson:
    provenance = worker.provenance
    return from_row(
        progress.SweepJson,
        tally,
        dry_run=request.dry_run,
        model_partition=request.model_partition,
        runner=provenance.runner or "",
        runner_model=provenance.runner_model,
        runner_effort=provenance.runner_effort,
        grouping=request.grouping.value,
        targets=tally.pairs_in_all,
        skipped=dict(sorted(tally.skipped.items())),
        seconds=round((worker.clock() - began).total_seconds(), 3),
    )


def _expected_cost(request: SweepRequest, corpus: Corpus, worker: Worker) -> float | None:
    """Estimate the cost of a job at the runner's prices, until a job has reported it."""
    plan = plan_sweep(replace(request, dry_run=True), corpus=corpus, worker=worker).plan
    if plan is None or not plan.new_jobs:
        return None
    costs = {item.runner: item.cost_usd for item in plan.estimates}
    cost = costs.get(worker.provenance.runner or "")
    return None if cost is None else cost / plan.new_jobs


def _plan(created: CreatedJson, request: SweepRequest, *, runner: str) -> progress.PlanJson:
    ids = {item.review_job_id or 0 for item in created.skipped if item.reason == ALREADY_QUEUED}
    # Those that wait for somebody; others are at work.
    waiting = ReviewJob.objects.filter(pk__in=ids, status=JobStatus.QUEUED)
    queued = list(waiting.values_list("estimated_prompt_tokens", "pair_count"))
    tokens = created.totals.estimated_prompt_tokens + sum(estimated for estimated, _pairs in queued)
    cost, past_jobs = estimate_cost(request.model_partition, runner, prompt_tokens=tokens)
    return progress.PlanJson(
        new_jobs=created.totals.jobs,
        new_pairs=created.totals.pairs,
        queued_jobs=len(queued),
        queued_pairs=sum(pairs for _estimated, pairs in queued),
        estimated_prompt_tokens=tokens,
        estimated_cost_usd=None if cost is None else round(cost, 4),
        estimated_from_jobs=past_jobs,
    )
