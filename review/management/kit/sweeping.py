"""Long work of commands: scope, runner and workers from their options, progress, an orderly end."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from types import FrameType
from typing import Any, TextIO

from django.utils import timezone

from review.batches import BatchDispatch
from review.broker.application import make_application, send_job
from review.domain.printing import printable_line
from review.errors import InputRejected, UsageRefused
from review.jobs.board import find_jobs
from review.jobs.job_documents import RanJson
from review.management.kit import (
    Arguments,
    Option,
    ReviewCommand,
    printable_json,
    request_of,
    runner,
)
from review.management.kit.output import selection_request
from review.queue.fix import FAILED, PLANNED, REFUSED, FixSweep
from review.runners.api.provider import ApiProvider
from review.runners.api.run import open_provider
from review.runners.registry import find_runner
from review.settings import Config
from review.sweeps.executors import WorkerRequest, build_worker, model_of_jobs, resolve_editor
from review.sweeps.limits import Limits, StopPolicy
from review.sweeps.progress import OnEvent, SweepEvent, SweepJson, Tally
from review.sweeps.run_job import RetryPolicy, Worker
from review.sweeps.run_jobs import (
    Dispatch,
    Elsewhere,
    drive,
    partition_of_jobs,
    run_jobs,
    watch_jobs,
)
from review.sweeps.sweep import SweepRequest, plan_sweep, sweep
from review.vocabulary import RULES_PARTITION, Grouping, JobStatus

LOCAL = "local"
CELERY = "celery"
LIMITS: Arguments = {
    "limits": {
        "--jobs N": "at once (default: REVIEW_SWEEP_JOBS, else 4)",
        "--timeout 15m": "for each run of a job (default 15m)",
        "--max-jobs N": "start no more than N",
        "--max-cost-usd X": "start none that may cost more than is left",
        "--max-attempts N": "per pair and text: runs of a job, and failed jobs over all sweeps"
        " (default 3)",
        "--retry-pause 20s": "before a run that may succeed later is tried again; three times as"
        " long each time",
        "--wait-for-reset": "where a limit of the account tells when it ends, wait until then and"
        " go on",
        "--dry-run": "say what would be run and may cost",
        "--batch": "send the jobs to a model API as batches and leave; then: review_batches"
        " --collect",
    }
}


def runner_arguments(*, model_required: bool) -> Arguments:
    return {
        "runner": {
            **runner(required=True),
            "--model MODEL": Option(
                "the model, as the runner calls it, or its partition: what to be fresh for",
                required=model_required,
            ),
            "--dispatch": Option(
                "where the jobs run: on this machine, or where workers of Celery are",
                (LOCAL, CELERY),
                default=LOCAL,
            ),
        }
    }


def run_sweep(command: ReviewCommand, options: dict[str, Any]) -> SweepJson:
    corpus, config = command.corpus, command.config
    request = _sweep_request(options, config)
    provider = _batch_provider(options, config) if options["batch"] else None
    # The program is to be where the workers are.
    is_elsewhere = provider is not None or options["dispatch"] != LOCAL
    quiet = command.quiet or request.dry_run
    shown = watching(command.log, on_terminal=command.shows_progress, quiet=quiet)
    with stop_on_signals() as stop, shown as on_event:
        worker = worker_of(command, options, stop, dry_run=request.dry_run or is_elsewhere)
        for line in (*corpus.lacking(), *corpus.idle_settings(), *_paid_rules(request, command)):
            command.warn(line)
        if request.dry_run:
            return plan_sweep(request, corpus=corpus, worker=worker)
        dispatch: Dispatch = drive
        if provider is not None:
            dispatch = BatchDispatch(provider)
        elif is_elsewhere:
            send = _sender(worker, request.model_partition)
            dispatch = partial(drive, crew=Elsewhere(worker, send))
        return sweep(request, corpus=corpus, worker=worker, on_event=on_event, dispatch=dispatch)


def _paid_rules(request: SweepRequest, command: ReviewCommand) -> Iterator[str]:
    """Say that a model is asked what rules judge for free, unless each such gate was named."""
    scope, catalog = request.selection, command.corpus.gates
    gates = catalog.gates if scope.all_gates else catalog.resolve(scope.gates)
    rules = [gate for gate in gates if gate.rule and not {gate.gate_id, gate.path} & {*scope.gates}]
    if rules and not (scope.skip_rules or scope.rules_only):
        yield (
            f"{len(rules)} of {len(gates)} gates have a rule, which --runner rules judges for free:"
            " --skip-rules leaves them out"
        )


def run_fixes(command: ReviewCommand, options: dict[str, Any]) -> SweepJson:
    """Have the notes of the scope mended that have open findings."""
    began, config = timezone.now(), command.config
    wanted = _worker_request(options, config)
    spec, provenance = resolve_editor(wanted, config=config)
    with stop_on_signals() as stop:
        policy = StopPolicy(limits=_limits(options, config), stop=stop, slots=wanted.slots)
        work = FixSweep(
            corpus=command.corpus,
            spec=spec,
            provenance=provenance,
            policy=policy,
            timeout=wanted.timeout,
            clock=timezone.now,
            notes=tuple(options["notes"]),
            gates=tuple(options["gates"]),
            apply=options["apply"],
            dry_run=options["dry_run"],
        )
        work.run()
    outcomes = Counter(note.outcome for note in work.fixed)
    failed, refused, planned = (outcomes.pop(word, 0) for word in (FAILED, REFUSED, PLANNED))
    path = work.record.path.relative_to(config.root).as_posix() if work.record else None
    return SweepJson(
        dry_run=bool(planned),
        model_partition=options["model"] or "",
        runner=spec.name,
        runner_model=provenance.runner_model,
        runner_effort=provenance.runner_effort,
        grouping=Grouping.NOTE.value,
        targets=len(work.fixed),
        stopped=policy.reason,
        stopped_because=policy.because if policy.reason else None,
        jobs={"completed": outcomes.total(), "failed": failed, "refused": refused},
        cost=work.cost,
        seconds=round((timezone.now() - began).total_seconds(), 3),
        fixes=work.fixed,
        fix_record=path,
    )


def run_queued_jobs(
    command: ReviewCommand, options: Mapping[str, Any], *, stop: threading.Event
) -> RanJson:
    """Run the jobs that the options name; with `--watch`, a partition's as they are queued."""
    config, job_ids, model = command.config, options["job_ids"], options["runner_model"]
    spec = find_runner(options["runner"], config=config)
    typed = options["model_partition"] or (RULES_PARTITION if spec.in_process else None)
    if options["watch"]:
        typed = typed or model
        if typed is None:
            raise UsageRefused(
                "--watch runs the jobs of one partition",
                hint="add --model-partition, or --runner-model with the name of its model",
            )
    elif typed is None:
        typed = partition_of_jobs(job_ids, model=model, config=config)
        if typed is None:
            return RanJson()
        if model is None and not spec.settings.model and typed not in config.partitions:
            options = {**options, "runner_model": model_of_jobs(typed, spec)}
    partition = config.canonical_partition(typed)
    worker = worker_of(command, {**options, "model": typed}, stop)
    if not options["watch"]:
        queued = find_jobs(statuses=[JobStatus.QUEUED], partitions=[partition]).reviews()
        return run_jobs(job_ids or list(queued.values_list("pk", flat=True)), worker=worker)
    with watching(command.log, on_terminal=False, quiet=command.quiet) as on_event:
        return watch_jobs(partition, worker=worker, on_event=lambda event: on_event(event, Tally()))


def worker_of(
    command: ReviewCommand,
    options: Mapping[str, Any],
    stop: threading.Event,
    *,
    dry_run: bool = False,
) -> Worker:
    return build_worker(
        _worker_request(options, command.config),
        linker=command.corpus.linker,
        config=command.config,
        clock=timezone.now,
        stop=stop,
        dry_run=dry_run,
    )


def _worker_request(options: Mapping[str, Any], config: Config) -> WorkerRequest:
    """The runner and how it works; retries are not among the options of every command."""
    pause = options.get("retry_pause")
    return WorkerRequest(
        runner=options["runner"],
        typed=options["model"] or "",
        timeout=options["timeout"] or config.sweep_timeout,
        slots=options["jobs"] or config.sweep_jobs,
        actor=options.get("actor", ""),
        model=options["runner_model"],
        effort=options["runner_effort"],
        retry=RetryPolicy(
            options.get("max_attempts") or config.sweep_attempts,
            **({} if pause is None else {"first_pause": pause}),
            wait_for_reset=options.get("wait_for_reset", False),
        ),
        hands_on=options.get("watch", False),
    )


def _sweep_request(options: dict[str, Any], config: Config) -> SweepRequest:
    partition = config.canonical_partition(options["model"])
    selection = selection_request(options, model_partition=partition)
    if find_runner(options["runner"], config=config).in_process:
        # A gate without a rule is not for the embedded reviewer.
        selection = replace(selection, rules_only=True)
    return request_of(SweepRequest, options, selection=selection, limits=_limits(options, config))


def _limits(options: dict[str, Any], config: Config) -> Limits:
    return Limits(
        max_attempts=options["max_attempts"] or config.sweep_attempts,
        max_jobs=options["max_jobs"],
        max_cost_usd=options["max_cost_usd"] or config.sweep_max_cost_usd,
    )


def _batch_provider(options: Mapping[str, Any], config: Config) -> ApiProvider:
    spec = find_runner(options["runner"], config=config)
    if spec.api is None:
        raise UsageRefused(
            f"--batch is for model APIs, and runner {spec.name!r} is none",
            hint="declare one in kb/review.toml, with a kind",
        )
    return open_provider(spec.api)


def _sender(worker: Worker, partition: str) -> Callable[[int], None]:
    """Return what sends a job's id to the declared workers of its partition."""
    application, runner_name = make_application(worker.config), worker.provenance.runner
    declared = worker.config.workers.get(partition)
    if declared is None or declared.runner != runner_name:
        raise InputRejected(
            f"kb/review.toml declares no workers for {partition!r} with the runner {runner_name!r}",
            "no-workers",
            hint=f'add there: [workers."{partition}"] with runner = "{runner_name}"',
        )
    return partial(send_job, application, partition=partition)


EVENT_SCHEMA = "sweep-event/1"
_AMOUNT_UNKNOWN = "cost unknown"
# Only what somebody may have to act on scrolls by above the line.
_SHOWN = ("run-again", "job-refused", "left-queued", "not-salvaged", "salvaged")


def json_lines(
    write: Callable[[str], object], *, clock: Callable[[], float] = time.monotonic
) -> OnEvent:
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
            "spent_usd": tally.cost.usd,
        }
        encoded = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        # Whoever read this may have gone; the work goes on.
        with suppress(OSError):
            write(printable_json(encoded) + "\n")

    return show


def line_of(event: SweepEvent) -> str:
    fields = event.fields
    why = fields.get("failure_reason") or fields.get("reason") or fields.get("message") or ""
    code = fields.get("failure_code") or fields.get("code") or fields.get("status") or ""
    reason = ": ".join(str(part) for part in (code, why) if part)
    again = f" (again in {fields['in_seconds']:g} s)" if "in_seconds" in fields else ""
    what = "failed" if event.name == "job-finished" else event.name
    return printable_line(f"job {fields.get('review_job_id')}: {what}: {reason}{again}")


def numbers_of(tally: Tally, *, seconds: float) -> str:
    """Format the numbers beside the bar: the rate, running and failed jobs, and the cost so far."""
    cost = tally.cost.usd
    amount = _AMOUNT_UNKNOWN if cost is None else f"${cost:.2f}"
    if cost is not None and tally.cost.jobs_without_cost:
        amount += "+"
    failed = f" · {tally.jobs['failed']} failed" if tally.jobs["failed"] else ""
    rate = f"{60 * tally.pairs_done / seconds:.1f}/min · " if tally.pairs_done else ""
    return f"{rate}{len(tally.running)} running{failed} · {amount}"


def watching(stream: TextIO, *, on_terminal: bool, quiet: bool) -> AbstractContextManager[OnEvent]:
    if quiet:
        return nullcontext(lambda event, tally: None)
    return _terminal_line(stream) if on_terminal else nullcontext(json_lines(stream.write))


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


_SIGNALS = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_PATIENCE = 3


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that a termination signal sets, instead of ending the process; the third ends it."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    asked = count(1)
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {it: kept for it, kept in handlers.items() if kept not in (signal.SIG_IGN, None)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, frame: FrameType | None) -> None:
        stop.set()
        if next(asked) == _PATIENCE - 1:
            restore()

    for number in before:
        signal.signal(number, note)
    try:
        yield stop
    finally:
        restore()
