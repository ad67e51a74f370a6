"""Puts scope, runner and workers together for the commands that run jobs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO, cast

from django.utils import timezone

from review.batches.submit import BatchDispatch
from review.broker.application import NoWorkers, make_application, send_job
from review.errors import UsageRefused
from review.jobs.board import list_job_ids
from review.jobs.provenance import canonical_partition
from review.knowledge_base.opening import open_corpus
from review.management.kit.interrupt import stop_on_signals
from review.management.kit.sweep_options import LOCAL, sweep_limits, sweep_request, worker_request
from review.management.kit.sweep_progress import watching
from review.queue.fix import FAILED, PLANNED, REFUSED, FixSweep, fix_notes
from review.runners.api.run import Provider, open_provider
from review.runners.process.table import ProcessTable
from review.runners.registry import find_runner
from review.settings.config import RULES_PARTITION, Config
from review.sweeps.documents import SweepJson
from review.sweeps.elsewhere import Send, drive_elsewhere
from review.sweeps.feeder import SweepRequest
from review.sweeps.progress import Tally
from review.sweeps.run_job import Worker
from review.sweeps.run_jobs import Dispatch, RunResult, drive, partition_of_jobs, run_jobs
from review.sweeps.sweep import plan_sweep, sweep
from review.sweeps.watch import watch_jobs
from review.sweeps.workers import build_worker, resolve_editor
from review.vocabulary import Grouping, JobPurpose, JobStatus

if TYPE_CHECKING:
    from review.management.kit.command import ReviewCommand


def run_sweep(command: ReviewCommand, options: dict[str, Any], *, config: Config) -> SweepJson:
    """Sweep, or say what a sweep would do, as the options of `command` ask."""
    request = sweep_request(options, config=config)
    to_work = worker_request(options, config=config)
    stderr = cast(TextIO, command.stderr._out)
    quiet = command.quiet or request.dry_run
    provider = _batch_provider(options, config) if options["batch"] else None
    with (
        stop_on_signals() as stop,
        watching(stderr, on_terminal=command.shows_progress, quiet=quiet) as on_event,
        open_corpus(config, use_cache=not options["no_cache"]) as corpus,
    ):
        worker = build_worker(
            to_work,
            linker=corpus.linker,
            config=config,
            clock=timezone.now,
            stop=stop,
            # The program is to be where the workers are.
            dry_run=request.dry_run or provider is not None or options["dispatch"] != LOCAL,
        )
        if request.dry_run:
            return plan_sweep(request, corpus=corpus, worker=worker)
        processes = ProcessTable()
        dispatch: Dispatch = drive
        if provider is not None:
            dispatch = BatchDispatch(provider, processes=processes)
        elif options["dispatch"] != LOCAL:
            dispatch = partial(drive_elsewhere, send=_sender(worker, request, config))
        return sweep(
            request,
            corpus=corpus,
            worker=worker,
            processes=processes,
            on_event=on_event,
            dispatch=dispatch,
        )


def _sender(worker: Worker, request: SweepRequest, config: Config) -> Send:
    """Return what sends a job's id to the workers of its partition.

    :raises NoBroker, NoWorkers: the settings do not say where to send it, or who would run it.
    """
    application, partition = make_application(config), request.model_partition
    declared, runner = config.workers.get(partition), worker.provenance.runner
    if declared is None or declared.runner != runner:
        raise NoWorkers(
            f"kb/review.toml declares no workers for {partition!r} with the runner {runner!r}",
            hint=f'add there: [workers."{partition}"] with runner = "{runner}"',
        )
    return partial(send_job, application, partition=partition)


def run_fixes(options: dict[str, Any], *, config: Config) -> SweepJson:
    """Have the notes of the scope mended that have open findings."""
    began = timezone.now()
    wanted = worker_request(options, config=config)
    resolved = resolve_editor(wanted, config=config)
    request = FixSweep(
        resolved=resolved,
        limits=sweep_limits(options, config),
        timeout=wanted.timeout,
        notes=tuple(options["note"] or ()),
        gates=tuple(options["gates"]),
        slots=wanted.slots,
        apply=options["apply"],
        dry_run=options["dry_run"],
        clock=timezone.now,
    )
    with stop_on_signals() as stop, open_corpus(config) as corpus:
        fixed = fix_notes(request, corpus=corpus, config=config, stop=stop)
    outcomes = Counter(note.outcome for note in fixed.notes)
    failed, refused = outcomes.pop(FAILED, 0), outcomes.pop(REFUSED, 0)
    planned = outcomes.pop(PLANNED, 0)
    reason, tally = fixed.policy.reason, Tally()
    for usage in fixed.usages:
        tally.count_cost(usage)
    return SweepJson(
        dry_run=bool(planned),
        model_partition=options["model"] or "",
        runner=resolved.spec.name,
        runner_model=resolved.provenance.runner_model,
        runner_effort=resolved.provenance.runner_effort,
        grouping=Grouping.NOTE.value,
        targets=len(fixed.notes),
        stopped=reason,
        stopped_because=fixed.policy.because if reason else None,
        jobs={"completed": outcomes.total(), "failed": failed, "refused": refused},
        cost=tally.cost(),
        seconds=round((timezone.now() - began).total_seconds(), 3),
        fixes=list(fixed.notes),
        fix_record=fixed.record,
    )


def run_chosen_jobs(
    options: Mapping[str, Any], *, stop: threading.Event, config: Config
) -> RunResult:
    """Run the jobs that the options name.

    :raises UsageRefused: the jobs are for several partitions.
    """
    typed = _partition(options, config)
    if typed is None:
        return RunResult()
    partition = canonical_partition(typed, config=config)
    job_ids = options["job_ids"] or list_job_ids(
        statuses=(JobStatus.QUEUED,), model_partition=partition, purpose=JobPurpose.REVIEW
    )
    request = worker_request({**options, "model": typed}, config=config)
    with open_corpus(config) as corpus:
        worker = build_worker(
            request, linker=corpus.linker, config=config, clock=timezone.now, stop=stop
        )
        return run_jobs(job_ids, worker=worker)


def run_watch(
    command: ReviewCommand, options: Mapping[str, Any], *, stop: threading.Event, config: Config
) -> RunResult:
    """Run the jobs of a partition as they are queued.

    :raises UsageRefused: the options name no partition.
    """
    in_process = find_runner(options["runner"], config=config).in_process
    typed = (
        options["model_partition"]
        or options["runner_model"]
        or (RULES_PARTITION if in_process else None)
    )
    if typed is None:
        raise UsageRefused(
            "--watch runs the jobs of one partition",
            hint="add --model-partition, or --runner-model with the name of its model",
        )
    request = replace(worker_request({**options, "model": typed}, config=config), hands_on=True)
    stderr = cast(TextIO, command.stderr._out)
    with (
        open_corpus(config) as corpus,
        watching(stderr, on_terminal=False, quiet=command.quiet) as on_event,
    ):
        worker = build_worker(
            request, linker=corpus.linker, config=config, clock=timezone.now, stop=stop
        )
        return watch_jobs(
            canonical_partition(typed, config=config),
            worker=worker,
            on_event=lambda event: on_event(event, Tally()),
        )


def _batch_provider(options: Mapping[str, Any], config: Config) -> Provider:
    spec = find_runner(options["runner"], config=config)
    if spec.api is None:
        raise UsageRefused(
            f"--batch is for model APIs, and runner {spec.name!r} is none",
            hint="declare one in kb/review.toml, with a kind",
        )
    return open_provider(spec.api)


def _partition(options: Mapping[str, Any], config: Config) -> str | None:
    if options["model_partition"] is not None:
        return str(options["model_partition"])
    if find_runner(options["runner"], config=config).in_process:
        return RULES_PARTITION
    return partition_of_jobs(options["job_ids"], model=options["runner_model"], config=config)
