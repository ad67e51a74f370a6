"""Puts cases, jobs and workers together for the command that tries gates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from review.jobs.provenance import canonical_partition
from review.knowledge_base.opening import open_corpus
from review.management.kit.interrupt import stop_on_signals
from review.management.kit.sweep_options import worker_request
from review.runners.rules.judge import RULES
from review.settings.config import RULES_PARTITION, Config
from review.sweeps.run_jobs import RunResult, run_jobs
from review.sweeps.workers import build_worker
from review.trials.documents import GateTestJson
from review.trials.results import read_gate_results
from review.trials.run import TrialRequest, create_trials
from review.vocabulary import JobStatus


def run_gate_test(
    options: Mapping[str, Any], *, config: Config, now: datetime
) -> tuple[GateTestJson, bool]:
    """Try the gates that the options name; the answer, and whether it was interrupted."""
    partition = canonical_partition(options["model"] or RULES_PARTITION, config=config)
    ran = RunResult()
    with stop_on_signals() as stop, open_corpus(config) as corpus:
        gates = corpus.gates.resolve(options["gates"])
        if partition == RULES_PARTITION:
            gates = tuple(gate for gate in gates if gate.rule in RULES)
        else:
            worker = None
            if options["runner"]:
                worker = build_worker(
                    worker_request(options, config=config),
                    linker=corpus.linker,
                    config=config,
                    clock=timezone.now,
                    stop=stop,
                )
            request = TrialRequest(
                gates, partition, options["actor"], options["repeat"], options["batch_size"]
            )
            job_ids = create_trials(request, corpus=corpus, config=config, now=now)
            if worker is not None:
                ran = run_jobs(job_ids, worker=worker)
        results = read_gate_results(corpus, gates, partitions=[partition])
    open_jobs = {job for gate in results for case in gate.cases for job in case.open_job_ids}
    answer = GateTestJson(
        gates=results,
        open_job_ids=sorted(open_jobs),
        failed_job_ids=[job.review_job_id for job in ran.jobs if job.status == JobStatus.FAILED],
        stopped_because=ran.stopped_because,
    )
    return answer, stop.is_set()
