"""Puts a runner, its workers and the jobs together for `run_review_jobs`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from review.conf import RULES_PARTITION, Config
from review.orchestration.dispatching import Dispatcher, SerialDispatcher, ThreadDispatcher
from review.orchestration.hiring import HireRequest, hire
from review.orchestration.job_batches import RunResult, partition_of_jobs, queued_jobs, run_jobs
from review.orchestration.running import Worker
from review.queries.knowledge_base import open_corpus
from review.runners.process_table import ProcessTable
from review.runners.registry import find_runner


def run_chosen_jobs(
    options: Mapping[str, Any], *, stop: threading.Event, config: Config
) -> RunResult:
    """Run the jobs that the options name.

    :raises UsageRefused: the jobs are for several partitions.
    """
    partition = _partition(options, config)
    if partition is None:
        return RunResult((), (), ())
    job_ids = options["job_ids"] or queued_jobs(partition)
    with open_corpus(config) as corpus:
        worker = hire(
            HireRequest(
                runner=options["runner"],
                model_partition=partition,
                timeout=options["timeout"] or config.sweep_timeout,
                actor=options["actor"],
                model=options["runner_model"],
                effort=options["runner_effort"],
            ),
            parent=ProcessTable().me(),
            linker=corpus.linker,
            config=config,
            clock=timezone.now,
        )
        slots = min(options["jobs"] or config.sweep_jobs, max(len(job_ids), 1))
        dispatcher = dispatcher_for(worker, slots=slots, stop=stop)
        return run_jobs(job_ids, dispatcher=dispatcher, stop=stop)


def dispatcher_for(worker: Worker, *, slots: int, stop: threading.Event) -> Dispatcher:
    """Threads, which wait for processes; what runs in this process runs one by one."""
    if worker.executor.in_process:
        return SerialDispatcher(worker, stop=stop)
    return ThreadDispatcher(worker, slots=slots, stop=stop)


def _partition(options: Mapping[str, Any], config: Config) -> str | None:
    if options["model_partition"] is not None:
        return str(options["model_partition"])
    if find_runner(options["runner"], config=config).in_process:
        return RULES_PARTITION
    return partition_of_jobs(options["job_ids"], model=options["runner_model"], config=config)
