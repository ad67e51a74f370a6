"""Puts scope, runner and workers together for the sweeping commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO, cast

from django.utils import timezone

from review.management.interrupting import stop_on_signals
from review.management.running_jobs import dispatcher_for
from review.management.sweep_options import hire_request, sweep_request
from review.management.sweep_progress import watching
from review.orchestration.hiring import hire, interview
from review.orchestration.sweep_planning import plan_sweep
from review.orchestration.sweep_surroundings import Surroundings
from review.orchestration.sweeping import sweep
from review.queries.knowledge_base import open_corpus
from review.runners.process_table import ProcessTable

if TYPE_CHECKING:
    from review.conf import Config
    from review.contracts.sweeps import SweepJson
    from review.management.base import ReviewCommand
    from review.vocabulary import Grouping


def run_sweep(
    command: ReviewCommand,
    options: dict[str, Any],
    *,
    grouping: Grouping,
    answer: type[SweepJson],
    config: Config,
) -> SweepJson:
    """Sweep, or say what a sweep would do, as the options of `command` ask."""
    request = sweep_request(options, grouping=grouping, answer=answer, config=config)
    processes = ProcessTable()
    me = processes.me()
    actor = f"sweep:{me.host}:{me.pid}"
    to_hire = hire_request(options, actor=actor, config=config)
    hired = interview(to_hire, config=config)
    stderr = cast(TextIO, command.stderr._out)
    quiet = command.quiet or request.dry_run
    with (
        stop_on_signals() as stop,
        watching(stderr, on_terminal=command.shows_progress, quiet=quiet) as watcher,
        open_corpus(config, use_cache=not options["no_cache"]) as corpus,
    ):
        around = Surroundings(config, processes, watcher, actor, stop, timezone.now)
        if request.dry_run:
            return plan_sweep(request, corpus=corpus, provenance=hired.provenance, around=around)
        worker = hire(to_hire, parent=me, linker=corpus.linker, config=config, clock=timezone.now)
        slots = options["jobs"] or config.sweep_jobs
        return sweep(
            request,
            corpus=corpus,
            dispatcher=dispatcher_for(worker, slots=slots, stop=stop),
            provenance=hired.provenance,
            around=around,
        )
