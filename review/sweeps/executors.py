"""Executors of a job's pairs (the embedded reviewer, a CLI, a model API), and workers with one.

A job is prepared before it is claimed: one that cannot run here stays queued for others.
"""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache

from review.domain.model_partition import (
    EFFORT_SEPARATOR,
    build_model_partition,
    effort_part,
    model_part,
)
from review.errors import UsageRefused
from review.ingest.parse import names_of, write_blocks
from review.jobs.files import next_run_folder, read_job_prompt, snapshot_gate
from review.jobs.leases import Processes
from review.jobs.provenance import PartitionMismatch, validate_provenance
from review.knowledge_base.resolver import Linker
from review.models import Provenance, ReviewJob
from review.runners.api.provider import ApiProvider, ModelCall
from review.runners.api.run import open_provider, run_api
from review.runners.outcome import RunnerOutcome
from review.runners.registry import Access, Dialect, RunnerSpec, find_runner, installed_runner
from review.runners.rules.judge import RULES, judge
from review.runners.run import RunRequest, not_prepared, run_cli, scratch_folder
from review.settings import Config
from review.sweeps.run_job import CannotRun, Execution, RetryPolicy, Worker
from review.vocabulary import RULES_PARTITION

_FOLDED = re.compile(r"\d-\d").search


@dataclass(frozen=True)
class Executor:
    """Makes the jobs of one runner ready; a model API has a provider instead of a command."""

    spec: RunnerSpec
    provenance: Provenance
    timeout: timedelta
    linker: Linker
    config: Config
    provider: ApiProvider | None = None

    def prepare(self, job: ReviewJob) -> Execution:
        """Make a job ready, or refuse it: no rule, another prompt, or a model's partition."""
        if self.spec.in_process:
            return self._rules(job)
        return self._process(job) if self.provider is None else self._api(job, self.provider)

    def _rules(self, job: ReviewJob) -> Execution:
        if job.model_partition.name != RULES_PARTITION:
            raise PartitionMismatch(
                f"job {job.pk} is for partition {job.model_partition.name!r}; the embedded reviewer"
                f" is no model and reviews only partition {RULES_PARTITION!r}",
                hint="rules go first: commonplace review_sweep --all-gates --runner rules",
            )
        related = ("note", "gate", "note_snapshot", "gate_snapshot")
        pairs = job.pairs.select_related(*related).order_by("ordinal")
        gates = {pair: snapshot_gate(pair, self.config) for pair in pairs}
        without = dict.fromkeys(it.gate_id for it in gates.values() if it.rule not in RULES)
        if without:
            raise CannotRun(f"no rule judges {', '.join(without)}")

        def run(_stop: threading.Event) -> RunnerOutcome:
            read, reviews = cache(self.linker.rule_input), {}  # many rules ask about one note
            for pair, gate in gates.items():
                given = read(pair.note_snapshot.text, pair.note.path)
                reviews[pair.ordinal] = judge(gate.rule, given, gate.severity)
            outcome = RunnerOutcome(typed=reviews)
            return with_blocks(outcome, job, names_of(job, self.config))

        return run

    def _process(self, job: ReviewJob) -> Execution:
        """Have a CLI judge the job in a process, out of the knowledge base's reach."""
        prompt, config = _read_prompt(job, self.config), self.config
        pairs = job.pairs.select_related("note", "note_snapshot").order_by("ordinal")
        notes = {pair.note.path: pair.note_snapshot.text for pair in pairs}
        reading = self.linker.read_linked_files(notes.items())

        def run(stop: threading.Event) -> RunnerOutcome:
            try:
                with scratch_folder() as scratch:
                    request = RunRequest(
                        spec=self.spec,
                        prompt=prompt,
                        scratch=scratch,
                        files=next_run_folder(job, config=config),
                        output=job.bundle_output_path,
                        model=self.provenance.runner_model,
                        effort=self.provenance.runner_effort,
                        timeout=self.timeout.total_seconds(),
                        reading=reading,
                    )
                    return run_cli(request, stop=stop)
            except OSError as error:  # of the scratch folder
                return not_prepared(error, unusable=True)

        return run

    def _api(self, job: ReviewJob, provider: ApiProvider) -> Execution:
        call = model_call(job, provenance=self.provenance, config=self.config)
        names = names_of(job, self.config)
        timeout = self.timeout.total_seconds()

        def run(stop: threading.Event) -> RunnerOutcome:
            outcome = run_api(provider, call, ordinals=list(names), timeout=timeout, stop=stop)
            return with_blocks(outcome, job, names)

        return run


def with_blocks(
    outcome: RunnerOutcome, job: ReviewJob, names: Mapping[int, tuple[str, str]]
) -> RunnerOutcome:
    """Write the reviews that came as data as the text of the outcome."""
    text = write_blocks(outcome.typed, token=job.sentinel_token, names=names)
    return replace(outcome, text=text) if outcome.typed else outcome


def model_call(job: ReviewJob, *, provenance: Provenance, config: Config) -> ModelCall:
    """The job's prompt for a model; CannotRun is raised where it is another by now."""
    return ModelCall(
        _read_prompt(job, config).decode(), provenance.runner_model or "", provenance.runner_effort
    )


def _read_prompt(job: ReviewJob, config: Config) -> bytes:
    prompt = read_job_prompt(job, config=config)
    if prompt is None:
        raise CannotRun(
            f"its prompt {job.prompt_path} is not what the job was made with, or is gone and cannot"
            " be rendered again: files that its notes link to are gone or changed",
            hint="make it again: commonplace review_doctor --repair",
        )
    return prompt


@dataclass(frozen=True)
class WorkerRequest:
    """A request for a worker that reviews for a partition.

    :param typed: the partition, or the name of a model that makes it, as somebody wrote it.
    :param actor: the name on its claims; empty: that of a sweep in this process.
    :param model: as the CLI calls it; None takes what was typed, where that is a model's name.
    """

    runner: str
    typed: str
    timeout: timedelta
    slots: int = 1
    actor: str = ""
    model: str | None = None
    effort: str | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    hands_on: bool = False


def resolve_runner(request: WorkerRequest, *, config: Config) -> tuple[RunnerSpec, Provenance]:
    """Return the runner, and the model and effort to pass to it; nothing is started."""
    spec = find_runner(request.runner, config=config)
    partition = config.canonical_partition(request.typed)
    if spec.in_process:
        provenance = _rules(request, partition)
    else:
        provenance = _provenance(request, spec, config)
        model, effort = provenance.runner_model, provenance.runner_effort
        spec.check(model=model, effort=effort, access=spec.review_access)
    validate_provenance(partition, provenance, effort_unknown=False, config=config)
    return spec, provenance


def resolve_editor(request: WorkerRequest, *, config: Config) -> tuple[RunnerSpec, Provenance]:
    """A runner that may edit a note in a folder of its own."""
    spec = find_runner(request.runner, config=config)
    said = Provenance(spec.name, request.model, request.effort)
    provenance = _provenance(request, spec, config) if request.typed else said
    model, effort = provenance.runner_model, provenance.runner_effort
    spec.check(model=model, effort=effort, access=Access.EDIT)
    return installed_runner(spec, root=config.root), provenance


def build_worker(
    request: WorkerRequest,
    *,
    linker: Linker,
    config: Config,
    clock: Callable[[], datetime],
    stop: threading.Event,
    dry_run: bool = False,
) -> Worker:
    """A worker for the partition; in a dry run its program need not be there."""
    spec, provenance = resolve_runner(request, config=config)
    provider = None
    if not dry_run and spec.api is not None:
        provider = open_provider(spec.api)
    elif not dry_run:
        spec = installed_runner(spec, root=config.root)
    executor = Executor(spec, provenance, request.timeout, linker, config, provider)
    parent = Processes().me()
    return Worker(
        prepare=executor.prepare,
        in_process=spec.in_process,
        slots=1 if spec.in_process else request.slots,
        actor=request.actor or f"sweep:{parent.host}:{parent.pid}",
        parent=parent,
        provenance=provenance,
        retry=replace(request.retry, runs=1) if spec.in_process else request.retry,
        config=config,
        clock=clock,
        stop=stop,
        hands_on=request.hands_on,
    )


def _rules(request: WorkerRequest, partition: str) -> Provenance:
    name, only = f"the runner {request.runner!r}", f"partition {RULES_PARTITION!r}"
    if request.effort or request.model not in (None, RULES_PARTITION):
        hint = "leave --runner-model and --runner-effort out"
        why = f"is no model: its partition is {RULES_PARTITION!r}, and it has no effort"
        raise UsageRefused(f"{name} {why}", "no-such-effort", hint=hint)
    if partition != RULES_PARTITION:
        hint = f"say --model {RULES_PARTITION}, or name a runner that is a model"
        raise PartitionMismatch(f"{name} reviews for {only} only, not for {partition!r}", hint=hint)
    return Provenance(request.runner, RULES_PARTITION)


def _provenance(request: WorkerRequest, spec: RunnerSpec, config: Config) -> Provenance:
    """The model and effort to name: as given, else as typed, set for the runner, or declared.

    Left to the CLI, a model would be chosen that is paid for and not accepted.
    """
    partition, effort = config.canonical_partition(request.typed), request.effort
    if effort is None and spec.mentions("effort"):
        effort = effort_part(partition)
    model = request.model
    if model is None and spec.mentions("model"):
        model = _model_name(request.typed, partition, spec, config)
    return Provenance(spec.name, model, effort)


def _model_name(typed: str, partition: str, spec: RunnerSpec, config: Config) -> str:
    """The partition's model as the CLI calls it: a partition's own name is folded."""
    if typed != partition:
        name, _, effort = typed.rpartition(EFFORT_SEPARATOR)
        # The part after the last @ can belong to the name: claude-opus-4@20250514.
        names_effort = name and effort_part(build_model_partition(f"x{EFFORT_SEPARATOR}{effort}"))
        return name if names_effort else typed
    if declared_model := spec.settings.model:
        made = build_model_partition(declared_model, aliases=config.aliases)
        if partition in (made, model_part(made)) or model_part(partition) == made:
            return declared_model
    declared = config.partitions.get(partition)
    aliases = () if declared is None else declared.aliases
    spellings = [name for name in aliases if build_model_partition(name) == partition]
    if len(spellings) == 1:
        return spellings[0]
    if aliases:
        hint = f"say which one is to run: --runner-model {shlex.quote(aliases[0])}"
        several = f"partition {partition!r} stands for several models"
        raise UsageRefused(f"{several}: {', '.join(aliases)}", hint=hint)
    return model_part(partition)


def model_of_jobs(partition: str, spec: RunnerSpec) -> str | None:
    """Return the model as the runner was last told it; never told, refuse 5-1 where it writes 5.1."""
    runs = ReviewJob.objects.filter(model_partition__name=partition, runner=spec.name)
    names = runs.exclude(runner_model=None).order_by("-pk").values_list("runner_model", flat=True)
    told: str | None = names.first()
    if told is None and spec.dialect in (Dialect.CODEX, Dialect.GEMINI) and _FOLDED(partition):
        raise UsageRefused(
            f"{partition!r} is the name of the partition; {spec.name} may write the model otherwise",
            hint=f"add --runner-model and the model as {spec.name} calls it",
        )
    return told
