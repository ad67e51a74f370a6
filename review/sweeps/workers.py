"""Turns the name of a runner into a worker: found, installed, and right for the partition."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from review.domain.model_partition import (
    EFFORT_SEPARATOR,
    build_model_partition,
    effort_part,
    model_part,
)
from review.errors import UsageRefused
from review.jobs.provenance import PartitionMismatch, canonical_partition, validate_provenance
from review.knowledge_base.resolver import Linker
from review.models import Provenance
from review.runners.api.run import open_provider
from review.runners.process.table import Processes
from review.runners.registry import Access, RunnerSpec, find_runner, installed_runner
from review.settings import RULES_PARTITION, Config
from review.sweeps.executors import Executor
from review.sweeps.run_job import Beats, RetryPolicy, Worker


class NoSuchEffort(UsageRefused):
    """The embedded reviewer is no model: it has no effort, and no model to name."""


@dataclass(frozen=True)
class WorkerRequest:
    """A request for a worker that reviews for a partition.

    :param typed: the partition, or the name of a model that makes it, as somebody wrote it.
    :param timeout: of each run.
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
    """Return the runner, and the model and effort to pass to it; nothing is started.

    :raises UnknownRunner, ConfigRefused, RunnerCannot, NoSuchEffort, PartitionMismatch: it cannot.
    :raises UsageRefused: the partition has several models and none is named.
    """
    spec = find_runner(request.runner, config=config)
    partition = canonical_partition(request.typed, config=config)
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
    provenance = Provenance(spec.name, request.model, request.effort)
    if request.typed:
        provenance = _provenance(request, spec, config)
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
    """A worker for the partition; raises as `resolve_runner` and `open_provider` do.

    :param dry_run: it runs nothing, so its program need not be there.
    """
    spec, provenance = resolve_runner(request, config=config)
    provider = None
    if not dry_run and spec.api is not None:
        provider = open_provider(spec.api)
    elif not dry_run:
        spec = installed_runner(spec, root=config.root)
    executor = Executor(spec, provenance, request.timeout, linker, config, provider)
    in_process = spec.in_process
    parent = Processes().me()
    return Worker(
        prepare=executor.prepare,
        in_process=in_process,
        slots=1 if in_process else request.slots,
        actor=request.actor or f"sweep:{parent.host}:{parent.pid}",
        parent=parent,
        provenance=provenance,
        retry=replace(request.retry, runs=1) if in_process else request.retry,
        config=config,
        clock=clock,
        stop=stop,
        hands_on=request.hands_on,
        beats=Beats(config.lease),
    )


def _rules(request: WorkerRequest, partition: str) -> Provenance:
    if request.effort or request.model not in (None, RULES_PARTITION):
        raise NoSuchEffort(
            f"the runner {request.runner!r} is no model: its partition is {RULES_PARTITION!r}, and"
            " it has no effort",
            hint="leave --runner-model and --runner-effort out",
        )
    if partition != RULES_PARTITION:
        raise PartitionMismatch(
            f"the runner {request.runner!r} reviews for partition {RULES_PARTITION!r} only, not"
            f" for {partition!r}",
            hint=f"say --model {RULES_PARTITION}, or name a runner that is a model",
        )
    return Provenance(request.runner, RULES_PARTITION)


def _provenance(request: WorkerRequest, spec: RunnerSpec, config: Config) -> Provenance:
    """The model and effort to name: as given, else as typed, set for the runner, or declared.

    Left to the CLI, a model would be chosen that nobody paid attention to, and every review of
    another partition's model is paid for and not accepted.
    """
    partition, effort = canonical_partition(request.typed, config=config), request.effort
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
    declared_model = spec.settings.model
    if declared_model and _makes(declared_model, partition, config):
        return declared_model
    declared = config.partitions.get(partition)
    aliases = () if declared is None else declared.aliases
    spellings = [name for name in aliases if build_model_partition(name) == partition]
    if len(spellings) == 1:
        return spellings[0]
    if aliases:
        raise UsageRefused(
            f"partition {partition!r} stands for several models: {', '.join(aliases)}",
            hint=f"say which one is to run: --runner-model {shlex.quote(aliases[0])}",
        )
    return model_part(partition)


def _makes(model: str, partition: str, config: Config) -> bool:
    made = build_model_partition(model, aliases=config.aliases)
    return partition in (made, model_part(made)) or model_part(partition) == made
