"""Puts notes and a runner together for `review_sweep --fix`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.utils import timezone

from review.conf import Config
from review.contracts.sweeps import SweepCostJson, SweepJson
from review.management.interrupting import stop_on_signals
from review.orchestration.fixing import FAILED, PLANNED, REFUSED, Fixed, FixSweep, fix_notes
from review.orchestration.hiring import Hired, HireRequest, hire_editor
from review.orchestration.sweep_request import Limits
from review.protocol.telemetry import Usage
from review.queries.knowledge_base import open_corpus
from review.vocabulary import Grouping


def run_fixes(options: dict[str, Any], *, config: Config) -> SweepJson:
    """Have the notes of the scope mended that have open findings."""
    began = timezone.now()
    timeout = options["timeout"] or config.sweep_timeout
    hired = hire_editor(
        HireRequest(
            runner=options["runner"],
            model_partition=options["model"] or "",
            timeout=timeout,
            actor="",
            model=options["runner_model"],
            effort=options["runner_effort"],
        ),
        config=config,
    )
    request = FixSweep(
        hired=hired,
        limits=Limits(
            max_attempts=1,
            max_jobs=options["max_jobs"],
            max_cost_usd=options["max_cost_usd"] or config.sweep_max_cost_usd,
        ),
        timeout=timeout,
        notes=tuple(options["note"] or ()),
        gates=tuple(options["gates"]),
        slots=options["jobs"] or config.sweep_jobs,
        apply=options["apply"],
        dry_run=options["dry_run"],
        clock=timezone.now,
    )
    with stop_on_signals() as stop, open_corpus(config) as corpus:
        fixed = fix_notes(request, corpus=corpus, config=config, stop=stop)
    seconds = (timezone.now() - began).total_seconds()
    return _document(fixed, hired, partition=options["model"], seconds=seconds)


def _document(fixed: Fixed, hired: Hired, *, partition: str | None, seconds: float) -> SweepJson:
    outcomes = Counter(note.outcome for note in fixed.notes)
    failed, refused = outcomes.pop(FAILED, 0), outcomes.pop(REFUSED, 0)
    planned = outcomes.pop(PLANNED, 0)
    reason = fixed.brake.reason
    return SweepJson(
        dry_run=bool(planned),
        model_partition=partition or "",
        runner=hired.spec.name,
        runner_model=hired.provenance.runner_model,
        runner_effort=hired.provenance.runner_effort,
        grouping=Grouping.NOTE.value,
        counts={},
        targets=len(fixed.notes),
        salvaged=[],
        plan=None,
        stopped=None if reason is None else reason.value,
        stopped_because=None if reason is None else fixed.brake.because,
        jobs={"completed": outcomes.total(), "failed": failed, "refused": refused},
        pairs={},
        failures=[],
        skipped={},
        skipped_pairs=[],
        cost=_cost(fixed.usages),
        seconds=round(seconds, 3),
        problems=[],
        fixes=list(fixed.notes),
        fix_record=fixed.record,
    )


def _cost(usages: tuple[Usage, ...]) -> SweepCostJson:
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    inputs = [usage.input_tokens for usage in usages if usage.input_tokens is not None]
    outputs = [usage.output_tokens for usage in usages if usage.output_tokens is not None]
    return SweepCostJson(
        usd=round(sum(costs), 6) if costs else None,
        jobs_without_cost=len(usages) - len(costs),
        input_tokens=sum(inputs) if inputs else None,
        output_tokens=sum(outputs) if outputs else None,
    )
