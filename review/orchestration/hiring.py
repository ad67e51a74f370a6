"""Turns the name of a runner into a worker: found, installed, and right for the partition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from review.conf import RULES_PARTITION, Config
from review.corpus.linking import Linker
from review.domain.model_partition import effort_part, model_part
from review.domain.parents import Parent
from review.errors import UsageRefused
from review.models import Provenance
from review.orchestration.execution import Executor, ProcessExecutor, RulesExecutor
from review.orchestration.provenance import (
    PartitionMismatch,
    canonical_partition,
    check_flags,
    validate_provenance,
)
from review.orchestration.retries import RetryPolicy
from review.orchestration.running import Worker
from review.runners.registry import find_runner, installed_runner
from review.runners.spec import Access, RunnerSpec

_ONE_RUN = RetryPolicy(runs=1)


class NoSuchEffort(UsageRefused):
    """The embedded reviewer is no model: it has no effort, and no model to name."""


@dataclass(frozen=True)
class HireRequest:
    """Which runner is to review for a partition, and how.

    :param model: as the CLI calls it; None takes the partition's own name where that says enough.
    :param timeout: what a job's run may take.
    :param actor: the name on its claims.
    """

    runner: str
    model_partition: str
    timeout: timedelta
    actor: str
    model: str | None = None
    effort: str | None = None
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True)
class Hired:
    """A runner that can do the work, and what it will be told to run."""

    spec: RunnerSpec
    provenance: Provenance


def interview(request: HireRequest, *, config: Config) -> Hired:
    """Look whether the runner exists and can review for the partition; nothing is started.

    :raises UnknownRunner, ConfigRefused: no runner has this name, or its declaration makes none.
    :raises RunnerCannot, NoSuchEffort: it cannot be told this model or effort, or needs one.
    :raises PartitionMismatch: what it would run is another partition.
    :raises UsageRefused: the partition stands for several models and none is named.
    """
    spec = find_runner(request.runner, config=config)
    if spec.in_process:
        provenance = _rules(request)
    else:
        model, effort = _told(request, spec, config)
        spec.check(model=model, effort=effort, access=spec.review_access)
        provenance = Provenance(spec.name, model, effort)
    check_flags(provenance, effort_unknown=False, config=config)
    partition = canonical_partition(request.model_partition, config=config)
    validate_provenance(partition, provenance, effort_unknown=False, config=config)
    return Hired(spec, provenance)


def hire_editor(request: HireRequest, *, config: Config) -> Hired:
    """A runner that may edit a note in a folder of its own, and what it will be told to run.

    :raises UnknownRunner, ConfigRefused, RunnerCannot, RunnerNotInstalled: as their names say.
    """
    spec = find_runner(request.runner, config=config)
    model, effort = request.model, request.effort
    if request.model_partition:
        model, effort = _told(request, spec, config)
    spec.check(model=model, effort=effort, access=Access.EDIT)
    return Hired(installed_runner(spec, root=config.root), Provenance(spec.name, model, effort))


def hire(
    request: HireRequest,
    *,
    parent: Parent,
    linker: Linker,
    config: Config,
    clock: Callable[[], datetime],
) -> Worker:
    """A worker for the partition; raises as `interview` does.

    :raises RunnerNotInstalled: the runner's program is not on this machine.
    """
    hired = interview(request, config=config)
    executor: Executor
    if hired.spec.in_process:
        executor = RulesExecutor(linker=linker, config=config)
    else:
        executor = ProcessExecutor(
            spec=installed_runner(hired.spec, root=config.root),
            model=hired.provenance.runner_model,
            effort=hired.provenance.runner_effort,
            timeout=request.timeout,
            linker=linker,
            config=config,
        )
    return Worker(
        executor=executor,
        actor=request.actor,
        parent=parent,
        provenance=hired.provenance,
        retry=_ONE_RUN if hired.spec.in_process else request.retry,
        config=config,
        clock=clock,
    )


def _rules(request: HireRequest) -> Provenance:
    if request.effort or request.model not in (None, RULES_PARTITION):
        raise NoSuchEffort(
            f"the runner {request.runner!r} is no model: its partition is {RULES_PARTITION!r}, and"
            " it has no effort",
            hint="leave --runner-model and --runner-effort out",
        )
    if request.model_partition != RULES_PARTITION:
        raise PartitionMismatch(
            f"the runner {request.runner!r} reviews for partition {RULES_PARTITION!r} only, not"
            f" for {request.model_partition!r}",
            hint=f"say --model {RULES_PARTITION}, or name a runner that is a model",
        )
    return Provenance(request.runner, RULES_PARTITION)


def _told(request: HireRequest, spec: RunnerSpec, config: Config) -> tuple[str | None, str | None]:
    """The model and effort to name: as given, else as the partition's own name gives them.

    Left to the CLI, a model would be chosen that nobody paid attention to, and every review of
    another partition's model is paid for and not accepted.
    """
    partition, effort = request.model_partition, request.effort
    if effort is None and spec.takes_effort:
        effort = effort_part(partition)
    if request.model is not None or not spec.takes_model:
        return request.model, effort
    declared = config.partitions.get(partition)
    if declared is not None and declared.aliases:
        raise UsageRefused(
            f"partition {partition!r} stands for several models: {', '.join(declared.aliases)}",
            hint="say which one is to run: --runner-model M",
        )
    return model_part(partition), effort
