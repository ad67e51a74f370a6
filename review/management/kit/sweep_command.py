"""Puts scope, runner and workers together for the commands that run jobs."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TextIO, cast

from django.utils import timezone

from review.batches.submit import BatchDispatch
from review.broker.application import NoWorkers, make_application, send_job
from review.domain.printing import printable_line
from review.errors import UsageRefused
from review.jobs.board import list_job_ids
from review.jobs.provenance import canonical_partition
from review.knowledge_base.opening import open_corpus
from review.management.kit.command import ReviewCommand
from review.management.kit.interrupt import stop_on_signals
from review.management.kit.streams import printable_json
from review.management.kit.sweep_options import LOCAL, sweep_limits, sweep_request, worker_request
from review.queue.fix import FAILED, PLANNED, REFUSED, FixSweep, fix_notes
from review.runners.api.provider import ApiProvider
from review.runners.api.run import open_provider
from review.runners.registry import find_runner
from review.settings.config import RULES_PARTITION, Config
from review.sweeps.documents import SweepJson
from review.sweeps.elsewhere import Elsewhere
from review.sweeps.feeder import SweepRequest
from review.sweeps.progress import OnEvent, SweepEvent, Tally
from review.sweeps.run_job import Worker
from review.sweeps.run_jobs import (
    Dispatch,
    RunResult,
    drive,
    partition_of_jobs,
    run_jobs,
    watch_jobs,
)
from review.sweeps.sweep import plan_sweep, sweep
from review.sweeps.workers import build_worker, resolve_editor
from review.vocabulary import Grouping, JobPurpose, JobStatus

EVENT_SCHEMA = "sweep-event/1"
_AMOUNT_UNKNOWN = "cost unknown"
# Only what somebody may have to act on scrolls by above the line.
_SHOWN = ("run-again", "job-refused", "left-queued", "not-salvaged", "salvaged")


def json_lines(
    write: Callable[[str], object], *, clock: Callable[[], float] = time.monotonic
) -> OnEvent:
    """Write one JSON object per line, for logs."""
    began = clock()

    def show(event: SweepEvent, tally: Tally) -> None:
        document = {
            "schema": EVENT_SCHEMA,
            "event": event.name,
            "seconds": round(clock() - began, 3),
            **event.fields,
            "pairs_done": tally.pairs_done,
            "pairs_in_all": tally.pairs_in_all,
            "running": len(tally.running),
            "spent_usd": tally.cost_usd,
        }
        encoded = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        # Whoever read this may have gone; the work goes on.
        with suppress(OSError):
            write(printable_json(encoded) + "\n")

    return show


def line_of(event: SweepEvent) -> str:
    """The event for people, on one line."""
    fields = event.fields
    why = fields.get("failure_reason") or fields.get("reason") or fields.get("message") or ""
    code = fields.get("failure_code") or fields.get("code") or fields.get("status") or ""
    reason = ": ".join(str(part) for part in (code, why) if part)
    again = f" (again in {fields['in_seconds']:g} s)" if "in_seconds" in fields else ""
    what = "failed" if event.name == "job-finished" else event.name
    return printable_line(f"job {fields.get('review_job_id')}: {what}: {reason}{again}")


def numbers_of(tally: Tally, *, seconds: float) -> str:
    """Format the numbers beside the bar: the rate, running and failed jobs, and the cost so far."""
    cost = tally.cost_usd
    amount = _AMOUNT_UNKNOWN if cost is None else f"${cost:.2f}"
    if cost is not None and tally.jobs_without_cost:
        amount += "+"
    failed = f" · {tally.jobs['failed']} failed" if tally.jobs["failed"] else ""
    rate = f"{60 * tally.pairs_done / seconds:.1f}/min · " if tally.pairs_done else ""
    return f"{rate}{len(tally.running)} running{failed} · {amount}"


@contextmanager
def watching(stream: TextIO, *, on_terminal: bool, quiet: bool) -> Iterator[OnEvent]:
    """Show the events of a sweep on `stream`."""
    if quiet:
        yield lambda event, tally: None
    elif on_terminal:
        with _terminal_line(stream) as show:
            yield show
    else:
        yield json_lines(stream.write)


@contextmanager
def _terminal_line(stream: TextIO) -> Iterator[OnEvent]:
    """A bar with rate, cost so far and time left; failures scroll by above it."""
    from rich import progress
    from rich.console import Console

    console = Console(file=stream, force_terminal=True, soft_wrap=True)
    bar = progress.Progress(
        progress.TextColumn("pairs"),
        progress.BarColumn(bar_width=24),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[numbers]}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        speed_estimate_period=600,
    )
    task = bar.add_task("sweep", total=None, numbers="")
    began = time.monotonic()

    def show(event: SweepEvent, tally: Tally) -> None:
        failed = event.fields.get("status") == "failed" and event.name == "job-finished"
        if failed or event.name in _SHOWN:
            console.print(line_of(event), markup=False, highlight=False)
        bar.update(
            task,
            total=tally.pairs_in_all or None,
            completed=min(tally.pairs_done + tally.skipped.total(), tally.pairs_in_all),
            numbers=numbers_of(tally, seconds=time.monotonic() - began),
        )

    with bar:
        yield show


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
        for line in corpus.lacking():
            command.warn(line)
        if request.dry_run:
            return plan_sweep(request, corpus=corpus, worker=worker)
        dispatch: Dispatch = drive
        if provider is not None:
            dispatch = BatchDispatch(provider)
        elif options["dispatch"] != LOCAL:
            send = _sender(worker, request, config)
            dispatch = partial(drive, crew=Elsewhere(worker, send))
        return sweep(
            request,
            corpus=corpus,
            worker=worker,
            on_event=on_event,
            dispatch=dispatch,
        )


def _sender(worker: Worker, request: SweepRequest, config: Config) -> Callable[[int], None]:
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
        notes=tuple(options["notes"]),
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


def _batch_provider(options: Mapping[str, Any], config: Config) -> ApiProvider:
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
