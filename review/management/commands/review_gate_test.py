"""Try gates on their cases: texts beside the gate that it is to flag or to pass. A model gets them
as notes, in jobs of their own that no queue and no freshness counts; without --runner the jobs are
made for claim_review_job --next --trial. Only what is not measured yet is run: call it again to
read the results.

    commonplace review_gate_test prose --model claude-opus-4-6 --runner claude-code
    commonplace review_gate_test semantic --model gpt-5.1-codex --repeat 2 --json
    commonplace review_gate_test links markup --rules --fail-on miss
"""

from __future__ import annotations

import threading

from review import store
from review.jobs.job_documents import RanJson
from review.management import kit
from review.management.kit.sweeping import stop_on_signals, worker_of
from review.runners.rules.judge import RULES
from review.sweeps.run_jobs import run_jobs
from review.trials.results import (
    CaseResultJson,
    GateTestJson,
    TrialRequest,
    create_trials,
    plan_trials,
    read_gate_results,
)
from review.vocabulary import RULES_PARTITION, JobStatus

MISS = "miss"
_CLAIM = "take one: commonplace claim_review_job --next --trial --runner R"
_NO_CASES = (
    "no gate to test: none of these has cases (in GATE.cases/ beside it) and, with --rules, a rule"
)


class Command(kit.ReviewCommand):
    exit_codes = {
        kit.ExitCode.FAILED: "a job failed; its cases are not measured",
        kit.ExitCode.NOTHING_TO_DO: "none of the gates has a case",
        kit.ExitCode.CONFLICT: "the runner's model is of another partition",
        kit.ExitCode.INPUT_REJECTED: "unknown gate or runner, or the runner is not installed",
        kit.ExitCode.GATE_TRIPPED: "--fail-on miss: a case is missed, not measured or not readable",
        kit.ExitCode.INTERRUPTED: "interrupted: the jobs that ran were failed with what they had",
    }
    arguments = {
        "gates GATE_OR_BUNDLE...": "gates to try",
        "model": kit.OneOf(
            {
                "--model MODEL": "the model, or its partition",
                "--rules": "gates with a rule, in this process",
            },
            required=True,
        ),
        **kit.runner(required=False),
        "--repeat N": kit.Option("runs of each case (default 1)", default=1),
        "--batch-size N": kit.Option("cases of a gate in a job (default 1)", default=1),
        "--jobs N": "how many at once, with --runner",
        "--timeout 15m": "for each job",
        "--dry-run": "name the jobs that are wanting, and make none",
        "--fail-on": kit.Option("exit 6 unless every case is answered as it expects", (MISS,)),
        **kit.ACTOR,
    }

    def use_of(self, options: kit.Options) -> store.Use:
        if options["rules"]:
            return store.Use.NONE
        return store.Use.READ if options["dry_run"] else store.Use.WRITE

    def run(self, options: kit.Options) -> None:
        if options["runner"] and options["rules"]:
            raise kit.UsageRefused("--runner goes with --model: rules run in this process")
        with stop_on_signals() as stop:
            answer = self._try(options, stop)
        because = answer.stopped_because
        stopped = [] if because is None else [f"stopped: {because}"]
        interrupted = kit.ExitCode.INTERRUPTED if stop.is_set() else None
        code = interrupted or _exit_code(answer, options["fail_on"])
        self.show(answer, _lines(answer), warnings=stopped, code=code)

    def _try(self, options: kit.Options, stop: threading.Event) -> GateTestJson:
        corpus, config = self.corpus, self.config
        partition = config.canonical_partition(options["model"] or RULES_PARTITION)
        gates, ran = corpus.gates.resolve(options["gates"]), RanJson()
        # A rule gives the same answer each time.
        repeat = 1 if partition == RULES_PARTITION else options["repeat"]
        request = TrialRequest(gates, partition, options["actor"], repeat, options["batch_size"])
        if partition == RULES_PARTITION:
            gates = tuple(gate for gate in gates if gate.rule in RULES)
        elif not options["dry_run"]:
            worker = worker_of(self, options, stop) if options["runner"] else None
            job_ids = create_trials(request, corpus=corpus, now=self.now)
            if worker is not None:
                ran = run_jobs(job_ids, worker=worker)
        results = read_gate_results(corpus, gates, partitions=[partition])
        open_jobs = {job for gate in results for case in gate.cases for job in case.open_job_ids}
        return GateTestJson(
            gates=results,
            open_job_ids=sorted(open_jobs),
            failed_job_ids=[
                job.review_job_id for job in ran.jobs if job.status == JobStatus.FAILED
            ],
            stopped_because=ran.stopped_because,
            planned=plan_trials(request, results, corpus) if options["dry_run"] else None,
        )


def _exit_code(answer: GateTestJson, fail_on: str | None) -> kit.ExitCode:
    if not answer.gates:
        return kit.ExitCode.NOTHING_TO_DO
    if answer.failed_job_ids or answer.stopped_because:
        return kit.ExitCode.FAILED
    missed = any(gate.missed or gate.problems for gate in answer.gates)
    return kit.ExitCode.GATE_TRIPPED if missed and fail_on == MISS else kit.ExitCode.DONE


def _lines(answer: GateTestJson) -> kit.Lines:
    for gate in answer.gates:
        hits, alarms, flips = gate.hits, gate.false_alarms, gate.flips
        yield from kit.told(
            f"{gate.gate_id} ({gate.model_partition}): hits {hits.count}/{hits.of}, false alarms"
            f" {alarms.count}/{alarms.of}, flips {flips.count}/{flips.of}",
            (f"  {item.path}: {item.message}" for item in gate.problems),
            (_case_line(case) for case in gate.cases if case.missed or case.draft),
        )
    planned = answer.planned or ()
    yield from kit.told(
        None if answer.planned is None else f"would make {len(planned)} jobs",
        (f"  {', '.join(case_paths)}" for case_paths in planned),
        f"open jobs: {len(answer.open_job_ids)} ({_CLAIM})" if answer.open_job_ids else None,
        None if answer.gates else _NO_CASES,
    )


def _case_line(case: CaseResultJson) -> str:
    draft = " (draft)" if case.draft else ""
    answered = ", ".join(case.decisions) or case.state
    pairs = f" [pair {', '.join(map(str, case.review_pair_ids))}]" if case.review_pair_ids else ""
    return f"  {case.case_path}{draft}: expected {case.expect}: {answered}{pairs}"
