"""The options of sweeps, and the requests they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from django.core.management.base import CommandParser

from review.jobs.provenance import canonical_partition
from review.management.kit.command import request_of
from review.management.kit.options import duration, money, positive_int, word
from review.management.kit.scope_options import selection_request
from review.runners.registry import find_runner
from review.settings.config import Config
from review.sweeps.feeder import SweepRequest
from review.sweeps.limits import Limits
from review.sweeps.run_job import RetryPolicy
from review.sweeps.workers import WorkerRequest

if TYPE_CHECKING:
    from argparse import _ActionsContainer

LOCAL = "local"
CELERY = "celery"


def add_runner_option(parser: _ActionsContainer, *, required: bool = True) -> None:
    """Add the options for the runner and for the model and effort that are passed to it."""
    parser.add_argument("--runner", type=word, required=required, metavar="R", help="who reviews")
    parser.add_argument(
        "--runner-model",
        type=word,
        metavar="M",
        help="the model as the runner calls it, where only its partition is named",
    )
    parser.add_argument("--runner-effort", type=word, metavar="E", help="its reasoning effort")


def add_runner_options(parser: CommandParser, *, model_required: bool) -> None:
    group = parser.add_argument_group("runner")
    add_runner_option(group)
    group.add_argument(
        "--model",
        type=word,
        required=model_required,
        metavar="MODEL",
        help="the model, as the runner calls it, or its partition: what to be fresh for",
    )
    group.add_argument(
        "--dispatch",
        choices=(LOCAL, CELERY),
        default=LOCAL,
        help="where the jobs run: on this machine, or where workers of Celery are",
    )


def add_sweep_options(parser: CommandParser) -> None:
    group = parser.add_argument_group("limits")
    group.add_argument(
        "--jobs",
        type=positive_int,
        metavar="N",
        help="at once (default: REVIEW_SWEEP_JOBS, else 4)",
    )
    group.add_argument(
        "--timeout", type=duration, metavar="15m", help="for each run of a job (default 15m)"
    )
    group.add_argument("--max-jobs", type=positive_int, metavar="N", help="start no more than N")
    group.add_argument(
        "--max-cost-usd", type=money, metavar="X", help="start none that may cost more than is left"
    )
    group.add_argument(
        "--max-attempts",
        type=positive_int,
        metavar="N",
        help="per pair and text: runs of a job, and failed jobs over all sweeps (default 3)",
    )
    group.add_argument(
        "--retry-pause",
        type=duration,
        metavar="20s",
        help="before a run that may succeed later is tried again; three times as long each time",
    )
    group.add_argument(
        "--wait-for-reset",
        action="store_true",
        help="where a limit of the account tells when it ends, wait until then and go on",
    )
    group.add_argument("--dry-run", action="store_true", help="say what would be run and may cost")
    group.add_argument(
        "--batch",
        action="store_true",
        help="send the jobs to a model API as batches and leave; then: review_batches --collect",
    )


def sweep_request(options: dict[str, Any], *, config: Config) -> SweepRequest:
    partition = canonical_partition(options["model"], config=config)
    selection = selection_request(options, model_partition=partition)
    if find_runner(options["runner"], config=config).in_process:
        # A gate without a rule is not for the embedded reviewer.
        selection = replace(selection, rules_only=True)
    limits = sweep_limits(options, config)
    return request_of(SweepRequest, options, selection=selection, limits=limits)


def sweep_limits(options: dict[str, Any], config: Config) -> Limits:
    return Limits(
        max_attempts=options["max_attempts"] or config.sweep_attempts,
        max_jobs=options["max_jobs"],
        max_cost_usd=options["max_cost_usd"] or config.sweep_max_cost_usd,
    )


def worker_request(options: Mapping[str, Any], *, config: Config) -> WorkerRequest:
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
    )
